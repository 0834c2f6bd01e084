// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "cli/values.h"
#include "command/command.h"
#include "monitor/session.h"
#include "monitor/session_threads.h"
#include "monitor/watch.h"

/* `leakmon threads`: from a session to a named report of dead threads. */

static int name_group(struct session *session, uint32_t pid, struct thread_group *group)
{
	int error = symbolizer_name(session->symbolizer, pid, group->addresses, group->depth,
				    LINES_KNOWN, &group->stack);

	if (!error && group->start_routine)
		error = symbolizer_name_function(session->symbolizer, pid, group->start_routine,
						 LINES_KNOWN, &group->start);
	return error;
}

static int name_all(struct session *session, struct thread_report *report)
{
	int error = 0;

	for (size_t i = 0; i < report->processes.count; i++) {
		struct thread_census *census = &report->processes.items[i];

		for (size_t j = 0; j < census->groups.count && !error; j++)
			error = name_group(session, census->pid, &census->groups.items[j]);
	}
	return error;
}

/* Most dead threads first. */
static int by_dead(const void *left, const void *right)
{
	const struct thread_census *a = left, *b = right;

	if (a->dead.count != b->dead.count)
		return a->dead.count > b->dead.count ? -1 : 1;
	return (a->pid > b->pid) - (a->pid < b->pid);
}

/* The censuses are the report's from then on; *snapshot is to be freed with it. */
static int take_census(struct session *session, struct snapshot *snapshot,
		       struct thread_report *report)
{
	_cleanup_(session_threads_free) struct session_threads threads = {.keeps = true};
	int error = session_snapshot(session, &threads, snapshot);

	if (error)
		return error;
	report->now_ns = monotonic_ns();
	report->time = snapshot->time;
	report->sequence = snapshot->sequence;
	for (size_t i = 0; i < threads.censuses.count; i++) {
		struct thread_census *census = vec_push(&report->processes);

		if (!census)
			return -ENOMEM;
		*census = threads.censuses.items[i];
		threads.censuses.items[i] = (struct thread_census){0};
	}
	if (report->processes.count)
		qsort(report->processes.items, report->processes.count,
		      sizeof(*report->processes.items), by_dead);
	return 0;
}

static int find_holders(struct session *session, const struct threads_options *options,
			struct thread_report *report)
{
	const struct heap_image_options wanted = {.no_stop = options->pause.no_stop,
						  .max_pause_ns = options->pause.max_pause_ns};
	const struct retain_sources sources = {.worker = session->worker,
					       .processes = session->processes,
					       .symbolizer = session->symbolizer};
	int error = 0;

	if (!options->holders)
		return 0;
	/* As in retain: it can take long, and nothing is to be undone. Of a last report that was
	 * asked for, it is a part. */
	interrupt_ends(!interrupt_check());
	for (size_t i = 0; !error && i < report->processes.count; i++) {
		if (report->processes.items[i].dead.count)
			error = thread_holders_find(&report->processes.items[i], &wanted,
						    &session->bpf, &sources);
	}
	interrupt_ends(false);
	return error;
}

static int name_report(struct session *session, struct thread_report *report, bool last)
{
	int error;

	for (size_t i = 0; i < report->processes.count && session->everywhere; i++) {
		if (report->processes.items[i].dead.count)
			session_refresh(session, (pid_t)report->processes.items[i].pid);
	}
	error = name_all(session, report);
	if (error)
		return error;
	symbolizer_find_lines(session->symbolizer, session_lines_wait_ms(last));
	return name_all(session, report);
}

static int write_report(const struct session *session, const struct thread_report *report)
{
	int error = session->format->threads(session->out, report);

	if (error)
		emit_say_failed("the report", error);
	return error;
}

struct threads_run {
	const struct threads_options *options;
	struct session *session;
};

static int begin(void *context, struct session *session)
{
	((struct threads_run *)context)->session = session;
	return 0;
}

/* Takes a census, names it and writes it. */
static int make_report(void *context, enum report_cause cause)
{
	struct threads_run *run = context;
	const struct threads_options *threads = run->options;
	struct session *session = run->session;
	_cleanup_(snapshot_free) struct snapshot snapshot = {0};
	_cleanup_(thread_report_free) struct thread_report report = {
		.show_threads = threads->show_threads,
		.heap = session->tracks_heap,
		.everywhere = session->everywhere,
		.colour = emit_wants_colour(&session->options->output),
	};
	int error = take_census(session, &snapshot, &report);

	if (error)
		return error;
	error = find_holders(session, threads, &report);
	if (!error)
		error = name_report(session, &report, cause == REPORT_LAST);
	if (error)
		log_error("out of memory");
	else
		error = write_report(session, &report);
	symbolizer_release_lines(session->symbolizer);
	targets_drop_ended(session);
	return error;
}

/* leakmon threads: dead threads, at intervals, until interrupted. */

static int run(const void *options)
{
	struct threads_run threads = {.options = options};
	const struct run_hooks hooks = {
		.context = &threads, .begin = begin, .report = make_report, .takes_kills = true};

	return watch_run(&threads.options->session, &hooks);
}

/* What would have no effect without --heap. */
static int check_heap(const struct threads_options *threads, const struct given *given)
{
	static const char *const of_heap[] = {"max-blocks", "probe-at"};

	for (size_t i = 0; i < ARRAY_SIZE(of_heap) && !threads->heap; i++) {
		if (!option_is_given(given, of_heap[i]))
			continue;
		log_error("--%s applies to the heap: add --heap, or leave it out", of_heap[i]);
		return -EINVAL;
	}
	return 0;
}

/* Without a target: all processes, of which not everything can be followed. */
static int check(void *options, const struct given *given)
{
	struct threads_options *threads = options;
	struct session_options *session = &threads->session;

	if (check_heap(threads, given))
		return -EINVAL;
	session->tracking.no_heap = !threads->heap;
	session->probes.no_usdt = true; /* every block is wanted */
	session->targets.chosen.all = targets_none(&session->targets);
	if (session->targets.chosen.all && (threads->heap || session->targets.follow_forks)) {
		log_error("no target, and --%s needs one: name it, as in `leakmon threads -p PID`",
			  threads->heap ? "heap" : "follow-forks");
		return -EINVAL;
	}
	return session_options_check(session, given);
}

#define FIELD(name) .offset = offsetof(struct threads_options, name)

static const struct option_row heap_rows[] = {
	{"heap", 0, NULL, "also track the heap: what dead threads allocated and nobody freed",
	 value_set_flag, FIELD(heap)},
};

static const struct option_row threads_rows[] = {
	{"show-threads", 0, NULL, "list every dead thread", value_set_flag, FIELD(show_threads)},
	{"holders", 0, NULL, "find who holds their pthread_t; stops the process for a moment",
	 value_set_flag, FIELD(holders)},
};

#undef FIELD

static const struct option_group heap_group = {"What is tracked", heap_rows, ARRAY_SIZE(heap_rows)};

static const struct option_group threads_group = {"Output", threads_rows, ARRAY_SIZE(threads_rows)};

static const struct option_row format_rows[] = {FORMAT_ROW(OUTPUT_THREADS)};

static const struct option_group format_group = {"Output", format_rows, ARRAY_SIZE(format_rows)};

static const struct threads_options defaults = {.session = SESSION_DEFAULTS};

#define PART(member) offsetof(struct threads_options, session.member)

const struct command command_threads = {
	.name = "threads",
	.summary = "list threads that ended and were never joined",
	.usage = "  leakmon threads [TARGET] [OPTION...] [INTERVAL [COUNT]]\n"
		 "  leakmon threads [OPTION...] [INTERVAL [COUNT]] -- CMD ARGS...\n",
	.about = "Lists the threads that have ended and were never joined, which keep their\n"
		 "stacks mapped: who created them, what they ran, how much they hold. Without\n"
		 "a target, those of all processes.\n",
	.examples = "  leakmon threads                       of all processes of this machine\n"
		    "  leakmon threads -p 1234               report every 5 s until Ctrl-C\n"
		    "  leakmon threads -p 1234 60 1 --show-threads\n"
		    "                                        one report, each dead thread\n"
		    "  leakmon threads -p 1234 60 1 --holders\n"
		    "                                        and where their pthread_t is kept\n"
		    "  leakmon threads -n java --heap        and the blocks that they left\n"
		    "  leakmon threads -- ./server           from its first thread on\n",
	.options_size = sizeof(defaults),
	.defaults = &defaults,
	.uses = {{&target_group, PART(targets.chosen)},
		 {&launch_group, PART(targets)},
		 {&fork_group, PART(targets)},
		 {&heap_group, 0},
		 {&room_group, PART(tracking)},
		 {&pause_group, offsetof(struct threads_options, pause)},
		 {&probe_group, PART(probes)},
		 {&stack_walk_group, PART(probes)},
		 {&threads_group, 0},
		 {&format_group, PART(output)},
		 {&output_group, PART(output)},
		 {&debuginfod_group, PART(tracking)},
		 {&color_group, PART(output)}},
	.positionals = SCHEDULE_WORDS(struct threads_options, session.schedule),
	.check = check,
	.free = session_options_free,
	.run = run,
};
