// SPDX-License-Identifier: GPL-2.0-or-later
/* leakmon --kernel: what the kernel holds, at intervals, until interrupted. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/pollable.h"
#include "command/command.h"
#include "command/emit.h"
#include "command/kernel_report.h"

struct loop {
	struct kernel_run run;
	int signal_fd, timer_fd;
	uint64_t reports;
	bool finished;
};

static int report(struct loop *loop, bool last)
{
	loop->reports++;
	return kernel_run_report(&loop->run, last);
}

static int on_signal(struct loop *loop)
{
	struct signalfd_siginfo info;
	int error = 0;

	while (!error && read(loop->signal_fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGUSR1)
			error = report(loop, false);
		else
			loop->finished = true;
	}
	return error;
}

static int on_timer(struct loop *loop)
{
	uint64_t count = loop->run.options->count, expirations;

	if (read(loop->timer_fd, &expirations, sizeof(expirations)) < 0)
		return 0;
	loop->finished = count && loop->reports + 1 >= count;
	return report(loop, loop->finished);
}

static int wait_and_handle(struct loop *loop)
{
	struct pollfd fds[] = {{.fd = loop->signal_fd, .events = POLLIN},
			       {.fd = loop->timer_fd, .events = POLLIN}};
	int error = 0;

	if (poll(fds, ARRAY_SIZE(fds), -1) < 0)
		return errno == EINTR ? 0 : -errno;
	if (fds[0].revents)
		error = on_signal(loop);
	if (!error && !loop->finished && fds[1].revents)
		error = on_timer(loop);
	return error;
}

static int open_all(struct loop *loop, const struct options *options)
{
	int error;

	loop->signal_fd = pollable_signals(false);
	error = MIN(loop->signal_fd, 0);

	if (!error)
		error = kernel_run_open(&loop->run, options);
	if (error)
		return error;
	loop->timer_fd = pollable_interval(options->interval_ns);
	error = MIN(loop->timer_fd, 0);
	if (error)
		log_error("cannot set up the event loop: %s", strerror(-error));
	else
		log_info("attached to the kernel's allocators");
	return error;
}

int command_kernel(const struct options *options)
{
	struct loop loop = {.signal_fd = -1, .timer_fd = -1};
	int error = open_all(&loop, options), code = EXIT_OK;

	while (!error && !loop.finished)
		error = wait_and_handle(&loop);
	if (!error && (!options->count || loop.reports < options->count))
		error = report(&loop, true);
	if (!error)
		emit_finish(options);
	if (error)
		code = EXIT_ERROR;
	else if (loop.run.outstanding_bytes > options->fail_over)
		code = EXIT_LEAK;
	if (code == EXIT_LEAK)
		log_error("%llu bytes are outstanding, more than --fail-over allows",
			  (unsigned long long)loop.run.outstanding_bytes);
	kernel_run_close(&loop.run);
	cleanup_close(&loop.timer_fd);
	cleanup_close(&loop.signal_fd);
	return code;
}
