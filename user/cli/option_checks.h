/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What only all options together can violate. */
#ifndef LEAKMON_CLI_OPTION_CHECKS_H
#define LEAKMON_CLI_OPTION_CHECKS_H

#include "cli/option_table.h"

/* 0, or -EINVAL after a message. `given` says which options were on the command line. */
int option_check(const struct options *options, bool given[OPTION_ROWS_MAX]);

#endif
