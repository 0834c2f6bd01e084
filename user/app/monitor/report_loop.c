// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/monitor/report_loop.h"

#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "base/vec.h"

/* The loop's own descriptors precede those of the hooks. */
enum { INTERRUPT, SIGNAL, TIMER, OWN };

static int cannot_set_up(int error)
{
	log_error("cannot set up the event loop: %s", strerror(-error));
	return error;
}

#define NS_PER_S 1000000000u

/*
 * Blocks a monitor's request signals and delivers them through a signalfd(2): SIGUSR1 (a report
 * now), and SIGCHLD if `children`. For requests to end see interrupt.h. SIGPIPE is ignored: a
 * closed pipe is an error of the write. Returns a descriptor or -errno.
 */
static int pollable_signals(bool children)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	if (children)
		sigaddset(&set, SIGCHLD);
	signal(SIGPIPE, SIG_IGN);
	if (sigprocmask(SIG_BLOCK, &set, NULL))
		return -errno;
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

/* Creates a timerfd(2) that expires every `interval_ns`, not 0. Returns a descriptor or -errno. */
static int pollable_interval(uint64_t interval_ns)
{
	struct timespec interval = {.tv_sec = (time_t)(interval_ns / NS_PER_S),
				    .tv_nsec = (long)(interval_ns % NS_PER_S)};
	struct itimerspec timer = {.it_value = interval, .it_interval = interval};
	_cleanup_close_ int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);

	if (fd < 0 || timerfd_settime(fd, 0, &timer, NULL))
		return -errno;
	return TAKE_FD(fd);
}

int report_loop_open(struct report_loop *loop, const struct schedule *schedule, bool children)
{
	int error = interrupt_open();
	int fd = error ? error : pollable_signals(children);

	if (fd < 0)
		return cannot_set_up(fd);
	interrupt_ends(false);
	*loop = (struct report_loop){.schedule = schedule, .signal_fd = fd, .timer_fd = -1};
	return 0;
}

void report_loop_close(struct report_loop *loop)
{
	cleanup_close(&loop->timer_fd);
	cleanup_close(&loop->signal_fd);
}

static int loop_report(struct report_loop *loop, const struct run_hooks *hooks,
		       enum report_cause cause)
{
	int result;

	loop->reports += cause != REPORT_ASKED;
	do
		result = hooks->report(hooks->context, cause);
	while (result == REPORT_AGAIN && !interrupt_check());
	return result == REPORT_AGAIN ? 0 : result;
}

static int on_signal(struct report_loop *loop, const struct run_hooks *hooks)
{
	struct signalfd_siginfo info;
	int error = 0;

	while (!error && read(loop->signal_fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGCHLD)
			error = hooks->on_child ? hooks->on_child(hooks->context) : 0;
		else
			error = loop_report(loop, hooks, REPORT_ASKED);
	}
	return error;
}

/*
 * Naming a program for the first time takes far more memory than its names, and malloc would keep
 * the rest.
 */
#define FREE_BYTES_MAX (4u << 20)

static void give_memory_back(void)
{
	if (mallinfo2().fordblks > FREE_BYTES_MAX)
		malloc_trim(0);
}

/* Leaves the last report of COUNT to the end of the loop, like every last report. */
static int on_timer(struct report_loop *loop, const struct run_hooks *hooks)
{
	uint64_t count = loop->schedule->count, expirations;
	int error;

	if (read(loop->timer_fd, &expirations, sizeof(expirations)) < 0)
		return 0;
	loop->finished = count && loop->reports + 1 >= count;
	if (loop->finished)
		return 0;
	error = loop_report(loop, hooks, REPORT_INTERVAL);
	give_memory_back();
	return error;
}

int pollfds_add(struct pollfds *fds, int fd)
{
	struct pollfd *slot = vec_push(fds);

	if (!slot)
		return -ENOMEM;
	*slot = (struct pollfd){.fd = fd, .events = POLLIN};
	return 0;
}

static int list_descriptors(const struct report_loop *loop, const struct run_hooks *hooks,
			    struct pollfds *fds)
{
	const int own[OWN] = {
		[INTERRUPT] = interrupt_fd(), [SIGNAL] = loop->signal_fd, [TIMER] = loop->timer_fd};
	int error = 0;

	fds->count = 0;
	for (size_t i = 0; i < OWN && !error; i++)
		error = pollfds_add(fds, own[i]);
	if (!error && hooks->wait_for)
		error = hooks->wait_for(hooks->context, fds);
	return error;
}

static bool loop_is_done(const struct report_loop *loop, const struct run_hooks *hooks)
{
	return loop->finished || interrupt_check() ||
	       (hooks->is_done && hooks->is_done(hooks->context));
}

static int wait_and_handle(struct report_loop *loop, const struct run_hooks *hooks,
			   struct pollfds *fds)
{
	void *context = hooks->context;
	int error = list_descriptors(loop, hooks, fds);

	if (error)
		return error;
	if (poll(fds->items, fds->count, hooks->timeout_ms ? hooks->timeout_ms(context) : -1) < 0)
		return errno == EINTR ? 0 : -errno;
	if (hooks->handle)
		error = hooks->handle(context, fds->items + OWN, fds->count - OWN);
	if (error == REPORT_AGAIN)
		error = loop_report(loop, hooks, REPORT_ASKED);
	if (!error && fds->items[SIGNAL].revents)
		error = on_signal(loop, hooks);
	if (!error && fds->items[TIMER].revents && !loop_is_done(loop, hooks))
		error = on_timer(loop, hooks);
	return error;
}

int report_loop_run(struct report_loop *loop, const struct run_hooks *hooks)
{
	uint64_t count = loop->schedule->count;
	struct pollfds fds = {0};
	int error = 0;

	if (loop->schedule->interval_ns) {
		loop->timer_fd = pollable_interval(loop->schedule->interval_ns);
		if (loop->timer_fd < 0)
			return cannot_set_up(loop->timer_fd);
	}
	while (!error && !loop_is_done(loop, hooks))
		error = wait_and_handle(loop, hooks, &fds);
	vec_free(&fds);
	loop->finished |= interrupt_check() != 0;
	if (!error && (!count || loop->reports < count))
		error = loop_report(loop, hooks, REPORT_LAST);
	return error;
}
