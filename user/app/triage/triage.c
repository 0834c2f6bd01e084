// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/triage/triage.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/page.h"
#include "process/proc/cgroup.h"
#include "process/proc/process_list.h"

/* Turns histories into reports. */

static void fill_spark(struct triage_entry *entry, const struct series *series)
{
	struct trend_point points[SERIES_POINTS];
	size_t count = series_points(series, entry->growth.level, entry->growth.kind, points);
	size_t buckets = MIN(count, (size_t)TRIAGE_SPARK_POINTS);

	for (size_t i = 0; i < buckets; i++) {
		size_t begin = i * count / buckets, end = (i + 1) * count / buckets;
		double sum = 0;

		for (size_t j = begin; j < end; j++)
			sum += points[j].value;
		entry->spark[i] = (float)(sum / (double)(end - begin));
	}
	entry->spark_count = buckets;
}

void triage_entry_of(struct triage_entry *entry, const struct member *member,
		     const struct group *group, double now_s)
{
	*entry = (struct triage_entry){
		.pid = member->reading.pid,
		.comm = member->reading.comm,
		.exe = member->exe,
		.container = group ? group->container : NULL,
		.cgroup = group ? group->path : NULL,
		.processes = 1,
		.age_s = now_s - member->first_seen_s,
		.now = member->reading.quantities,
		.sites = member->sites,
		.sampled = member->sampled,
	};
	growth_of(&entry->growth, &member->series, member->born_s);
	fill_spark(entry, &member->series);
}

static void entry_of_group(struct triage_entry *entry, const struct group *group, double now_s)
{
	*entry = (struct triage_entry){
		.comm = "",
		.container = group->container,
		.cgroup = group->path,
		.processes = group->processes,
		.age_s = now_s - group->first_seen_s,
		.now = group->quantities,
	};
	if (group->charged)
		entry->split = &group->split;
	growth_of(&entry->growth, &group->series, group->born_s);
	entry->multiplies = entry->growth.verdict == TREND_LEAKING &&
			    growth_is_of(&group->series, QUANTITY_THREADS, group->born_s);
	fill_spark(entry, &group->series);
}

/* Sorts by growth, then by size. The PID orders equals. */
static int by_rank(const void *a, const void *b)
{
	const struct triage_entry *one = a, *other = b;
	int order = growth_compare(&one->growth, &other->growth);
	double mine = one->now.values[QUANTITY_HEAP], its = other->now.values[QUANTITY_HEAP];

	if (!order) /* do not cut entries with findings */
		order = (other->sites != NULL) - (one->sites != NULL);
	if (!order)
		order = (mine < its) - (mine > its);
	if (!order)
		order = (one->pid > other->pid) - (one->pid < other->pid);
	return order ? order
		     : strcmp(one->cgroup ? one->cgroup : "", other->cgroup ? other->cgroup : "");
}

void triage_report_explain(struct triage_report *report, struct triage_entry *entry,
			   const struct triage_cause *cause)
{
	entry->cause = cause;
	if (cause->no_leak || cause->unproven)
		triage_report_doubt(report, entry);
}

static void lower_verdict(struct triage_entries *entries, struct triage_entry *entry)
{
	entries->verdicts[TREND_LEAKING]--;
	entries->verdicts[TREND_GROWING]++;
	entry->growth.verdict = TREND_GROWING;
}

void triage_report_doubt(struct triage_report *report, struct triage_entry *entry)
{
	if (entry->growth.verdict != TREND_LEAKING)
		return;
	lower_verdict(&report->processes, entry);
	entry->doubted = true;
}

/*
 * Growth of a group's processes in bytes per second: of suspects, and of processes that a rule
 * keeps from being called leaking.
 */
struct member_growth {
	double sure_per_s, unproven_per_s;
};

static struct member_growth growth_of_members(const struct triage_entries *processes,
					      const struct triage_entry *group)
{
	struct member_growth sum = {0};

	for (size_t i = 0; i < processes->count; i++) {
		const struct triage_entry *process = &processes->items[i];
		const struct growth *growth = &process->growth;

		/* The memory of a subgroup is charged to its parents as well. */
		if (!trend_is_suspect(growth->verdict) || !process->cgroup ||
		    !cgroup_is_within(process->cgroup, group->cgroup))
			continue;
		if (process->doubted || (growth->verdict == TREND_GROWING && growth->warms_up))
			sum.unproven_per_s += growth->memory_per_s;
		else
			sum.sure_per_s += growth->memory_per_s;
	}
	return sum;
}

/* Suspects come first: if the last entry is none, no suspect was cut off. */
static bool has_all_suspects(const struct triage_entries *processes)
{
	return processes->count == processes->total ||
	       (processes->count &&
		!trend_is_suspect(processes->items[processes->count - 1].growth.verdict));
}

/* Names the charge that grew most, for a group whose processes do not grow as fast. */
static const char *why_it_grows(const struct triage_entry *group)
{
	static const struct {
		const char *part, *words;
	} reasons[] = {
		{"anonymous", "no process grows as fast: pages that were shared since a fork "
			      "become private, or processes come and go"},
		{"swap", "no process grows as fast: its memory is swapped out"},
		{"tmpfs", "no process grows: files in tmpfs or shared memory do"},
		{"page-tables", "no process grows: their page tables do, for memory that is "
				"mapped and touched here and there"},
		{"slab", "no process grows: the kernel's memory for them does; `leakmon kernel` "
			 "shows its call stacks"},
		{"kernel-stacks", "no process grows: kernel stacks of its threads do"},
		{"kernel", "no process grows: the kernel's memory for them does; `leakmon "
			   "kernel` shows its call stacks"},
		{"sock", "no process grows: buffers of its sockets do"},
	};
	struct triage_part parts[TRIAGE_PARTS_MAX];
	size_t count = group->split ? triage_split_parts(group->split, parts) : 0;
	bool heap = group->growth.kind == QUANTITY_HEAP;

	for (size_t i = 0; i < count && parts[i].grown > 0; i++) {
		bool anonymous =
			!strcmp(parts[i].name, "anonymous") || !strcmp(parts[i].name, "swap");

		/* "kernel" includes page tables, slab and stacks: a part that explains half of it
		 * is named instead. */
		if (anonymous != heap || (!strcmp(parts[i].name, "kernel") && i + 1 < count &&
					  parts[i + 1].grown >= parts[i].grown / 2))
			continue;
		for (size_t j = 0; j < ARRAY_SIZE(reasons); j++) {
			if (!strcmp(parts[i].name, reasons[j].part))
				return reasons[j].words;
		}
	}
	return NULL;
}

void triage_report_doubt_groups(struct triage_report *report)
{
	bool all = has_all_suspects(&report->processes);

	for (size_t i = 0; i < report->groups.count; i++) {
		struct triage_entry *group = &report->groups.items[i];
		struct member_growth members;

		if (!trend_is_suspect(group->growth.verdict) || !group->cgroup)
			continue;
		members = growth_of_members(&report->processes, group);
		if (group->growth.kind == QUANTITY_CHARGED ||
		    (all && group->growth.kind == QUANTITY_HEAP && !group->multiplies &&
		     2 * (members.sure_per_s + members.unproven_per_s) < group->growth.per_s))
			group->why = why_it_grows(group);
		if (group->growth.verdict != TREND_LEAKING || group->growth.kind != QUANTITY_HEAP)
			continue;
		if (2 * members.unproven_per_s >= group->growth.per_s ||
		    (all && !group->multiplies && 2 * members.sure_per_s < group->growth.per_s))
			lower_verdict(&report->groups, group);
	}
}

void triage_report_rank(struct triage_report *report)
{
	if (report->processes.count)
		qsort(report->processes.items, report->processes.count,
		      sizeof(*report->processes.items), by_rank);
}

static void rank(struct triage_entries *entries, size_t top)
{
	entries->total = entries->count;
	for (size_t i = 0; i < entries->count; i++)
		entries->verdicts[entries->items[i].growth.verdict]++;
	if (entries->count)
		qsort(entries->items, entries->count, sizeof(*entries->items), by_rank);
	if (top)
		entries->count = MIN(entries->count, top);
}

static int rank_processes(struct triage_entries *entries, struct population *population,
			  double now_s, size_t top)
{
	size_t count = population->members.count;

	entries->items = calloc(MAX(count, (size_t)1), sizeof(*entries->items));
	if (!entries->items)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		struct member *member = population->members.items[i];
		struct triage_entry *entry;

		if (!member->reading.has_memory)
			continue;
		entry = &entries->items[entries->count++];
		triage_entry_of(entry, member, member->group, now_s);
		if (member->managed.runtime.collects)
			growth_hold(&member->held, &entry->growth, entry->now.values[QUANTITY_HEAP],
				    now_s);
	}
	rank(entries, top);
	return 0;
}

static int rank_groups(struct triage_entries *entries, const struct groups *groups, double now_s,
		       size_t top)
{
	entries->items = calloc(MAX(groups->list.count, (size_t)1), sizeof(*entries->items));
	if (!entries->items)
		return -ENOMEM;
	for (size_t i = 0; i < groups->list.count; i++)
		entry_of_group(&entries->items[entries->count++], groups->list.items[i], now_s);
	rank(entries, top);
	return 0;
}

/* Sorts by time left, then by nearness. */
static int by_time_left(const void *a, const void *b)
{
	const struct triage_limit *one = a, *other = b;
	double mine = one->limit->left.known ? one->limit->left.seconds : INFINITY;
	double its = other->limit->left.known ? other->limit->left.seconds : INFINITY;

	if (mine < its || its < mine)
		return mine < its ? -1 : 1;
	mine = one->limit->used / one->limit->bytes;
	its = other->limit->used / other->limit->bytes;
	return (mine < its) - (mine > its);
}

static int list_limits(const struct triage *triage, struct triage_report *report)
{
	for (size_t i = 0; i < triage->limits.list.count; i++) {
		const struct limit_watch *watch = triage->limits.list.items[i];
		const struct limit *limit = &watch->facts;
		const struct member *suspect =
			watch->near ? limit_suspect(limit, &triage->population) : NULL;
		struct triage_limit *near;

		/* The readings date from before the kernel killed that process. */
		if (!watch->near || (suspect && suspect->oom_told))
			continue;
		near = vec_push(&report->limits);
		if (!near)
			return -ENOMEM;
		*near = (struct triage_limit){
			.limit = limit,
			.container = suspect && suspect->group && *limit->path &&
						     !strcmp(suspect->group->path, limit->path)
					     ? suspect->group->container
					     : NULL,
		};
		if (suspect)
			triage_entry_of(&near->entry, suspect, suspect->group, report->running_s);
		for (size_t j = 0; suspect && j < report->processes.count; j++)
			near->listed |= report->processes.items[j].pid == near->entry.pid;
	}
	if (report->limits.count)
		qsort(report->limits.items, report->limits.count, sizeof(*report->limits.items),
		      by_time_left);
	if (report->limits.count > TRIAGE_LIMITS_SHOWN) {
		report->limits_more = report->limits.count - TRIAGE_LIMITS_SHOWN;
		report->limits.count = TRIAGE_LIMITS_SHOWN;
	}
	return 0;
}

static uint64_t resident_bytes(void)
{
	_cleanup_fclose_ FILE *file = fopen("/proc/self/statm", "re");
	unsigned long size, resident;

	if (!file || fscanf(file, "%lu %lu", &size, &resident) != 2)
		return 0;
	return resident * page_size();
}

int triage_report(struct triage *triage, size_t top, struct triage_report *report)
{
	const struct budget *budget = &triage->budget;
	struct triage_report built = {
		.sequence = triage->reports + 1,
		.running_s = triage_now(triage),
		.poll_interval_s = budget_pause_s(budget),
		.hidden = triage->population.hidden,
		.waiting = triage->population.waiting,
		.budget_limit = budget->limit,
		.budget_used = budget->used,
		.shed_mappings = !budget_counts_mappings(budget),
		.shed_files = !budget_counts_files(budget),
		.stretch = budget_stretch(budget),
		.resident_bytes = resident_bytes(),
		.cpu_s = triage_cpu_s(),
		.probes_s = triage->probe_s + triage->sampling_s,
	};

	clock_gettime(CLOCK_REALTIME, &built.time);
	machine_report(&triage->machine, &triage->machine_report);
	built.machine = &triage->machine_report;
	if (rank_processes(&built.processes, &triage->population, built.running_s, top) ||
	    rank_groups(&built.groups, &triage->groups, built.running_s, top) ||
	    list_limits(triage, &built)) {
		triage_report_free(&built);
		return -ENOMEM;
	}
	triage->reports++;
	*report = built;
	return 0;
}

double triage_cpu_s(void)
{
	return process_own_cpu_s();
}

int triage_open(struct triage *triage, double poll_interval_s, double budget)
{
	*triage = (struct triage){
		.poll_interval_s = poll_interval_s,
		.budget = {.limit = budget, .pause_s = poll_interval_s},
		.begin_s = monotonic_s(),
		.polled_s = -1,
		.random = (uint64_t)getpid(),
	};
	population_init(&triage->population);
	if (!groups_init(&triage->groups))
		return 0;
	log_error("out of memory");
	return -ENOMEM;
}

void triage_close(struct triage *triage)
{
	population_free(&triage->population);
	groups_free(&triage->groups);
	limits_free(&triage->limits);
	machine_free(&triage->machine);
}

double triage_now(const struct triage *triage)
{
	return monotonic_s() - triage->begin_s;
}

double triage_pause_s(const struct triage *triage)
{
	return MAX(triage->due_s - triage_now(triage), 0.0);
}

void triage_set_budget(struct triage *triage, double limit)
{
	if (limit == triage->budget.limit)
		return;
	budget_set_limit(&triage->budget, limit);
	if (triage->polled_s >= 0)
		triage->due_s =
			MIN(triage->due_s, triage->polled_s + budget_pause_s(&triage->budget));
}

/* Returns 0.8 to 1.2; the state is Weyl's sequence. */
static double next_variation(struct triage *triage)
{
	triage->random += 0x9e3779b97f4a7c15u;
	return 0.8 + 0.4 * (double)(hash_mix(triage->random) >> 11) / 9007199254740992.0;
}

/* The budget learns at polls only of time spent since. */
static double balance_s(const struct triage *triage)
{
	double spent_s = triage->escalation_cpu_s + triage->probe_s + triage->sampling_s -
			 triage->budget.last_cost.escalation_s;

	return triage->budget.credit_s - MAX(spent_s, 0.0);
}

double triage_credit_s(const struct triage *triage)
{
	return MAX(balance_s(triage), 0.0);
}

double triage_spare_s(const struct triage *triage)
{
	return MAX(balance_s(triage) - triage->stacks_reserve_s, 0.0);
}

static void log_step(const struct triage *triage)
{
	const struct budget *budget = &triage->budget;

	log_info(
		"triage used %.2g %% of a core of the %.3g %% of --budget: polling every %.3g s%s%s",
		100 * budget->used, 100 * budget->limit, budget->pause_s * budget_stretch(budget),
		budget_counts_mappings(budget) ? "" : ", not counting mappings",
		budget_counts_files(budget) ? "" : ", nor open files");
}

static struct budget_cost cost_now(const struct triage *triage)
{
	return (struct budget_cost){
		.polling_s = triage_cpu_s() - triage->escalation_cpu_s,
		.escalation_s = triage->escalation_cpu_s + triage->probe_s + triage->sampling_s,
	};
}

int triage_poll(struct triage *triage)
{
	struct reading_effort effort = {
		.files = budget_counts_files(&triage->budget),
		.mappings = budget_counts_mappings(&triage->budget),
		.admission_s = budget_admission_s(&triage->budget),
	};
	double now_s = triage_now(triage);
	struct budget_cost cost;
	int error;

	if (triage->polled_s < 0) {
		cost = cost_now(triage);
		budget_begin(&triage->budget, now_s, &cost);
	}
	error = population_poll(&triage->population, now_s, &effort);

	if (!error)
		error = groups_poll(&triage->groups, &triage->population, now_s);
	if (!error)
		error = limits_poll(&triage->limits, &triage->groups, now_s);
	if (!error)
		error = machine_poll(&triage->machine, now_s);
	if (error) {
		log_error("cannot poll /proc: %s%s", strerror(-error),
			  error == -ENOMEM ? "" : "; is it mounted?");
		return error;
	}
	if (triage->polled_s < 0 && triage->population.hidden)
		log_warning(
			"/proc hides processes of other users (hidepid): they are not judged; run leakmon as root, or in its gid= group");
	triage->polled_s = now_s;
	cost = cost_now(triage);
	if (budget_account(&triage->budget, triage_now(triage), &cost))
		log_step(triage);
	triage->due_s = now_s + budget_pause_s(&triage->budget) * next_variation(triage);
	return 0;
}
