// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/monitor/watch.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/exit_code.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "base/vec.h"
#include "binary/parse/allocators.h"
#include "leakmon_abi.h"
#include "process/proc/memory_room.h"
#include "trace/collect/event_streams.h"

/* --trace: prints one line per call of an allocator. */

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

/* Prints that calls are missing here. */
static void trace_print_lost(FILE *out, uint64_t calls)
{
	fprintf(out, "lost: %" PRIu64 " calls came faster than they could be written\n", calls);
}

/* Reports at intervals, until interrupted or until the targets are gone. */

/* Bounds an endless run; every verdict and every sparkline needs fewer points. */
#define HISTORY_TIMES 120
/* Memory for a report of a target of ordinary size, with its names. */
#define RESERVE_BYTES (4u << 20)
/* Time for all processes killed together to end. */
#define VICTIMS_WAIT_MS 1000

struct watch {
	struct session session;
	struct events *events;
	struct report_loop loop;
	VEC(pid_t)
	new_code; /* processes that ran code without rows, in the latest batch of events */
	const struct run_hooks *hooks;
	size_t targets_waited_for;
	bool gone;		       /* a live run has no target left */
	struct memory_reserve reserve; /* for reports of OOM kills */
	uint32_t stops;	     /* how often the launched program has stopped to be followed */
	uint64_t calls_lost; /* --trace: lost calls already printed */
	bool command_ended;
	int command_code; /* its exit status, or 128 + the signal that ended it */
};

/* Handles a fork or an exec: the process may join or leave the targets. */
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

/* Handles a stack walk into code mapped a moment ago, perhaps that of an allocator. */
static void on_new_code(struct watch *watch, pid_t pid)
{
	struct tracked *tracked = targets_find(&watch->session, pid);

	stages_refresh(&watch->session.stages, pid);
	if (tracked)
		targets_attach_again(&watch->session, tracked);
}

/* Collects PIDs, because many threads reach the same code at once: it is read once for all. */
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

	if (watch->hooks->leaves_kills)
		return;
	memory_reserve_give_up(&watch->reserve);
	/* A busy parent learns of the end late: search the ended targets, too. */
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
		trace_print(watch->session.emitter.out, event);
}

/* Prints a line where calls are missing. */
static void say_calls_lost(struct watch *watch)
{
	uint64_t lost = __atomic_load_n(watch->session.bpf.calls_lost, __ATOMIC_ACQUIRE);

	if (lost == watch->calls_lost)
		return;
	trace_print_lost(watch->session.emitter.out, lost - watch->calls_lost);
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

static int watch_open(struct watch *watch, const struct session_options *options)
{
	const struct run_hooks *hooks = watch->hooks;
	int error = report_loop_open(&watch->loop, &options->schedule, true);

	if (!error)
		error = session_open(&watch->session, options);
	if (error)
		return error;
	watch->session.hooks = hooks;
	/* the stop at its start: session_open() has followed it */
	watch->stops = watch->session.launch.pid > 0;
	/* A single report has no history. */
	watch->session.keeps_history =
		(!hooks->take || hooks->targets_gone || hooks->needs_history ||
		 options->output.push.to[PUSH_EVENTS].url) &&
		options->schedule.count != 1;
	watch->session.history.limits.max_times = HISTORY_TIMES;
	watch->events = events_new(&watch->session.bpf, on_event, watch);
	if (!watch->events) {
		log_error("out of memory");
		return -ENOMEM;
	}
	if (watch->hooks->takes_kills)
		memory_reserve_hold(&watch->reserve, RESERVE_BYTES);
	return hooks->begin ? hooks->begin(hooks->context, &watch->session) : 0;
}

static void watch_close(struct watch *watch)
{
	if (watch->hooks->end)
		watch->hooks->end(watch->hooks->context);
	events_free(watch->events);
	vec_free(&watch->new_code);
	memory_reserve_give_up(&watch->reserve);
	session_close(&watch->session);
	report_loop_close(&watch->loop);
}

/* Writes a report that shows a killed process once more, even if ended ones are dropped. */
static int write_report(struct watch *watch, enum report_cause cause, const char *label)
{
	const struct run_hooks *hooks = watch->hooks;
	struct session *session = &watch->session;
	bool victims = session->oom.list.count && hooks->takes_kills;
	bool keep_exited = session->collect_options.keep_exited;
	_cleanup_free_ char *own = victims && hooks->take ? oom_kills_label(&session->oom) : NULL;
	int error;

	session->label = own ? own : label;
	session->collect_options.keep_exited |= victims && !hooks->keeps_ended;
	error = hooks->report ? hooks->report(hooks->context, cause)
			      : session_report(session, cause == REPORT_LAST);
	session->collect_options.keep_exited = keep_exited;
	session->label = NULL;
	oom_kills_reported(&session->oom);
	if (hooks->takes_kills)
		memory_reserve_hold(&watch->reserve, RESERVE_BYTES);
	return error;
}

static bool is_busy(const struct watch *watch)
{
	return watch->hooks->is_busy && watch->hooks->is_busy(watch->hooks->context);
}

static int make_report(void *context, enum report_cause cause)
{
	struct watch *watch = context;
	const struct run_hooks *hooks = watch->hooks;
	int error;

	/* A live run keeps its last data when all targets are gone, and makes no last report. */
	if (watch->gone || (hooks->targets_gone && cause == REPORT_LAST))
		return 0;
	/* Events from before the request belong to the report. */
	error = is_busy(watch) && cause != REPORT_LAST ? 0 : take_events(watch);
	if (error)
		return error;
	return write_report(watch, cause, cause == REPORT_ASKED ? hooks->label : NULL);
}

/*
 * Waits until they have ended and their data no longer changes: their memory is being freed, and
 * they may hang in the kernel.
 */
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

/* Reports kills soon: their data goes after the next report. */
static int report_victims(struct watch *watch)
{
	if (!watch->session.oom.list.count || !watch->hooks->takes_kills)
		return 0;
	wait_for_victims(watch);
	return write_report(watch, REPORT_ASKED, NULL);
}

/*
 * Returns whether the BPF side stopped the launched program, at an exec. It counts the stops: an
 * event could be lost, and the program would stay stopped for ever.
 */
static bool stopped_by_exec(struct watch *watch)
{
	uint32_t stops = __atomic_load_n(watch->session.bpf.launched_stops, __ATOMIC_ACQUIRE);
	bool is_new = stops != watch->stops;

	watch->stops = stops;
	return is_new;
}

static void note_end(struct watch *watch, pid_t pid, int status)
{
	if (WIFSIGNALED(status))
		log_info("PID %d was killed by signal %d", pid, WTERMSIG(status));
	else
		log_info("PID %d exited with code %d", pid, WEXITSTATUS(status));
	/* A requested end is not a failure of the command. */
	watch->command_ended = !interrupt_check();
	watch->command_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
	/* Its PID may be reused from here on. */
	watch->session.launch.pid = -1;
}

/* Handles a stop (after an exec) or the end of the launched program. */
static int on_child(void *context)
{
	struct watch *watch = context;
	int status, error = take_events(watch);
	pid_t pid = watch->session.launch.pid;

	if (error || pid <= 0 || waitpid(pid, &status, WNOHANG | WUNTRACED) != pid)
		return error;
	if (WIFSTOPPED(status))
		return stopped_by_exec(watch) ? session_follow(&watch->session) : 0;
	note_end(watch, pid, status);
	return 0;
}

/* Returns whether nothing is left to report, now or later. */
static bool all_gone(struct watch *watch)
{
	return !watch->session.selector && !watch->session.options->targets.come_later &&
	       !targets_alive(&watch->session) && !watch->session.targets.loading.count;
}

static bool is_done(void *context)
{
	struct watch *watch = context;
	const struct run_hooks *hooks = watch->hooks;

	return (!hooks->targets_gone && all_gone(watch)) ||
	       (hooks->is_done && hooks->is_done(hooks->context));
}

/* Descriptors to wait for, those of the targets last. */
enum { EVENTS, STREAMS, LINES, TARGETS };

static int wait_for(void *context, struct pollfds *fds)
{
	struct watch *watch = context;
	const struct session *session = &watch->session;
	const int own[TARGETS] = {
		[EVENTS] = is_busy(watch) ? -1 : events_fd(watch->events),
		[STREAMS] = session->streams.fd,
		[LINES] = symbolizer_lines_fd(session->stages.symbolizer),
	};
	int error = 0;

	for (size_t i = 0; i < TARGETS && !error; i++)
		error = pollfds_add(fds, own[i]);
	for (size_t i = 0; i < session->targets.list.count && !error; i++)
		error = pollfds_add(fds, session->targets.list.items[i].pidfd);
	watch->targets_waited_for = session->targets.list.count;
	if (!error && watch->hooks->wait_for)
		error = watch->hooks->wait_for(watch->hooks->context, fds);
	return error;
}

/* Wakes for loading processes and for generated code that are due. */
static int timeout_ms(void *context)
{
	struct watch *watch = context;
	int load_ms = targets_load_in_ms(&watch->session);
	int code_ms = stages_read_code_in_ms(&watch->session.stages);

	if (is_busy(watch))
		return -1;
	return load_ms < 0 || (code_ms >= 0 && code_ms < load_ms) ? code_ms : load_ms;
}

static bool any_is_ready(const struct pollfd *fds, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (fds[i].revents)
			return true;
	}
	return false;
}

/* Runs the hooks, with `fds` their own. */
static int handle_hooks(struct watch *watch, const struct pollfd *fds, size_t count)
{
	const struct run_hooks *hooks = watch->hooks;
	int error = hooks->handle ? hooks->handle(hooks->context, fds, count) : 0;

	if (error == REPORT_AGAIN)
		error = make_report(watch, REPORT_ASKED);
	if (error || !hooks->targets_gone || watch->gone || !all_gone(watch))
		return error;
	error = make_report(watch, REPORT_INTERVAL);
	watch->gone = true;
	hooks->targets_gone(hooks->context);
	return error;
}

static int handle(void *context, const struct pollfd *fds, size_t count)
{
	struct watch *watch = context;
	size_t own = TARGETS + watch->targets_waited_for;
	int error = 0;

	bool ends = any_is_ready(fds + TARGETS, watch->targets_waited_for);

	/* Events that precede an end may not have woken us: take them first. */
	if (fds[EVENTS].revents || (ends && !is_busy(watch)))
		error = take_events(watch);
	if (!is_busy(watch)) {
		targets_load(&watch->session);
		stages_read_code(&watch->session.stages);
	}
	if (!error)
		error = report_victims(watch);
	if (ends)
		targets_notice_ends(&watch->session);
	if (!error && fds[STREAMS].revents)
		error = event_streams_consume(&watch->session.streams);
	if (fds[LINES].revents) /* line numbers for the next report */
		session_take_lines(&watch->session);
	return error ? error : handle_hooks(watch, fds + own, count - own);
}

/* Reaps a launched program whose end the loop has not handled. */
static void reap_command(struct watch *watch)
{
	pid_t pid = watch->session.launch.pid;
	int status;

	if (pid > 0 && waitpid(pid, &status, WNOHANG) == pid)
		note_end(watch, pid, status);
}

/* Returns the exit code for a test that was interrupted: its result is unknown. */
static int code_of_unfinished(const struct session_options *options, int code)
{
	int ended_by = interrupt_exit_code(0);

	if (options->output.fail_over == UINT64_MAX && !options->output.junit)
		return code;
	log_warning("the command was interrupted, or still runs: its exit status is not known");
	/* Ctrl-C and `kill -INT` are the usual ways to end a server under test. */
	return ended_by && ended_by != 128 + SIGINT ? ended_by : code;
}

/*
 * Returns a wrapped command's exit status, like env(1) and time(1), so that a failing test fails
 * under leakmon, too: `code` counts only if the command succeeded, or if leakmon itself failed.
 */
static int code_with_command(struct watch *watch, const struct session_options *options, int code)
{
	if (!options->targets.command || (code != EXIT_OK && code != EXIT_LEAK))
		return code;
	reap_command(watch);
	if (!watch->command_ended)
		return code_of_unfinished(options, code);
	return watch->command_code ? watch->command_code : code;
}

int watch_run(const struct session_options *options, const struct run_hooks *hooks)
{
	static const struct run_hooks none = {.takes_kills = true};
	struct watch watch = {.loop = REPORT_LOOP_CLOSED, .hooks = hooks ? hooks : &none};
	const struct run_hooks own = {.context = &watch,
				      .report = make_report,
				      .wait_for = wait_for,
				      .timeout_ms = timeout_ms,
				      .handle = handle,
				      .on_child = on_child,
				      .is_done = is_done};
	int code, error = watch_open(&watch, options);

	if (!error)
		error = report_loop_run(&watch.loop, &own);
	code = emitter_finish(&watch.session.emitter, &options->output, error,
			      watch.session.outstanding_bytes);
	code = code_with_command(&watch, options, code);
	watch_close(&watch);
	return code;
}
