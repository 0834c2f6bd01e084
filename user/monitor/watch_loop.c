// SPDX-License-Identifier: GPL-2.0-or-later
#include "monitor/watch_loop.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "base/pollable.h"
#include "base/vec.h"
#include "collect/events.h"
#include "leakmon_abi.h"
#include "monitor/session.h"
#include "parse/allocators.h"
#include "proc/memory_room.h"

/* The loop's own descriptors stand before those of the reporter. */
enum { INTERRUPT, SIGNAL, TIMER, OWN };

static int cannot_set_up(int error)
{
	log_error("cannot set up the event loop: %s", strerror(-error));
	return error;
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

static int loop_report(struct report_loop *loop, const struct reporter *reporter,
		       enum report_cause cause)
{
	int result;

	loop->reports += cause != REPORT_ASKED;
	do
		result = reporter->report(reporter->context, cause);
	while (result == REPORT_AGAIN && !interrupt_check());
	return result == REPORT_AGAIN ? 0 : result;
}

static int on_signal(struct report_loop *loop, const struct reporter *reporter)
{
	struct signalfd_siginfo info;
	int error = 0;

	while (!error && read(loop->signal_fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGCHLD)
			error = reporter->on_child ? reporter->on_child(reporter->context) : 0;
		else
			error = loop_report(loop, reporter, REPORT_ASKED);
	}
	return error;
}

/* The last report of COUNT is made after the loop, as every last one. */
static int on_timer(struct report_loop *loop, const struct reporter *reporter)
{
	uint64_t count = loop->schedule->count, expirations;

	if (read(loop->timer_fd, &expirations, sizeof(expirations)) < 0)
		return 0;
	loop->finished = count && loop->reports + 1 >= count;
	return loop->finished ? 0 : loop_report(loop, reporter, REPORT_INTERVAL);
}

int pollfds_add(struct pollfds *fds, int fd)
{
	struct pollfd *slot = vec_push(fds);

	if (!slot)
		return -ENOMEM;
	*slot = (struct pollfd){.fd = fd, .events = POLLIN};
	return 0;
}

static int list_descriptors(const struct report_loop *loop, const struct reporter *reporter,
			    struct pollfds *fds)
{
	const int own[OWN] = {
		[INTERRUPT] = interrupt_fd(), [SIGNAL] = loop->signal_fd, [TIMER] = loop->timer_fd};
	int error = 0;

	fds->count = 0;
	for (size_t i = 0; i < OWN && !error; i++)
		error = pollfds_add(fds, own[i]);
	if (!error && reporter->wait_for)
		error = reporter->wait_for(reporter->context, fds);
	return error;
}

static bool loop_is_done(const struct report_loop *loop, const struct reporter *reporter)
{
	return loop->finished || interrupt_check() ||
	       (reporter->is_done && reporter->is_done(reporter->context));
}

static int wait_and_handle(struct report_loop *loop, const struct reporter *reporter,
			   struct pollfds *fds)
{
	void *context = reporter->context;
	int error = list_descriptors(loop, reporter, fds);

	if (error)
		return error;
	if (poll(fds->items, fds->count,
		 reporter->timeout_ms ? reporter->timeout_ms(context) : -1) < 0)
		return errno == EINTR ? 0 : -errno;
	if (reporter->handle)
		error = reporter->handle(context, fds->items + OWN, fds->count - OWN);
	if (!error && fds->items[SIGNAL].revents)
		error = on_signal(loop, reporter);
	if (!error && fds->items[TIMER].revents && !loop_is_done(loop, reporter))
		error = on_timer(loop, reporter);
	return error;
}

int report_loop_run(struct report_loop *loop, const struct reporter *reporter)
{
	uint64_t count = loop->schedule->count;
	struct pollfds fds = {0};
	int error = 0;

	loop->timer_fd = pollable_interval(loop->schedule->interval_ns);
	if (loop->timer_fd < 0)
		return cannot_set_up(loop->timer_fd);
	while (!error && !loop_is_done(loop, reporter))
		error = wait_and_handle(loop, reporter, &fds);
	vec_free(&fds);
	loop->finished |= interrupt_check() != 0;
	if (!error && (!count || loop->reports < count))
		error = loop_report(loop, reporter, REPORT_LAST);
	return error;
}

/* --trace: one line per call of an allocator. */

static void trace_print(FILE *out, const struct lm_event *event)
{
	const char *name = event->function < allocator_function_count
				   ? allocator_functions[event->function].name
				   : "?";
	const char *verb = event->type == LM_EVENT_ALLOCATE ? "allocated" : "freed";

	if (event->type != LM_EVENT_ALLOCATE && event->type != LM_EVENT_FREE)
		return;
	fprintf(out, "%.6f pid %u tid %u %s %s %llu bytes at %#llx\n", (double)event->time_ns / 1e9,
		(unsigned)(event->process >> 32), event->tid, name, verb,
		(unsigned long long)event->size, (unsigned long long)event->address);
}

/* That calls are missing here. */
static void trace_print_lost(FILE *out, uint64_t calls)
{
	fprintf(out, "lost: %" PRIu64 " calls came faster than they could be written\n", calls);
}

/* Reports at intervals, until interrupted or until the targets are gone. */

/* Of a run without end; every verdict and every sparkline is made of fewer. */
#define HISTORY_TIMES 120
/* What a report of a target takes, its names included, if it is not a giant. */
#define RESERVE_BYTES (4u << 20)
/* That all of those that were killed together get to end. */
#define VICTIMS_WAIT_MS 1000

struct watch {
	struct session session;
	struct events *events;
	struct report_loop loop;
	VEC(pid_t) new_code; /* who came to code without rows, in the latest batch of events */
	const struct live_sink *live;  /* the sink's, or NULL */
	const struct watch_work *work; /* or NULL */
	size_t targets_waited_for, live_waited_for;
	bool gone; /* a live sink knows that no target is left */
	session_reporter report;
	const void *report_context;
	struct memory_reserve reserve; /* for who is killed */
	uint32_t stops;		       /* how often the launched program waited to be followed */
	uint64_t calls_lost;	       /* --trace: that were said */
};

/* A process that was forked by a traced one, or execed: it may join the targets, or leave them. */
static void on_arrival(struct watch *watch, const struct lm_event *event)
{
	struct arrival arrival = {.how = event->type == LM_EVENT_FORK ? "was forked" : "execed",
				  .event_ns = event->time_ns};
	pid_t pid = (pid_t)(event->process >> 32);

	if (event->type == LM_EVENT_EXEC) {
		const uint64_t name[] = {event->address, event->size};

		memcpy(arrival.comm, name, sizeof(name));
	}
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

/* Many threads come to the same code at once: it is read once for all of them. */
static void note_new_code(struct watch *watch, pid_t pid)
{
	pid_t *slot;

	for (size_t i = 0; i < watch->new_code.count; i++) {
		if (watch->new_code.items[i] == pid)
			return;
	}
	slot = vec_push(&watch->new_code);
	if (slot)
		*slot = pid;
	else
		on_new_code(watch, pid);
}

static void on_victim(struct watch *watch, pid_t pid)
{
	const struct tracked *tracked = targets_find(&watch->session, pid);

	memory_reserve_give_up(&watch->reserve);
	/* Who is busy hears of it when it has ended. */
	for (size_t i = 0; i < watch->session.targets.list.count && !tracked; i++) {
		if (watch->session.targets.list.items[i].probes.pid == pid)
			tracked = &watch->session.targets.list.items[i];
	}
	oom_kills_note(&watch->session.oom, pid, tracked ? &tracked->place : NULL);
}

static void on_event(const struct lm_event *event, void *context)
{
	struct watch *watch = context;

	if (event->type == LM_EVENT_SHARE)
		targets_follow_sharer(&watch->session, (pid_t)(event->process >> 32),
				      (pid_t)event->address);
	else if (event->type == LM_EVENT_EXEC || event->type == LM_EVENT_FORK)
		on_arrival(watch, event);
	else if (event->type == LM_EVENT_NO_ROWS)
		note_new_code(watch, (pid_t)(event->process >> 32));
	else if (event->type == LM_EVENT_VICTIM)
		on_victim(watch, (pid_t)(event->process >> 32));
	else if (watch->session.options->tracking.trace)
		trace_print(watch->session.out, event);
}

/* A line of its own, where they are missing. */
static void say_calls_lost(struct watch *watch)
{
	uint64_t lost = __atomic_load_n(watch->session.bpf.calls_lost, __ATOMIC_ACQUIRE);

	if (lost == watch->calls_lost)
		return;
	trace_print_lost(watch->session.out, lost - watch->calls_lost);
	watch->calls_lost = lost;
}

static int take_events(struct watch *watch)
{
	int error = events_consume(watch->events);

	for (size_t i = 0; i < watch->new_code.count; i++)
		on_new_code(watch, watch->new_code.items[i]);
	watch->new_code.count = 0;
	targets_recover(&watch->session);
	say_calls_lost(watch);
	return error;
}

/* Whether a report is made of what is killed for want of memory. Who does something of its own
 * between reports, or with them, has no use for one. */
static bool tells_of_kills(const struct watch *watch)
{
	const struct report_sink *sink = watch->session.sink;

	if (watch->work)
		return watch->work->takes_kills;
	return !sink || sink->takes_kills;
}

static int watch_open(struct watch *watch, const struct session_options *options,
		      const struct report_sink *sink)
{
	int error = report_loop_open(&watch->loop, &options->schedule, true);

	if (!error)
		error = session_open(&watch->session, options);
	if (error)
		return error;
	watch->session.sink = sink;
	watch->stops = watch->session.launch.pid > 0; /* at its start: session_open has followed */
	watch->live = sink ? sink->live : NULL;
	/* One report has no history. */
	watch->session.keeps_history = (!sink || watch->live) && options->schedule.count != 1;
	watch->session.history.limits.max_times = HISTORY_TIMES;
	watch->events = events_new(&watch->session.bpf, on_event, watch);
	if (!watch->events) {
		log_error("out of memory");
		return -ENOMEM;
	}
	if (tells_of_kills(watch))
		memory_reserve_hold(&watch->reserve, RESERVE_BYTES);
	return watch->work ? watch->work->begin(watch->work->context, &watch->session) : 0;
}

static void watch_close(struct watch *watch)
{
	if (watch->work)
		watch->work->end(watch->work->context);
	events_free(watch->events);
	vec_free(&watch->new_code);
	memory_reserve_give_up(&watch->reserve);
	session_close(&watch->session);
	report_loop_close(&watch->loop);
}

/* What was killed is shown once more, whatever becomes of others that ended. */
static int write_report(struct watch *watch, bool last, const char *label)
{
	struct session *session = &watch->session;
	bool victims = session->oom.list.count && tells_of_kills(watch);
	bool keep_exited = session->collect_options.keep_exited;
	_cleanup_free_ char *own = victims && session->sink ? oom_kills_label(&session->oom) : NULL;
	int error;

	session->label = own ? own : label;
	session->collect_options.keep_exited |= victims && !watch->work;
	error = watch->report(session, watch->report_context, last);
	session->collect_options.keep_exited = keep_exited;
	session->label = NULL;
	oom_kills_reported(&session->oom);
	if (tells_of_kills(watch))
		memory_reserve_hold(&watch->reserve, RESERVE_BYTES);
	return error;
}

static bool is_busy(const struct watch *watch)
{
	return watch->work && watch->work->is_busy(watch->work->context);
}

static int make_report(void *context, enum report_cause cause)
{
	struct watch *watch = context;
	const struct report_sink *sink = watch->session.sink;
	int error;

	/* A live sink keeps what it has when all is gone, and wants nothing when it ends. */
	if (watch->gone || (watch->live && cause == REPORT_LAST))
		return 0;
	/* What came before the wish for it belongs before the report. */
	error = is_busy(watch) && cause != REPORT_LAST ? 0 : take_events(watch);
	if (error)
		return error;
	return write_report(watch, cause == REPORT_LAST,
			    sink && cause == REPORT_ASKED ? sink->label : NULL);
}

/* Until they have ended, when nothing changes any more: their memory is being taken from them, and
 * they may hang in the kernel. */
static void wait_for_victims(struct watch *watch)
{
	uint64_t deadline = monotonic_ns() + VICTIMS_WAIT_MS * 1000000ull;

	for (size_t i = 0; i < watch->session.oom.list.count; i++) {
		struct tracked *tracked =
			targets_find(&watch->session, watch->session.oom.list.items[i].pid);
		struct pollfd end = {.fd = tracked ? tracked->pidfd : -1, .events = POLLIN};
		uint64_t now = monotonic_ns();

		if (end.fd >= 0 && now < deadline)
			poll(&end, 1, (int)((deadline - now) / 1000000));
	}
}

/* Soon, for it is given up with the next report. */
static int report_victims(struct watch *watch)
{
	if (!watch->session.oom.list.count || !tells_of_kills(watch))
		return 0;
	wait_for_victims(watch);
	return write_report(watch, false, NULL);
}

/*
 * Whether it was the BPF side that stopped the launched program, at an exec. It counts: an event
 * could be lost, and the program would stand for good.
 */
static bool stopped_by_exec(struct watch *watch)
{
	uint32_t stops = __atomic_load_n(watch->session.bpf.launched_stops, __ATOMIC_ACQUIRE);
	bool is_new = stops != watch->stops;

	watch->stops = stops;
	return is_new;
}

/* The launched program stopped (after an exec) or ended. */
static int on_child(void *context)
{
	struct watch *watch = context;
	int status, error = take_events(watch);
	pid_t pid = watch->session.launch.pid;

	if (error || pid <= 0 || waitpid(pid, &status, WNOHANG | WUNTRACED) != pid)
		return error;
	if (WIFSTOPPED(status))
		return stopped_by_exec(watch) ? session_follow(&watch->session) : 0;
	if (WIFSIGNALED(status))
		log_info("PID %d was killed by signal %d", pid, WTERMSIG(status));
	else if (WIFEXITED(status))
		log_info("PID %d exited with code %d", pid, WEXITSTATUS(status));
	/* Its PID may be anybody's from here on. */
	watch->session.launch.pid = -1;
	return 0;
}

/* Nothing to report, and nothing that may come. */
static bool all_gone(struct watch *watch)
{
	return !watch->session.selector && !watch->session.options->targets.come_later &&
	       !targets_alive(&watch->session) && !watch->session.targets.loading.count;
}

static bool is_done(void *context)
{
	struct watch *watch = context;
	const struct report_sink *sink = watch->session.sink;

	if (watch->live)
		return watch->live->is_done(sink->context);
	return all_gone(watch) || (sink && sink->is_done && sink->is_done(sink->context));
}

/* What is waited for, those of the targets last. */
enum { EVENTS, STREAMS, LINES, TARGETS };

static int wait_for(void *context, struct pollfds *fds)
{
	struct watch *watch = context;
	const struct session *session = &watch->session;
	const int own[TARGETS] = {
		[EVENTS] = is_busy(watch) ? -1 : events_fd(watch->events),
		[STREAMS] = session->streams.fd,
		[LINES] = symbolizer_lines_fd(session->symbolizer),
	};
	int error = 0;

	for (size_t i = 0; i < TARGETS && !error; i++)
		error = pollfds_add(fds, own[i]);
	for (size_t i = 0; i < session->targets.list.count && !error; i++)
		error = pollfds_add(fds, session->targets.list.items[i].pidfd);
	watch->targets_waited_for = session->targets.list.count;
	watch->live_waited_for = fds->count;
	if (!error && watch->live)
		error = watch->live->wait_for(session->sink->context, fds);
	watch->live_waited_for = fds->count - watch->live_waited_for;
	if (!error && watch->work)
		error = watch->work->wait_for(watch->work->context, fds);
	return error;
}

/* Who is loading is looked at again in time. */
static int timeout_ms(void *context)
{
	struct watch *watch = context;

	return is_busy(watch) ? -1 : targets_load_in_ms(&watch->session);
}

static bool any_is_ready(const struct pollfd *fds, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (fds[i].revents)
			return true;
	}
	return false;
}

/* What a live sink wants, `fds` being its own. */
static int handle_live(struct watch *watch, const struct pollfd *fds, size_t count)
{
	void *context = watch->session.sink->context;
	int error = watch->live->handle(context, fds, count);

	if (error > 0)
		error = make_report(watch, REPORT_ASKED);
	if (error || watch->gone || !all_gone(watch))
		return error;
	error = make_report(watch, REPORT_INTERVAL);
	watch->gone = true;
	watch->live->targets_gone(context);
	return error;
}

static int handle(void *context, const struct pollfd *fds, size_t count)
{
	struct watch *watch = context;
	size_t own = TARGETS + watch->targets_waited_for;
	int error = 0;

	bool ends = any_is_ready(fds + TARGETS, watch->targets_waited_for);

	/* An end is told after what led to it, which may not have waked us. */
	if (fds[EVENTS].revents || (ends && !is_busy(watch)))
		error = take_events(watch);
	if (!is_busy(watch))
		targets_load(&watch->session);
	if (!error)
		error = report_victims(watch);
	if (ends)
		targets_notice_ends(&watch->session);
	if (!error && fds[STREAMS].revents)
		error = event_streams_consume(&watch->session.streams);
	if (fds[LINES].revents) /* line numbers for the next report */
		session_take_lines(&watch->session);
	if (!error && watch->live)
		error = handle_live(watch, fds + own, count - own);
	own += watch->live_waited_for;
	if (!error && watch->work)
		error = watch->work->handle(watch->work->context, fds + own, count - own);
	return error;
}

static int run_with(const struct session_options *options, const struct report_sink *sink,
		    session_reporter report, const void *context, const struct watch_work *work)
{
	struct watch watch = {.loop = REPORT_LOOP_CLOSED,
			      .work = work,
			      .report = report,
			      .report_context = context};
	const struct reporter reporter = {.context = &watch,
					  .report = make_report,
					  .wait_for = wait_for,
					  .timeout_ms = timeout_ms,
					  .handle = handle,
					  .on_child = on_child,
					  .is_done = is_done};
	int code, error = watch_open(&watch, options, sink);

	if (!error)
		error = report_loop_run(&watch.loop, &reporter);
	code = emit_finish(&options->output, &watch.session.losses, error,
			   watch.session.outstanding_bytes);
	watch_close(&watch);
	return code;
}

static int report_session(struct session *session, const void *context, bool last)
{
	(void)context;
	return session_report(session, last);
}

int watch_run(const struct session_options *options, const struct report_sink *sink)
{
	return run_with(options, sink, report_session, NULL, NULL);
}

int watch_run_reporter(const struct session_options *options, session_reporter report,
		       const void *context)
{
	return run_with(options, NULL, report, context, NULL);
}

int watch_run_work(const struct session_options *options, const struct report_sink *sink,
		   const struct watch_work *work)
{
	return run_with(options, sink, work->report, work->context, work);
}
