// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/runs/goroutines_run.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "heap/runtime/runtime.h"
#include "process/proc/process_list.h"

struct tasks_of {
	uint32_t pid;
	struct task_history history;
};

void task_histories_free(struct task_histories *histories)
{
	for (size_t i = 0; i < histories->list.count; i++)
		task_history_free(&histories->list.items[i].history);
	vec_free(&histories->list);
}

static struct task_history *history_of(struct task_histories *histories, uint32_t pid)
{
	struct tasks_of *made;

	for (size_t i = 0; i < histories->list.count; i++) {
		if (histories->list.items[i].pid == pid)
			return &histories->list.items[i].history;
	}
	made = vec_push(&histories->list);
	if (!made)
		return NULL;
	made->pid = pid;
	return &made->history;
}

int task_histories_add(struct task_histories *histories, uint32_t pid, struct task_report *report)
{
	struct task_history *history = history_of(histories, pid);

	if (!history)
		return -ENOMEM;
	return report->why ? 0 : task_history_add(history, report);
}

int goroutines_add(struct task_histories *histories, struct thread_census *census)
{
	_cleanup_(maps_free) struct maps maps = {0};
	int error = maps_read((int)census->pid, MAPS_ALL, &maps);
	const struct program_reader *program = error ? NULL : runtime_program(&maps);

	if (!program)
		return error == -ENOMEM ? error : 0;
	census->goroutines = calloc(1, sizeof(*census->goroutines));
	if (!census->goroutines)
		return -ENOMEM;
	error = program->tasks(&maps, census->goroutines);
	return error ? error : task_histories_add(histories, census->pid, census->goroutines);
}

bool go_programs_only(const struct selector_config *chosen)
{
	for (size_t i = 0; i < chosen->pids.count; i++) {
		_cleanup_(maps_free) struct maps maps = {0};

		if (maps_read(chosen->pids.items[i], MAPS_ALL, &maps) ||
		    !runtime_program_is_alone(&maps))
			return false;
	}
	return chosen->pids.count;
}

struct run {
	const struct threads_options *options;
	struct emitter emitter;
	struct task_histories histories;
	uint64_t reports;
	bool ended; /* all processes have ended */
};

static int read_process(struct run *run, pid_t pid, struct thread_report *report)
{
	struct thread_census census = {
		.pid = (uint32_t)pid, .no_library = true, .why = "it has no thread library"};
	struct thread_census *kept;
	int error = goroutines_add(&run->histories, &census);

	if (!census.goroutines)
		return error;
	process_read_comm((pid_t)census.pid, 0, census.comm, sizeof(census.comm));
	kept = error ? NULL : vec_push(&report->processes);
	if (!kept) {
		thread_census_free(&census);
		return -ENOMEM;
	}
	*kept = census;
	return 0;
}

static int make_report(void *context, enum report_cause cause)
{
	struct run *run = context;
	const struct selector_config *chosen = &run->options->session.targets.chosen;
	_cleanup_(thread_report_free) struct thread_report report = {
		.sequence = ++run->reports,
		.now_ns = monotonic_ns(),
		.show_threads = run->options->show_threads,
		.form = emit_form(&run->options->session.output)};
	int error = 0;

	clock_gettime(CLOCK_REALTIME, &report.time);
	for (size_t i = 0; !error && i < chosen->pids.count; i++)
		error = read_process(run, chosen->pids.items[i], &report);
	run->ended = !report.processes.count;
	if (error) {
		log_error("out of memory");
		return error;
	}
	return run->ended ? 0 : emit(&run->emitter, OUTPUT_THREADS, &report, cause == REPORT_LAST);
}

static bool is_done(void *context)
{
	return ((struct run *)context)->ended;
}

int goroutines_run(const struct threads_options *options)
{
	struct run run = {.options = options};
	struct report_loop loop = REPORT_LOOP_CLOSED;
	const struct run_hooks hooks = {.context = &run, .report = make_report, .is_done = is_done};
	int error = report_loop_open(&loop, &options->session.schedule, false);

	if (!error)
		error = emitter_open(&run.emitter, &options->session.output, EMIT_REPEATED);
	if (!error)
		error = emitter_listen(&run.emitter, &options->session.schedule);
	if (!error)
		log_info("without a thread library: goroutines are read, and no probes are set");
	/* Take the baseline of the first report. */
	for (size_t i = 0; !error && i < options->session.targets.chosen.pids.count; i++) {
		struct thread_census census = {
			.pid = (uint32_t)options->session.targets.chosen.pids.items[i]};

		error = goroutines_add(&run.histories, &census);
		thread_census_free(&census);
	}
	if (!error)
		error = report_loop_run(&loop, &hooks);
	report_loop_close(&loop);
	task_histories_free(&run.histories);
	error = emitter_finish(&run.emitter, &options->session.output, error, 0);
	emitter_close(&run.emitter);
	return error;
}
