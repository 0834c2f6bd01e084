// SPDX-License-Identifier: GPL-2.0-or-later
/* leakmon watch: reports at intervals, until interrupted or until the targets are gone. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/pollable.h"
#include "cli/triage_options.h"
#include "collect/events.h"
#include "command/command.h"
#include "command/session.h"
#include "command/trace.h"
#include "command/watch.h"

/* Of a run without end; every verdict and every sparkline is made of fewer. */
#define HISTORY_TIMES 120

struct watch {
	struct session session;
	struct events *events;
	int signal_fd, timer_fd;
	uint64_t reports;
	bool stopped_by_exec; /* the launched program waits to be followed */
	bool finished;
};

/* A process that was forked by a traced one, or execed: it may join the targets, or leave them. */
static void on_arrival(struct watch *watch, const struct lm_event *event)
{
	struct arrival arrival = {.how = event->type == LM_EVENT_FORK ? "was forked" : "execed",
				  .event_ns = event->time_ns};
	pid_t pid = (pid_t)(event->process >> 32);

	if (pid != watch->session.launch.pid)
		targets_consider(&watch->session, pid, &arrival);
}

/* A walk came to code that was mapped a moment ago: perhaps an allocator, too. */
static void on_new_code(struct watch *watch, pid_t pid)
{
	struct tracked *tracked = targets_find(&watch->session, pid);

	session_refresh(&watch->session, pid);
	if (tracked)
		targets_attach_again(&watch->session, tracked);
}

static void on_event(const struct lm_event *event, void *context)
{
	struct watch *watch = context;

	if (event->type == LM_EVENT_STOPPED)
		watch->stopped_by_exec = true;
	else if (event->type == LM_EVENT_EXEC || event->type == LM_EVENT_FORK)
		on_arrival(watch, event);
	else if (event->type == LM_EVENT_NO_ROWS)
		on_new_code(watch, (pid_t)(event->process >> 32));
	else if (watch->session.options->trace)
		trace_print(watch->session.out, event);
}

static int watch_open(struct watch *watch, const struct options *options,
		      const struct report_sink *sink)
{
	int error;

	watch->signal_fd = pollable_signals(true);
	error = MIN(watch->signal_fd, 0);

	if (error)
		return error;
	error = session_open(&watch->session, options);
	if (error)
		return error;
	watch->session.sink = sink;
	/* One report has no history. */
	watch->session.keeps_history = !sink && options->count != 1;
	watch->session.history.limits.max_times = HISTORY_TIMES;
	watch->timer_fd = pollable_interval(options->interval_ns);
	error = MIN(watch->timer_fd, 0);
	watch->events = events_new(&watch->session.bpf, on_event, watch);
	if (!error && watch->events)
		return 0;
	log_error("cannot set up the event loop: %s", strerror(error ? -error : ENOMEM));
	return error ? error : -ENOMEM;
}

static void watch_close(struct watch *watch)
{
	events_free(watch->events);
	session_close(&watch->session);
	cleanup_close(&watch->timer_fd);
	cleanup_close(&watch->signal_fd);
}

static int report(struct watch *watch, bool last)
{
	watch->reports++;
	return session_report(&watch->session, last);
}

/* By SIGUSR1. */
static int report_asked(struct watch *watch)
{
	int error;

	watch->session.label = watch->session.options->label;
	error = report(watch, false);
	watch->session.label = NULL;
	return error;
}

/* The launched program stopped (after an exec) or ended. */
static int on_child(struct watch *watch)
{
	int status, error = events_consume(watch->events);
	pid_t pid = watch->session.launch.pid;

	if (error || pid <= 0 || waitpid(pid, &status, WNOHANG | WUNTRACED) != pid)
		return error;
	if (WIFSTOPPED(status) && watch->stopped_by_exec) {
		watch->stopped_by_exec = false;
		return session_follow(&watch->session);
	}
	if (WIFSIGNALED(status))
		log_info("PID %d was killed by signal %d", pid, WTERMSIG(status));
	else if (WIFEXITED(status))
		log_info("PID %d exited with code %d", pid, WEXITSTATUS(status));
	return 0;
}

static int on_signal(struct watch *watch)
{
	struct signalfd_siginfo info;
	int error = 0;

	while (!error && read(watch->signal_fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGCHLD)
			error = on_child(watch);
		else if (info.ssi_signo == SIGUSR1)
			error = report_asked(watch);
		else
			watch->finished = true;
	}
	return error;
}

static int on_timer(struct watch *watch)
{
	uint64_t count = watch->session.options->count, expirations;
	int error;

	if (read(watch->timer_fd, &expirations, sizeof(expirations)) < 0)
		return 0;
	watch->finished = count && watch->reports + 1 >= count;
	error = report(watch, watch->finished);
	return error;
}

/* Whether there is, or may come, something to report. */
static bool has_targets(const struct watch *watch)
{
	return watch->session.selector || targets_alive(&watch->session);
}

/* Descriptors that are polled beside those of the targets. */
enum { SIGNAL, TIMER, EVENTS, MAPPINGS, LINES, TARGETS };

static struct pollfd *pollfds_new(const struct watch *watch)
{
	const struct targets *targets = &watch->session.targets;
	struct pollfd *fds = calloc(TARGETS + targets->list.count, sizeof(*fds));

	if (!fds)
		return NULL;
	fds[SIGNAL].fd = watch->signal_fd;
	fds[TIMER].fd = watch->timer_fd;
	fds[EVENTS].fd = events_fd(watch->events);
	fds[MAPPINGS].fd =
		watch->session.mappings ? mapping_stream_fd(watch->session.mappings) : -1;
	fds[LINES].fd = symbolizer_lines_fd(watch->session.symbolizer);
	for (size_t i = 0; i < targets->list.count; i++)
		fds[TARGETS + i].fd = targets->list.items[i].pidfd;
	for (size_t i = 0; i < TARGETS + targets->list.count; i++)
		fds[i].events = POLLIN;
	return fds;
}

static bool any_is_ready(const struct pollfd *fds, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (fds[i].revents)
			return true;
	}
	return false;
}

static int wait_and_handle(struct watch *watch)
{
	_cleanup_free_ struct pollfd *fds = pollfds_new(watch);
	int error = 0;

	if (!fds)
		return -ENOMEM;
	if (poll(fds, TARGETS + watch->session.targets.list.count, -1) < 0)
		return errno == EINTR ? 0 : -errno;
	if (any_is_ready(fds + TARGETS, watch->session.targets.list.count))
		targets_notice_ends(&watch->session);
	if (fds[EVENTS].revents)
		error = events_consume(watch->events);
	if (!error && fds[MAPPINGS].revents)
		error = mapping_stream_consume(watch->session.mappings);
	if (fds[LINES].revents) /* line numbers for the next report */
		session_take_lines(&watch->session);
	if (!error && fds[SIGNAL].revents)
		error = on_signal(watch);
	if (!error && has_targets(watch) && !watch->finished && fds[TIMER].revents)
		error = on_timer(watch);
	return error;
}

/* Whether the end of the loop still owes the last report. */
static bool owes_report(const struct watch *watch)
{
	uint64_t count = watch->session.options->count;

	return !count || watch->reports < count;
}

static int watch_loop(struct watch *watch)
{
	int error = 0;

	while (!error && has_targets(watch) && !watch->finished)
		error = wait_and_handle(watch);
	if (!error && owes_report(watch))
		error = report(watch, true);
	return error;
}

int watch_run(const struct options *options, const struct report_sink *sink)
{
	struct watch watch = {.signal_fd = -1, .timer_fd = -1};
	int error = watch_open(&watch, options, sink), code = EXIT_OK;

	if (!error)
		error = watch_loop(&watch);
	if (!error)
		emit_finish(options);
	if (error)
		code = EXIT_ERROR;
	else if (watch.session.outstanding_bytes > options->fail_over)
		code = EXIT_LEAK;
	if (code == EXIT_LEAK)
		log_error("%llu bytes are outstanding, more than --fail-over allows",
			  (unsigned long long)watch.session.outstanding_bytes);
	watch_close(&watch);
	return code;
}

int command_watch(const struct options *options)
{
	if (options->kernel)
		return command_kernel(options);
	return options_want_triage(options) ? command_triage(options) : watch_run(options, NULL);
}
