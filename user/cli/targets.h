/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The processes that the command line names. */
#ifndef LEAKMON_CLI_TARGETS_H
#define LEAKMON_CLI_TARGETS_H

#include "cli/options.h"
#include "proc/selector.h"

/* Whether any option names running processes. */
bool targets_given(const struct options *options);

/* No target at all: no process, no command, not the kernel. */
bool targets_none(const struct options *options);

/* `leakmon [watch]` without a target: the triage of the whole machine. */
bool targets_triage(const struct options *options);

/* `leakmon threads` without a target: every process, by probes on files and not on processes. */
bool targets_everywhere(const struct options *options);

/* For selector_new(); it borrows from options. */
struct selector_config targets_config(const struct options *options);

#endif
