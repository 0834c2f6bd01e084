/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What goes together with the triage, which is what leakmon does without a TARGET. */
#ifndef LEAKMON_CLI_TRIAGE_CHECKS_H
#define LEAKMON_CLI_TRIAGE_CHECKS_H

#include "cli/option_table.h"

/* 0, or -EINVAL after a message: an option that the triage, or that only the triage, can use. */
int option_check_triage(const struct options *options, bool given[OPTION_ROWS_MAX]);

#endif
