// SPDX-License-Identifier: GPL-2.0-or-later
/* leakmon watch: reports at intervals, until interrupted or until the targets are gone. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "collect/events.h"
#include "command/command.h"
#include "command/session.h"
#include "command/trace.h"

struct watched {
	pid_t pid;
	int pidfd; /* readable when the whole process has ended; -1: it has */
};

struct watch {
	struct session session;
	struct events *events;
	int signal_fd, timer_fd;
	VEC(struct watched) processes;
	size_t alive;
	uint64_t reports;
	bool stopped_by_exec; /* the launched program waits to be followed */
	bool finished;
};

static void on_event(const struct lm_event *event, void *context)
{
	struct watch *watch = context;
	pid_t pid = (pid_t)(event->process >> 32);

	if (event->type == LM_EVENT_STOPPED)
		watch->stopped_by_exec = true;
	else if (event->type == LM_EVENT_EXEC && pid != watch->session.launch.pid)
		session_attach_again(&watch->session, pid);
	else if (event->type == LM_EVENT_NO_ROWS)
		session_refresh(&watch->session, pid);
	else if (watch->session.options->trace)
		trace_print(watch->session.out, event);
}

static int open_signals(struct watch *watch)
{
	static const int wanted[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGCHLD};
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++)
		sigaddset(&set, wanted[i]);
	signal(SIGPIPE, SIG_IGN); /* a closed pipe is an error of the write */
	if (sigprocmask(SIG_BLOCK, &set, NULL))
		return -errno;
	watch->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return watch->signal_fd < 0 ? -errno : 0;
}

static int open_timer(struct watch *watch)
{
	uint64_t ns = watch->session.options->interval_ns;
	struct timespec interval = {.tv_sec = (time_t)(ns / 1000000000u),
				    .tv_nsec = (long)(ns % 1000000000u)};
	struct itimerspec timer = {.it_value = interval, .it_interval = interval};

	watch->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (watch->timer_fd < 0 || timerfd_settime(watch->timer_fd, 0, &timer, NULL))
		return -errno;
	return 0;
}

static int open_processes(struct watch *watch)
{
	for (size_t i = 0; i < watch->session.targets.count; i++) {
		struct watched *process = vec_push(&watch->processes);

		if (!process)
			return -ENOMEM;
		process->pid = watch->session.targets.items[i].pid;
		process->pidfd = pidfd_open(process->pid, 0);
		watch->alive += process->pidfd >= 0;
	}
	return 0;
}

static int watch_open(struct watch *watch, const struct options *options)
{
	int error = open_signals(watch);

	if (error)
		return error;
	error = session_open(&watch->session, options);
	if (error)
		return error;
	error = open_timer(watch);
	if (!error)
		error = open_processes(watch);
	watch->events = events_new(&watch->session.bpf, on_event, watch);
	if (!error && watch->events)
		return 0;
	log_error("cannot set up the event loop: %s", strerror(error ? -error : ENOMEM));
	return error ? error : -ENOMEM;
}

static void watch_close(struct watch *watch)
{
	for (size_t i = 0; i < watch->processes.count; i++)
		cleanup_close(&watch->processes.items[i].pidfd);
	vec_free(&watch->processes);
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
			error = report(watch, false);
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

static void on_exit_of(struct watch *watch, struct watched *process)
{
	log_info("PID %d has ended", process->pid);
	close(process->pidfd);
	process->pidfd = -1;
	watch->alive--;
}

static int wait_and_handle(struct watch *watch)
{
	enum { SIGNAL, TIMER, EVENTS, LINES, PROCESSES };
	size_t count = PROCESSES + watch->processes.count;
	_cleanup_free_ struct pollfd *fds = calloc(count, sizeof(*fds));
	int error = 0;

	if (!fds)
		return -ENOMEM;
	fds[SIGNAL].fd = watch->signal_fd;
	fds[TIMER].fd = watch->timer_fd;
	fds[EVENTS].fd = events_fd(watch->events);
	fds[LINES].fd = symbolizer_lines_fd(watch->session.symbolizer);
	for (size_t i = 0; i < watch->processes.count; i++)
		fds[PROCESSES + i].fd = watch->processes.items[i].pidfd;
	for (size_t i = 0; i < count; i++)
		fds[i].events = POLLIN;
	if (poll(fds, count, -1) < 0)
		return errno == EINTR ? 0 : -errno;
	if (fds[EVENTS].revents)
		error = events_consume(watch->events);
	if (fds[LINES].revents) /* line numbers for the next report */
		symbolizer_find_lines(watch->session.symbolizer, 0);
	if (!error && fds[SIGNAL].revents)
		error = on_signal(watch);
	for (size_t i = 0; i < watch->processes.count; i++) {
		if (fds[PROCESSES + i].revents)
			on_exit_of(watch, &watch->processes.items[i]);
	}
	if (!error && watch->alive && !watch->finished && fds[TIMER].revents)
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

	while (!error && watch->alive && !watch->finished)
		error = wait_and_handle(watch);
	if (!error && owes_report(watch))
		error = report(watch, true);
	return error;
}

int command_watch(const struct options *options)
{
	struct watch watch = {.signal_fd = -1, .timer_fd = -1};
	int error = watch_open(&watch, options), code = EXIT_OK;

	if (!error)
		error = watch_loop(&watch);
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
