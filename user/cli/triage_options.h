/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The options of the triage (no TARGET), and what goes together with them. */
#ifndef LEAKMON_CLI_TRIAGE_OPTIONS_H
#define LEAKMON_CLI_TRIAGE_OPTIONS_H

#include "cli/option_values.h"

option_parse option_set_percent;	/* double, a share: "1%", "0.5" (of a hundred) */
option_parse option_set_count_or_three; /* uint64_t; 3 without a value */
option_parse option_set_duration;	/* uint64_t, ns: "30s", "2m", "1h", "30" */

/* Whether the command line asks for the triage: `leakmon [watch]` without any target. */
bool options_want_triage(const struct options *options);

/* 0, or -EINVAL after a message: an option that the triage, or that only the triage, can use. */
int option_check_triage(const struct options *options, bool given[OPTION_ROWS_MAX]);

#endif
