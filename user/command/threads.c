// SPDX-License-Identifier: GPL-2.0-or-later
/* leakmon threads: dead threads, at intervals, until interrupted. */
#include <errno.h>
#include <signal.h>

#include "command/command.h"
#include "command/report_loop.h"
#include "command/threads_run.h"

/* How often the ends of targets are looked for. */
#define ALIVE_CHECK_MS 1000

static int make_report(void *context, enum report_cause cause)
{
	return threads_run_report(context, cause == REPORT_LAST);
}

static int wait_for(void *context, struct pollfds *fds)
{
	struct threads_run *run = context;

	return pollfds_add(fds, events_fd(run->events));
}

static int handle(void *context, const struct pollfd *fds, size_t count)
{
	struct threads_run *run = context;

	return count && fds->revents ? events_consume(run->events) : 0;
}

static int timeout_ms(void *context)
{
	(void)context;
	return ALIVE_CHECK_MS;
}

static bool is_done(void *context)
{
	const struct threads_run *run = context;

	for (size_t i = 0; i < run->targets.count; i++) {
		if (!kill(run->targets.items[i].pid, 0) || errno != ESRCH)
			return false;
	}
	return true;
}

int command_threads(const struct options *options)
{
	struct report_loop loop = REPORT_LOOP_CLOSED;
	struct threads_run run = {0};
	const struct reporter reporter = {.context = &run,
					  .report = make_report,
					  .wait_for = wait_for,
					  .handle = handle,
					  .timeout_ms = timeout_ms,
					  .is_done = is_done};
	int error = report_loop_open(&loop, options, false);

	if (!error)
		error = threads_run_open(&run, options);
	if (!error)
		error = report_loop_run(&loop, &reporter);
	threads_run_close(&run);
	report_loop_close(&loop);
	return error ? EXIT_ERROR : EXIT_OK;
}
