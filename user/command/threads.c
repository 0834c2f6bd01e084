// SPDX-License-Identifier: GPL-2.0-or-later
/* leakmon threads: dead threads, at intervals, until interrupted. */
#include "command/command.h"
#include "command/threads_run.h"
#include "command/watch.h"

int command_threads(const struct options *options)
{
	return watch_run_reporter(options, threads_run_report);
}
