/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One function per subcommand; each returns the exit code. */
#ifndef LEAKMON_COMMAND_COMMAND_H
#define LEAKMON_COMMAND_COMMAND_H

#include "cli/options.h"

int command_watch(const struct options *options);
int command_doctor(const struct options *options);

#endif
