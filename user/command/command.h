/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One function per subcommand; each returns the exit code. */
#ifndef LEAKMON_COMMAND_COMMAND_H
#define LEAKMON_COMMAND_COMMAND_H

#include "cli/options.h"

int command_watch(const struct options *options);
/* watch without a target */
int command_triage(const struct options *options);
/* With --kernel: what the kernel itself holds. */
int command_kernel(const struct options *options);
int command_doctor(const struct options *options);
int command_record(const struct options *options);
int command_report(const struct options *options);
int command_retain(const struct options *options);
int command_threads(const struct options *options);
int command_diff(const struct options *options);
int command_top(const struct options *options);

#endif
