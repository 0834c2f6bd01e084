// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/profile/profile_build.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "app/monitor/emit.h"
#include "app/monitor/oom.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "report/analyze/verdict.h"
#include "trace/collect/window.h"

static int add_site(const struct profile_sources *sources, const struct profile_target *target,
		    struct profile_site *known, struct profile_report_process *process)
{
	struct profile_report_site *site = vec_push(&process->sites);
	size_t depth = 0;

	if (!site)
		return -ENOMEM;
	site->index = known->index;
	site_figures_judge(&known->figures, &target->profiled.figures, &site->judgement);
	window_site_stack(&sources->session->bpf, known->index, &depth, &site->end);
	return 0;
}

/*
 * Downgrades verdicts if no block has outlived a full collection: garbage in the heap may hold the
 * blocks (buffers, pages' records).
 */
static void doubt_garbage(struct profile_report_process *process)
{
	for (size_t i = 0; i < process->sites.count; i++) {
		struct site_judgement *judgement = &process->sites.items[i].judgement;

		if (judgement->verdict != PROFILE_LEAKING)
			continue;
		judgement->verdict = PROFILE_RETAINED;
		judgement->why =
			"garbage may hold its blocks: its runtime has not collected all of "
			"its heap since they came";
	}
}

/*
 * Adds blocks of each site to look up in the heap; the report's sites are in the order of the
 * target's.
 */
static void add_examples(const struct profile_target *target,
			 struct profile_report_process *process)
{
	for (size_t i = 0; i < target->profiled.windows.count; i++) {
		const struct sample_window *window = &target->profiled.windows.items[i];

		for (size_t j = 0; j < window->samples.count; j++) {
			const struct profile_sample *sample = &window->samples.items[j];
			struct profile_report_site *site = &process->sites.items[sample->site];

			if (sample->state == SAMPLE_UNTOUCHED && !sample->seen_dead &&
			    site->example_count < PROFILE_EXAMPLES)
				site->examples[site->example_count++] = sample->address;
		}
	}
}

/* Judges memory in the latest third of the run. */
static void judge_memory(const struct profile_target *target, double now_s,
			 struct profile_report_process *process)
{
	struct trend_options options = verdict_options(SUBJECT_RESIDENT, 0);
	struct trend trend;
	size_t from = 0;
	double since_s = now_s - fmax(now_s / 3, 60);

	process->memory_bytes = target->memory_bytes;
	while (from < target->memory.count && target->memory.items[from].time_s < since_s)
		from++;
	trend_judge(&trend, target->memory.items + from, target->memory.count - from, &options);
	process->has_memory_growth = trend.points >= options.points_min;
	process->memory_growth_per_s = trend.slope;
}

static void judge_explained(struct profile_report_process *process)
{
	double growth = 0;

	process->explained = -1;
	if (!process->has_memory_growth || process->memory_growth_per_s <= 0)
		return;
	for (size_t i = 0; i < process->sites.count; i++)
		growth += process->sites.items[i].judgement.growth_bytes_per_s.estimate;
	process->explained = fmin(growth / process->memory_growth_per_s, 1);
}

static void judge_exact(const struct profile_target *target, double now_s,
			struct profile_report_process *process)
{
	static const char *const why[] = {
		[EXACT_TOO_DEAR] = "tracking every allocation would cost more than the budget",
		[EXACT_NO_ROOM] = "there was no room for all of its blocks",
		[EXACT_REPLACED] = "it replaced itself by another program",
		[EXACT_FAILED] = "its probes could not be set",
	};
	_Static_assert(ARRAY_SIZE(why) == EXACT_END_MAX_, "words for each end");

	if (!target->exact.tries)
		return;
	process->hits_per_s = exact_hits_per_s(&target->exact);
	process->exact_why = why[target->exact.end];
	if (!target->exact.open)
		return;
	process->exact_s = now_s - target->exact.opened_s;
	process->events_per_s = exact_events_per_s(&target->exact);
}

static char *read_exe(pid_t pid)
{
	char path[64], link[4096];
	ssize_t length;

	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	length = readlink(path, link, sizeof(link) - 1);
	return length > 0 ? strndup(link, (size_t)length) : NULL;
}

static int add_process(const struct profile_sources *sources, struct profile_target *target,
		       struct profile_report *report)
{
	struct profile_report_process *process = vec_push(&report->processes);
	int error = 0;

	if (!process)
		return -ENOMEM;
	process->pid = (uint32_t)target->pid;
	process->exited = target->ended;
	process->oom_killed = oom_kills_has(&sources->session->oom, target->pid);
	if (!target->ended) {
		profile_target_read_comm(target);
		process->exe = read_exe(target->pid);
		garbage_watch_look(&target->garbage, target->pid, sources->now_s);
	}
	memcpy(process->comm, target->comm, sizeof(process->comm));
	process->spent = window_budget_spent_share(&target->budget);
	if (window_budget_base_s(&target->budget) > target->budget.used_s)
		process->floor = target->budget.floor;
	if (target->budget.watched_s > 0)
		process->core =
			(target->budget.spent_s + target->apart_s) / target->budget.watched_s;
	judge_exact(target, sources->now_s, process);
	process->target = target;
	process->samples = target->profiled.samples;
	process->dropped = target->dropped;
	process->unfollowed = target->profiled.unfollowed;
	process->missed = target->missed;
	process->missed_why = target->missed_why;
	process_figures_judge(&target->profiled.figures, &process->judgement);
	judge_memory(target, sources->now_s, process);
	for (size_t i = 0; i < target->profiled.sites.count && !error; i++)
		error = add_site(sources, target, target->profiled.sites.items[i], process);
	if (!error)
		add_examples(target, process);
	if (garbage_watch_doubts(&target->garbage, sources->now_s))
		doubt_garbage(process);
	judge_explained(process);
	report->windows += process->judgement.windows;
	report->tracked_s += process->judgement.tracked_s;
	report->samples += process->samples;
	return error;
}

static void sum_up(const struct profile_sources *sources, struct profile_report *report)
{
	double spent_s = sources->spent_s, used_s = sources->used_s;
	struct report_cost cost = emit_cost();

	for (size_t i = 0; i < sources->target_count; i++) {
		spent_s += sources->targets[i]->budget.spent_s;
		used_s += window_budget_base_s(&sources->targets[i]->budget);
	}
	clock_gettime(CLOCK_REALTIME, &report->time);
	report->limit = sources->limit;
	report->spent = used_s > 0 ? spent_s / used_s : 0;
	report->measured = sources->calibration->measured;
	report->trap_ns = sources->calibration->trap_ns;
	report->held_back = sources->held_back;
	report->cpu_s = cost.cpu_s + sources->detach_cpu_s;
	report->rss_bytes = cost.rss_bytes;
	report->form = emit_form(&sources->session->options->output);
}

/*
 * Returns the growth that ranks the process for the next window: the larger of its sites' and its
 * memory's.
 */
static double growth_of(const struct profile_report_process *process)
{
	double growth = 0;

	for (size_t i = 0; i < process->sites.count; i++)
		growth += process->sites.items[i].judgement.growth_bytes_per_s.low;
	return process->has_memory_growth ? fmax(growth, process->memory_growth_per_s) : growth;
}

/* Counts OOM kills while the names of the processes are known. */
static int count_kills(const struct profile_sources *sources)
{
	struct oom_kills *kills = &sources->session->oom;
	int error = 0;

	for (size_t i = 0; i < kills->list.count && !error; i++) {
		const struct profile_target *killed = NULL;

		for (size_t j = 0; j < sources->target_count; j++) {
			if (sources->targets[j]->pid == kills->list.items[i].pid)
				killed = sources->targets[j];
		}
		error = oom_kills_count_one(kills, &kills->list.items[i],
					    killed ? killed->comm : "",
					    killed ? killed->container : NULL);
	}
	return error;
}

static int fill(const struct profile_sources *sources, struct profile_report *report)
{
	int error = 0;

	report->oom = &sources->session->oom;
	report->lost_reports = sources->session->emitter.lost;
	report->pushed = emit_pushed(&sources->session->emitter);
	for (size_t i = 0; i < sources->target_count && !error; i++) {
		struct profile_target *target = sources->targets[i];

		error = add_process(sources, target, report);
		if (!error)
			target->growth = growth_of(&report->processes.items[i]);
	}
	if (!error)
		error = count_kills(sources);
	sum_up(sources, report);
	if (sources->choice)
		profile_choice_explain(sources->choice, report);
	profile_report_rank(report, sources->session->options->output.report.top);
	return error;
}

static int name_sites(struct session *session, struct profile_report *report)
{
	int error = 0;

	for (size_t i = 0; i < report->processes.count; i++) {
		struct profile_report_process *process = &report->processes.items[i];

		for (size_t j = 0; j < process->sites.count && !error; j++) {
			struct profile_report_site *site = &process->sites.items[j];
			const uint64_t *stack;
			size_t depth = 0;

			stack = window_site_stack(&session->bpf, site->index, &depth, &site->end);
			error = stack ? symbolizer_name(session->stages.symbolizer, process->pid,
							stack, depth, LINES_KNOWN, &site->frames)
				      : 0;
			site->id = symbolizer_stack_id(&site->frames);
		}
	}
	return error;
}

static const struct container *container_of(const struct oom_kills *kills, pid_t pid)
{
	for (size_t i = 0; i < kills->list.count; i++) {
		if (kills->list.items[i].pid == pid)
			return kills->list.items[i].container;
	}
	return NULL;
}

static void keep_sites(struct session *session, const struct profile_report *report)
{
	for (size_t i = 0; i < report->processes.count; i++) {
		const struct profile_report_process *process = &report->processes.items[i];

		if (!oom_kills_has(&session->oom, (pid_t)process->pid))
			continue;
		oom_kills_keep_of(&session->oom, process->comm,
				  container_of(&session->oom, (pid_t)process->pid), true);
		for (size_t j = 0; j < process->sites.count; j++) {
			const struct profile_report_site *site = &process->sites.items[j];

			oom_kills_keep_site(
				&session->oom, site->id, &site->frames,
				&(struct oom_site){
					.growth_bytes_per_s =
						site->judgement.growth_bytes_per_s.estimate});
		}
	}
}

static int name_report(struct session *session, struct profile_report *report, bool last)
{
	int error;

	for (size_t i = 0; i < report->processes.count; i++) {
		if (!report->processes.items[i].exited)
			stages_refresh(&session->stages, (pid_t)report->processes.items[i].pid);
	}
	error = name_sites(session, report);
	if (error)
		return error;
	symbolizer_find_lines(session->stages.symbolizer, session_lines_wait_ms(last));
	error = name_sites(session, report);
	if (!error)
		keep_sites(session, report);
	return error;
}

int profile_build(const struct profile_sources *sources, struct profile_report *report, bool last)
{
	int error = fill(sources, report);

	return error ? error : name_report(sources->session, report, last);
}
