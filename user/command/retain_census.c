// SPDX-License-Identifier: GPL-2.0-or-later
/* leakmon retain --census */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "command/retain_run.h"

/* Until the next run; true: no next one. */
static bool is_interrupted(const struct retain_options *options)
{
	struct pollfd poll_fd = {.fd = interrupt_fd(), .events = POLLIN};

	interrupt_ends(false); /* what was asked for is done */
	poll(&poll_fd, 1, (int)MIN(options->session.schedule.interval_ns / 1000000, INT32_MAX));
	if (interrupt_check())
		return true;
	interrupt_ends(true);
	return false;
}

/* 0, or -errno after an error message. */
static int select_processes(const struct retain_options *options, struct selection *selection)
{
	struct selector_config config = targets_config(&options->session.targets);
	struct selector *selector = selector_new(&config, NULL);
	int err = selector ? selector_list(selector, selection) : -ENOMEM;

	if (err)
		log_error("cannot list processes: %s", strerror(-err));
	else
		err = selection_explain(selection); /* it borrows from the selector */
	selector_free(selector);
	return err;
}

static int run_once(struct retain_run *run)
{
	_cleanup_(selection_free) struct selection selection = {0};
	int err = select_processes(run->options, &selection), done = 0, failed = 0;

	for (size_t i = 0; !err && !failed && i < selection.pids.count; i++) {
		struct retain *retain = retain_run_begin(run, selection.pids.items[i]);

		failed = retain ? retain_run_finish(run, retain, &(struct retain_tracked){0})
				: -ESRCH;
		done += !failed;
		/* Of a container's processes, one may end at any time. */
		if (failed == -ESRCH && !run->options->session.targets.pids.count)
			failed = 0;
	}
	run->runs++;
	return err ? err : failed ? failed : done ? 0 : -ESRCH;
}

/* Nothing here needs to be undone: a signal ends the process at any time but while another one
 * stands stopped (retain/heap_image_stop.c). */
static int run_all(struct retain_run *run)
{
	const struct retain_options *options = run->options;
	const struct schedule *schedule = &options->session.schedule;
	int err;

	do
		err = run_once(run);
	while (!err && schedule->repeat && (!schedule->count || run->runs < schedule->count) &&
	       !is_interrupted(options));
	return err;
}

int retain_run_census(const struct retain_options *options)
{
	struct retain_run run;
	int err = retain_run_open(&run, options);

	signal(SIGPIPE, SIG_IGN);
	if (!err)
		err = run_all(&run);
	retain_run_close(&run);
	return err ? EXIT_ERROR : EXIT_OK;
}
