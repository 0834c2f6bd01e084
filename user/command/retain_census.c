// SPDX-License-Identifier: GPL-2.0-or-later
/* leakmon retain --census */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "command/command.h"
#include "command/retain_run.h"

static int open_signals(void)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	signal(SIGPIPE, SIG_IGN);
	if (sigprocmask(SIG_BLOCK, &set, NULL))
		return -errno;
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

/* Until the next run; true: no next one. */
static bool is_interrupted(const struct options *options, int signals)
{
	struct pollfd poll_fd = {.fd = signals, .events = POLLIN};

	return poll(&poll_fd, 1, (int)MIN(options->interval_ns / 1000000, INT32_MAX)) != 0;
}

static int run_once(struct retain_run *run)
{
	const struct options *options = run->options;
	int err = 0;

	for (size_t i = 0; !err && i < options->pids.count; i++) {
		struct retain *retain = retain_run_begin(run, options->pids.items[i]);

		err = retain ? retain_run_finish(run, retain, &(struct retain_tracked){0}) : -ESRCH;
	}
	run->runs++;
	return err;
}

static int run_all(struct retain_run *run, int signals)
{
	const struct options *options = run->options;
	int err;

	do
		err = run_once(run);
	while (!err && options->repeat && (!options->count || run->runs < options->count) &&
	       !is_interrupted(options, signals));
	return err;
}

int retain_run_census(const struct options *options)
{
	_cleanup_close_ int signals = open_signals();
	struct retain_run run;
	int err = retain_run_open(&run, options);

	if (!err)
		err = run_all(&run, signals);
	retain_run_close(&run);
	return err ? EXIT_ERROR : EXIT_OK;
}

int command_retain(const struct options *options)
{
	return options->census ? retain_run_census(options) : retain_run_tracked(options);
}
