// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/runs/threads_run.h"

#include <errno.h>
#include <string.h>

#include "app/monitor/session_threads.h"
#include "app/monitor/watch.h"
#include "app/runs/goroutines_run.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "heap/runtime/runtime.h"
#include "heap/threads/live_census.h"
#include "heap/threads/thread_holders.h"

static int name_group(struct session *session, uint32_t pid, struct thread_group *group)
{
	int error = symbolizer_name(session->stages.symbolizer, pid, group->addresses, group->depth,
				    LINES_KNOWN, &group->stack);

	if (!error && group->start_routine)
		error = symbolizer_name_function(session->stages.symbolizer, pid,
						 group->start_routine, LINES_KNOWN, &group->start);
	return error;
}

static int name_live_group(struct session *session, uint32_t pid, struct live_group *group)
{
	struct symbolizer *symbolizer = session->stages.symbolizer;
	int error = symbolizer_name(symbolizer, pid, group->addresses, group->depth, LINES_KNOWN,
				    &group->stack);

	if (!error && group->start_routine)
		error = symbolizer_name_function(symbolizer, pid, group->start_routine, LINES_KNOWN,
						 &group->start);
	for (size_t i = 0; i < group->waits.count && !error; i++) {
		struct live_wait *wait = &group->waits.items[i];

		error = symbolizer_name(symbolizer, pid, wait->addresses, wait->depth, LINES_KNOWN,
					&wait->stack);
	}
	return error;
}

static int name_all(struct session *session, struct thread_report *report)
{
	int error = 0;

	for (size_t i = 0; i < report->processes.count; i++) {
		struct thread_census *census = &report->processes.items[i];

		for (size_t j = 0; j < census->groups.count && !error; j++)
			error = name_group(session, census->pid, &census->groups.items[j]);
		for (size_t j = 0; j < census->live.count && !error; j++)
			error = name_live_group(session, census->pid, &census->live.items[j]);
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
	const struct retain_sources sources = {.worker = session->stages.worker,
					       .processes = session->stages.processes,
					       .symbolizer = session->stages.symbolizer};
	int error = 0;

	for (size_t i = 0; !report->everywhere && i < report->processes.count; i++)
		report->processes.items[i].managed =
			thread_holders_managed((pid_t)report->processes.items[i].pid);
	if (!options->holders)
		return 0;
	/* As in retain: it can take long, and nothing is to be undone. Of a last report that was
	 * asked for, it is a part. */
	interrupt_ends(!interrupt_check());
	for (size_t i = 0; !error && i < report->processes.count; i++) {
		if (thread_holders_wanted(&report->processes.items[i]))
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
			stages_refresh(&session->stages, (pid_t)report->processes.items[i].pid);
	}
	error = name_all(session, report);
	if (error)
		return error;
	symbolizer_find_lines(session->stages.symbolizer, session_lines_wait_ms(last));
	return name_all(session, report);
}

struct threads_run {
	const struct threads_options *options;
	struct session *session;
	struct task_histories goroutines, virtual_threads;
	struct live_pasts live;
};

static int begin(void *context, struct session *session)
{
	((struct threads_run *)context)->session = session;
	return 0;
}

/* For the whole machine there are too many to ask each where it waits. */
static int find_live(struct threads_run *run, struct thread_report *report)
{
	struct session *session = run->session;
	_cleanup_(thread_table_free) struct thread_table table = {0};
	int error = report->everywhere ? 0 : thread_table_read(&session->bpf, &table);

	for (size_t i = 0; !error && !report->everywhere && i < report->processes.count; i++) {
		struct thread_census *census = &report->processes.items[i];

		stages_refresh(&session->stages, (pid_t)census->pid);
		error = live_census_take(census, &table, &session->bpf, session->stages.worker);
		if (!error)
			error = live_pasts_compare(&run->live, census, report->now_ns);
	}
	return error;
}

/* For the whole machine only threads are reported. */
static int find_goroutines(struct threads_run *run, struct thread_report *report)
{
	int error = 0;

	for (size_t i = 0; !error && !report->everywhere && i < report->processes.count; i++)
		error = goroutines_add(&run->goroutines, &report->processes.items[i]);
	return error;
}

/* Reads the threads of the processes' runtimes: native threads with names and frames, and virtual
 * ones. */
static int find_managed(struct threads_run *run, struct thread_report *report)
{
	const struct stages *stages = &run->session->stages;
	int error = 0;

	for (size_t i = 0; !error && !report->everywhere && i < report->processes.count; i++) {
		struct thread_census *census = &report->processes.items[i];

		error = runtime_threads_read(stages->worker, &stages->processes->dsos, census);
		if (!error && census->virtual_threads)
			error = task_histories_add(&run->virtual_threads, census->pid,
						   census->virtual_threads);
	}
	return error;
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
		.form = emit_form(&session->options->output),
	};
	int error = take_census(session, &snapshot, &report);

	if (error)
		return error;
	error = find_live(run, &report);
	if (!error)
		error = find_goroutines(run, &report);
	if (!error)
		error = find_managed(run, &report);
	if (!error)
		error = find_holders(session, threads, &report);
	if (!error)
		error = name_report(session, &report, cause == REPORT_LAST);
	if (error)
		log_error("out of memory");
	else
		error = emit(&session->emitter, OUTPUT_THREADS, &report, cause == REPORT_LAST);
	symbolizer_release_lines(session->stages.symbolizer);
	targets_drop_ended(session);
	return error;
}

int threads_run(const struct threads_options *options)
{
	struct threads_run threads = {.options = options};
	const struct run_hooks hooks = {
		.context = &threads, .begin = begin, .report = make_report, .takes_kills = true};
	int code;

	if (go_programs_only(&options->session.targets.chosen))
		return goroutines_run(options);
	code = watch_run(&threads.options->session, &hooks);
	task_histories_free(&threads.goroutines);
	task_histories_free(&threads.virtual_threads);
	live_pasts_free(&threads.live);
	return code;
}
