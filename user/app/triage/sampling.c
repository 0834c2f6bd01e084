// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/triage/sampling.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/page.h"
#include "trace/collect/event_streams.h"
#include "app/monitor/stages.h"
#include "trace/probe/fault_events.h"
#include "trace/probe/privileges.h"
#include "trace/probe/suspect_loader.h"
#include "process/proc/maps.h"
#include "process/proc/process_list.h"
#include "app/triage/attribute.h"
#include "process/proc/file_kinds.h"
#include "app/triage/process_reading.h"
#include "app/triage/samples.h"

/* State of sampling, for its parts. Internal to sampling*.c. */

/* The number of suspects sampled at once: the top of the ranking. */
#define SAMPLING_SUSPECTS 10

struct ring_buffer;

/* A suspect's amounts at one moment. */
struct sampled_count {
	double value; /* of the growing quantity; NAN: unavailable */
	/* stacks beyond those of live threads; NAN: unavailable or not meaningful */
	double orphans;
};

struct sampled {
	pid_t pid;
	uint64_t start_ticks;
	enum quantity kind;
	double begin_s;
	struct sampled_count before; /* when sampling began */
	unsigned probes;	     /* LM_SAMPLE_*; 0: none, see /proc */
	struct fault_events faults;
	bool followed; /* probes are attached */
	struct samples samples;
	uint64_t lost_before; /* samples_lost when sampling began */
	struct file_kinds files_before;
	double files_read_s;
	unsigned unsuspected; /* reports in a row */
	struct triage_samples result;
	double result_s; /* when its stacks were last examined */
};

struct sampling {
	enum lm_stack_walk stack_walk;
	struct triage *triage;
	struct sampled *list[SAMPLING_SUSPECTS]; /* NULL: a free slot */
	/* Loaded while the list has suspects: names belong to the stages. */
	bool loaded;
	const char *refusal; /* why nothing can be sampled, once tried */
	struct suspect_side side;
	struct ring_buffer *ring;
	struct events *events;
	struct stages stages;
	double charged_s; /* triage_cpu_s() up to which our own time has been charged */
};

static int sampled_count(const struct sampled *sampled, const struct member *member,
			 struct sampled_count *count, struct maps *maps);

/*
 * The sampling programs and their user-space stages. They stay loaded while all suspects wait for
 * the budget: idle they cost nothing, and loading is most of the cost of a restart.
 */

/*
 * One sample: the program with its stack walk takes 6.4 µs (kernel.bpf_stats_enabled, on a machine
 * with cold caches); the rest is for the event before it.
 */
#define SAMPLE_COST_S 8.0e-6

static void charge_begin(struct sampling *sampling)
{
	sampling->charged_s = triage_cpu_s();
}

/* Charges our time so far; also between two suspects, so that the next one has less to spend. */
static void charge(struct sampling *sampling)
{
	double now_s = triage_cpu_s();

	sampling->triage->escalation_cpu_s += now_s - sampling->charged_s;
	sampling->charged_s = now_s;
}

/* Returns the sampled suspect with this pid, or NULL. */
static struct sampled *sampling_find(struct sampling *sampling, pid_t pid)
{
	for (size_t i = 0; i < SAMPLING_SUSPECTS; i++) {
		if (sampling->list[i] && sampling->list[i]->pid == pid)
			return sampling->list[i];
	}
	return NULL;
}

static int on_sample(void *context, void *data, size_t size)
{
	struct sampling *sampling = context;
	const struct lm_sample *from = data;
	struct sampled *sampled;

	if (size < sizeof(*from))
		return 0;
	sampling->triage->sampling_s += SAMPLE_COST_S;
	sampled = sampling_find(sampling, (pid_t)(from->process >> 32));
	if (sampled && sampled->probes == from->kind) {
		struct sample sample = {.address = from->address,
					.length = from->length,
					.weight = (double)from->weight,
					.site = from->site};

		if (from->kind == LM_SAMPLE_FAULT)
			sample.address = page_down(sample.address);
		samples_add(&sampled->samples, &sample);
	}
	return 0;
}

/* Refreshes a process whose mappings have changed. Needs the loaded programs. */
static void sampling_refresh(struct sampling *sampling, pid_t pid, bool rows)
{
	struct process *process;
	int error = process_table_refresh(sampling->stages.processes, pid, &process);

	if (!error && rows) {
		made_codes_refresh(sampling->stages.codes, process);
		unwind_store_refresh(sampling->stages.unwind, process);
	}
	if (!process)
		return;
	symbolizer_refresh(sampling->stages.symbolizer, (uint64_t)pid, process);
	pythons_refresh(sampling->stages.pythons, process);
}

/* Handles code without unwind rows. */
static void on_event(const struct lm_event *event, void *context)
{
	struct sampling *sampling = context;
	pid_t pid = (pid_t)(event->process >> 32);

	if (event->type == LM_EVENT_NO_ROWS && sampling_find(sampling, pid))
		sampling_refresh(sampling, pid, true);
}

static void sampling_unload(struct sampling *sampling)
{
	ring_buffer__free(sampling->ring);
	events_free(sampling->events);
	stages_close(&sampling->stages);
	if (sampling->side.skeleton)
		suspect_loader_close(&sampling->side);
	sampling->ring = NULL;
	sampling->events = NULL;
	sampling->loaded = false;
}

static int open_stages(struct sampling *sampling)
{
	int error = stages_open(&sampling->stages);

	if (!error)
		error = stages_open_unwind(&sampling->stages, &sampling->side.bpf.unwind,
					   sampling->stack_walk);
	sampling->ring = ring_buffer__new(sampling->side.samples_fd, on_sample, sampling, NULL);
	sampling->events = events_new(&sampling->side.bpf, on_event, sampling);
	return !error && sampling->ring && sampling->events ? 0 : -ENOMEM;
}

/* Returns the reason for the reports; logs details once. */
static const char *explain(int error)
{
	char missing[128];

	privileges_missing(PRIVILEGES_TO_TRACK, missing, sizeof(missing));
	if (error == -ENOMEM)
		return "out of memory";
	if (error == -EPERM || *missing) {
		log_warning(
			"call stacks of suspects are not sampled: missing %s; %s, or give --no-stacks",
			*missing ? missing : "privileges", privileges_remedy());
		return "leakmon lacks the privileges";
	}
	log_warning(
		"call stacks of suspects are not sampled: the kernel refused the programs (%s); -v shows its own words",
		strerror(-error));
	return "this kernel refused the programs";
}

/*
 * Loads the programs and their stages, if not yet loaded. Returns 0 or -errno; after an error
 * sampling->refusal says why, and loading is not retried.
 */
static int sampling_load(struct sampling *sampling)
{
	int error;

	if (sampling->loaded)
		return 0;
	if (sampling->refusal)
		return -EOPNOTSUPP;
	if (pid_namespace_is_own()) {
		sampling->refusal = "leakmon runs in a PID namespace of its own";
		return -EOPNOTSUPP;
	}
	error = suspect_loader_open(&sampling->side, sampling->stack_walk);
	if (!error)
		error = open_stages(sampling);
	sampling->loaded = !error;
	if (!error)
		return 0;
	sampling->refusal = explain(error);
	sampling->triage->stacks_reserve_s = 0;
	sampling_unload(sampling);
	return error;
}

/* One suspect: its probes are attached and detached here. */

/*
 * The kernel itself should skip most page faults that are not sampled: it takes each Nth. The last
 * factor is random, because programs have rhythms.
 */
#define CHANCE_MIN 8

/* Smallest change of period worth reopening the event. */
#define PERIOD_SLACK 4

static const unsigned sample_kinds[] = {
	[QUANTITY_HEAP] = LM_SAMPLE_FAULT,
	[QUANTITY_MAPPING] = LM_SAMPLE_MAPPING,
	[QUANTITY_THREADS] = LM_SAMPLE_THREAD,
	[QUANTITY_FILES] = 0,	/* nothing to probe: see /proc */
	[QUANTITY_CHARGED] = 0, /* not probed: belongs to a group */
};

_Static_assert(ARRAY_SIZE(sample_kinds) == QUANTITY_MAX_, "a row for every quantity");

static void sampled_stop(struct sampling *sampling, struct sampled *sampled)
{
	fault_events_close(&sampled->faults);
	if (sampled->followed) {
		suspect_loader_forget(&sampling->side, sampled->pid);
		stages_forget(&sampling->stages, sampled->pid);
	}
	sampled->followed = false;
}

static void sampled_free(struct sampling *sampling, struct sampled *sampled)
{
	struct member *member = population_find_same(&sampling->triage->population, sampled->pid,
						     sampled->start_ticks);

	if (member)
		member->sampled = NULL;
	sampled_stop(sampling, sampled);
	samples_free(&sampled->samples);
	file_kinds_free(&sampled->files_before);
	triage_samples_free(&sampled->result);
	free(sampled);
}

/* Returns NULL, or the reason why it cannot be followed. */
static const char *follow(struct sampling *sampling, struct sampled *sampled)
{
	struct lm_suspect suspect = {.kind = sampled->probes, .every = 1};
	int error;

	if (!suspect.kind)
		return NULL;
	if (triage_credit_s(sampling->triage) < budget_stacks_cost_s(sampling->loaded, false))
		return "--budget has to save up for it";
	if (sampling_load(sampling))
		return sampling->refusal;
	sampling_refresh(sampling, sampled->pid, true);
	error = suspect_loader_follow(&sampling->side, sampled->pid, &suspect);
	sampled->followed = !error;
	if (!error && suspect.kind == LM_SAMPLE_FAULT)
		error = fault_events_open(&sampled->faults, sampled->pid, sampling->side.fault_fd,
					  1);
	if (error)
		sampled_stop(sampling, sampled);
	return !error		      ? NULL
	       : error == -ESRCH      ? "it has ended"
	       : error == -EOPNOTSUPP ? "this kernel has no tracepoint for it"
				      : "the kernel refused the probes";
}

static void sampled_begin(struct sampling *sampling, struct sampled *sampled,
			  const struct member *member)
{
	_cleanup_(maps_free) struct maps maps = {0};

	samples_free(&sampled->samples);
	sampled->result.why = follow(sampling, sampled);
	sampled->begin_s = triage_now(sampling->triage);
	sampled_count(sampled, member, &sampled->before, &maps);
	sampled->lost_before = sampling->loaded ? *sampling->side.samples_lost : 0;
	if (sampled->kind == QUANTITY_FILES) {
		file_kinds_free(&sampled->files_before);
		file_kinds_read(&sampled->files_before, sampled->pid, sampled->before.value);
	}
}

/*
 * Begins to sample the growing quantity of `member`. The result has the reason if it cannot.
 * Returns NULL when out of memory.
 */
static struct sampled *sampled_new(struct sampling *sampling, const struct member *member,
				   enum quantity kind)
{
	struct sampled *sampled = calloc(1, sizeof(*sampled));

	if (!sampled)
		return NULL;
	sampled->pid = member->reading.pid;
	sampled->start_ticks = member->reading.start_ticks;
	sampled->kind = sampled->result.kind = kind;
	sampled->probes = sample_kinds[kind];
	sampled_begin(sampling, sampled, member);
	return sampled;
}

/* Restarts a suspect that waits for credit when there is enough; pauses one without credit. */
static void sampled_resume_or_pause(struct sampling *sampling, struct sampled *sampled,
				    const struct member *member)
{
	double credit_s = triage_credit_s(sampling->triage);

	if (sampled->followed && credit_s <= 0) {
		sampled_stop(sampling, sampled);
		sampled->result.why = "--budget is used up; it goes on when there is more";
	} else if (!sampled->followed && sampled->probes && !sampling->refusal &&
		   credit_s >= budget_stacks_cost_s(sampling->loaded,
						    sampled->result.stacks.count > 0)) {
		sampled_begin(sampling, sampled, member);
	}
}

/* Has the kernel skip more or fewer faults before a program runs. */
static void sampled_adapt_period(struct sampling *sampling, struct sampled *sampled)
{
	uint32_t tgid = (uint32_t)sampled->pid;
	uint64_t stands_for, period;
	struct fault_events events;
	struct lm_suspect suspect;

	if (bpf_map_lookup_elem(sampling->side.suspects_fd, &tgid, &suspect))
		return;
	stands_for = (uint64_t)MAX(suspect.every, 1u) * sampled->faults.period;
	period = MAX(stands_for / CHANCE_MIN, UINT64_C(1));
	if (period < (uint64_t)PERIOD_SLACK * sampled->faults.period &&
	    period * PERIOD_SLACK > sampled->faults.period)
		return;
	period = MIN(period, UINT64_C(1) << 20);
	fault_events_close(&sampled->faults);
	suspect.every = (uint32_t)(stands_for / period);
	bpf_map_update_elem(sampling->side.suspects_fd, &tgid, &suspect, BPF_EXIST);
	if (!fault_events_open(&events, sampled->pid, sampling->side.fault_fd, (unsigned)period))
		sampled->faults = events;
}

/* Turns samples into the rows of a report: the surviving part, by stack, with names. */

#define STACKS_SHOWN 5
#define FILE_KINDS_SHOWN 5

/* Reading all descriptors takes milliseconds. */
#define FILES_PAUSE_S 5.0

/* Too few samples for percentages. */
#define SAMPLES_MIN 8

/* A shorter window explains nothing. */
#define WINDOW_MIN_S 1.0

static int attribute_samples(struct sampled *sampled, const struct maps *maps)
{
	if (sampled->kind == QUANTITY_HEAP)
		return attribute_pages(&sampled->samples, sampled->pid);
	if (sampled->kind == QUANTITY_THREADS) {
		attribute_threads(&sampled->samples, sampled->pid);
		return 0;
	}
	return attribute_mappings(&sampled->samples, maps);
}

/* Copies a stack out of the map: site and stack were written before the sample was sent. */
static int site_fill(struct site *site, const struct suspect_side *side, uint32_t index)
{
	const struct lm_site *from;
	size_t depth;

	*site = (struct site){.index = index};
	if (index == LM_SITE_LOST || index >= side->bpf.max_sites) {
		site->lost = LM_LOST_SITES_FULL;
		return 0;
	}
	from = &side->bpf.sites[index];
	depth = MIN(from->depth, (uint32_t)LM_MAX_FRAMES);
	site->end = from->end < LM_WALK_MAX_ ? from->end : LM_WALK_ROOT;
	site->addresses = calloc(MAX(depth, (size_t)1), sizeof(*site->addresses));
	if (!site->addresses)
		return -ENOMEM;
	memcpy(site->addresses, side->bpf.stacks[index].frames, depth * sizeof(*site->addresses));
	site->depth = depth;
	return 0;
}

static int stack_add(struct triage_samples *result, struct sampling *sampling, pid_t pid,
		     const struct sample_sum *sum)
{
	struct triage_stack *stack = vec_push(&result->stacks);
	int error;

	if (!stack)
		return -ENOMEM;
	stack->units = sum->units;
	stack->samples = sum->samples;
	stack->share = result->added > 0 ? sum->units / result->added : 0;
	error = site_fill(&stack->site, &sampling->side, sum->site);
	if (!error && stack->site.depth)
		error = symbolizer_name(sampling->stages.symbolizer, (uint64_t)pid,
					stack->site.addresses, stack->site.depth, LINES_KNOWN,
					&stack->named.frames);
	if (!error)
		stack->named.id = symbolizer_stack_id(&stack->named.frames);
	return error;
}

static int fill_stacks(struct triage_samples *result, struct sampling *sampling,
		       struct sampled *sampled, const struct maps *maps)
{
	_cleanup_(sample_sums_free) struct sample_sums sums = {0};
	int error = attribute_samples(sampled, maps);

	if (!error)
		error = samples_prune(&sampled->samples);
	if (!error)
		error = samples_sum(&sampled->samples, &sums);
	if (error)
		return error;
	sampling_refresh(sampling, sampled->pid, false);
	result->taken = sampled->samples.taken;
	result->lost = *sampling->side.samples_lost - sampled->lost_before;
	result->missed = sampled->faults.missed;
	result->share = result->added > 0 ? sums.units / result->added : 0;
	result->stacks_total = sums.list.count;
	if (result->taken < SAMPLES_MIN || result->window_s < WINDOW_MIN_S) {
		result->why = "too little has come so far";
		return 0;
	}
	for (size_t i = 0; i < MIN(sums.list.count, (size_t)STACKS_SHOWN) && !error; i++)
		error = stack_add(result, sampling, sampled->pid, &sums.list.items[i]);
	/* From here on the vector does not move. */
	for (size_t i = 0; i < result->stacks.count; i++)
		result->stacks.items[i].named.site = &result->stacks.items[i].site;
	return error;
}

static int by_added(const void *a, const void *b)
{
	const struct triage_file_kind *one = a, *other = b;
	int order = (one->added < other->added) - (one->added > other->added);

	return order ? order : (one->open < other->open) - (one->open > other->open);
}

static int fill_files(struct triage_samples *result, struct sampled *sampled, double now)
{
	_cleanup_(file_kinds_free) struct file_kinds kinds = {0};
	int error = file_kinds_read(&kinds, sampled->pid, now);

	for (size_t i = 0; i < kinds.list.count && !error; i++) {
		struct triage_file_kind *kind = vec_push(&result->files);

		if (!kind)
			return -ENOMEM;
		kind->name = TAKE_PTR(kinds.list.items[i].name);
		kind->open = kinds.list.items[i].open;
		kind->added = kind->open - file_kinds_open(&sampled->files_before, kind->name);
	}
	if (result->files.count)
		qsort(result->files.items, result->files.count, sizeof(*result->files.items),
		      by_added);
	/* Keep kinds of files whose number rose; if none did, the most frequent. */
	while (result->files.count > FILE_KINDS_SHOWN ||
	       (result->files.count > 1 && result->files.items[0].added > 0 &&
		result->files.items[result->files.count - 1].added <= 0))
		free(result->files.items[--result->files.count].name);
	return error;
}

/* Returns whether the suspect's quantity needs its mappings. */
static bool needs_maps(const struct sampled *sampled)
{
	return sampled->kind == QUANTITY_HEAP || sampled->kind == QUANTITY_MAPPING;
}

/*
 * Counts the quantity of a suspect. If its kind needs the mappings, they are read once and left in
 * *maps, for maps_free(). Returns 0, or -errno with *maps empty. *count is filled in any case.
 */
static int sampled_count(const struct sampled *sampled, const struct member *member,
			 struct sampled_count *count, struct maps *maps)
{
	int error = needs_maps(sampled) ? maps_read(sampled->pid, MAPS_ALL, maps) : 0;
	bool has_maps = needs_maps(sampled) && !error;

	count->value = has_maps && sampled->kind == QUANTITY_MAPPING
			       ? (double)maps->list.count
			       : member_value_now(member, sampled->kind);
	count->orphans =
		has_maps ? thread_stacks_orphaned(maps, member_value_now(member, QUANTITY_THREADS))
			 : (double)NAN;
	return error;
}

/* Memory and mappings also grow with threads that ended and were never joined. */
static void fill_orphans(struct triage_samples *result, const struct sampled *sampled,
			 const struct sampled_count *now)
{
	if (isnan(sampled->before.orphans) || isnan(now->orphans))
		return;
	result->orphans = now->orphans;
	result->orphans_added = now->orphans - sampled->before.orphans;
}

/* Turns the samples of one suspect into its result. Returns 0 or -errno. */
static int sampled_examine(struct sampling *sampling, struct sampled *sampled,
			   const struct member *member)
{
	_cleanup_(maps_free) struct maps maps = {0};
	struct sampled_count now;
	int error = 0, unreadable = sampled_count(sampled, member, &now, &maps);
	double now_s = triage_now(sampling->triage), added = now.value - sampled->before.value;
	struct triage_samples result = {
		.kind = sampled->kind,
		.window_s = now_s - sampled->begin_s,
		.added = isnan(added) ? 0 : added,
		.why = sampled->followed ? NULL : sampled->result.why,
	};

	fill_orphans(&result, sampled, &now);
	if (sampled->kind == QUANTITY_FILES) {
		if (sampled->result.files.count && now_s - sampled->files_read_s < FILES_PAUSE_S)
			return 0;
		sampled->files_read_s = now_s;
		error = fill_files(&result, sampled, now.value);
	} else if (sampled->followed) {
		error = sampled->kind == QUANTITY_MAPPING ? unreadable : 0;
		if (!error)
			error = fill_stacks(&result, sampling, sampled, &maps);
	}
	if (error) {
		triage_samples_free(&result);
		return error;
	}
	if (triage_samples_keep(&sampled->result, &result, now_s - sampled->result_s))
		return 0;
	triage_samples_free(&sampled->result);
	sampled->result = result;
	sampled->result_s = now_s;
	return 0;
}

/* The set of sampled processes, and when each enters and leaves it. */

/* A process that pauses its growth for fewer reports stays. */
#define UNSUSPECTED_REPORTS 3
#define LAST_LINES_WAIT_MS 2000

struct sampling *sampling_new(enum lm_stack_walk stack_walk, struct triage *triage)
{
	struct sampling *sampling = calloc(1, sizeof(*sampling));

	if (!sampling)
		return NULL;
	sampling->stack_walk = stack_walk;
	sampling->triage = triage;
	triage->stacks_reserve_s = budget_stacks_reserve_s();
	return sampling;
}

static void add_suspect(struct sampling *sampling, pid_t pid, enum quantity kind)
{
	struct member *member = population_find(&sampling->triage->population, pid);
	struct sampled **slot = NULL;

	for (size_t i = 0; i < SAMPLING_SUSPECTS && !slot; i++)
		slot = sampling->list[i] ? NULL : &sampling->list[i];
	if (member && slot)
		*slot = sampled_new(sampling, member, kind);
	charge(sampling);
}

/* Returns the suspected quantity of a process near a limit, or else its heap. */
static enum quantity near_kind(const struct triage_limit *near)
{
	return growth_is_worth_probes(&near->entry.growth) ? near->entry.growth.kind
							   : QUANTITY_HEAP;
}

/* Returns whether the report still suspects it of the same quantity. */
static bool is_suspected(const struct sampled *sampled, const struct triage_report *report)
{
	for (size_t i = 0; i < report->limits.count; i++) {
		if (report->limits.items[i].entry.pid == sampled->pid &&
		    near_kind(&report->limits.items[i]) == sampled->kind)
			return true;
	}
	for (size_t i = 0; i < report->processes.count; i++) {
		const struct triage_entry *entry = &report->processes.items[i];

		if (entry->pid == sampled->pid)
			return trend_is_suspect(entry->growth.verdict) &&
			       !triage_entry_is_managed(entry) &&
			       entry->growth.kind == sampled->kind;
	}
	return false;
}

static void review(struct sampling *sampling, const struct triage_report *report)
{
	for (size_t i = 0; i < SAMPLING_SUSPECTS; i++) {
		struct sampled *sampled = sampling->list[i];
		struct member *member;

		if (!sampled)
			continue;
		member = population_find_same(&sampling->triage->population, sampled->pid,
					      sampled->start_ticks);
		sampled->unsuspected = is_suspected(sampled, report) ? 0 : sampled->unsuspected + 1;
		if (member && sampled->unsuspected < UNSUSPECTED_REPORTS) {
			sampled_resume_or_pause(sampling, sampled, member);
			charge(sampling);
			continue;
		}
		sampled_free(sampling, sampled);
		sampling->list[i] = NULL;
	}
}

static bool sampling_has_suspects(const struct sampling *sampling)
{
	for (size_t i = 0; i < SAMPLING_SUSPECTS; i++) {
		if (sampling->list[i])
			return true;
	}
	return false;
}

static unsigned kinds_followed(const struct sampling *sampling)
{
	unsigned kinds = 0;

	for (size_t i = 0; i < SAMPLING_SUSPECTS; i++) {
		const struct sampled *sampled = sampling->list[i];

		if (sampled && sampled->followed)
			kinds |= 1u << sampled->probes;
	}
	return kinds;
}

void sampling_update(struct sampling *sampling, const struct triage_report *report)
{
	charge_begin(sampling);
	review(sampling, report);
	/* Processes near a limit, whatever their rank: later may be too late. */
	for (size_t i = 0; i < report->limits.count; i++) {
		pid_t pid = report->limits.items[i].entry.pid;

		if (pid && !sampling_find(sampling, pid))
			add_suspect(sampling, pid, near_kind(&report->limits.items[i]));
	}
	for (size_t i = 0; i < report->processes.count; i++) {
		const struct triage_entry *entry = &report->processes.items[i];

		if (growth_is_worth_probes(&entry->growth) && !triage_entry_is_managed(entry) &&
		    !sampling_find(sampling, entry->pid))
			add_suspect(sampling, entry->pid, entry->growth.kind);
	}
	if (sampling->loaded && !sampling_has_suspects(sampling))
		sampling_unload(sampling);
	else if (sampling->loaded)
		suspect_loader_release(&sampling->side, kinds_followed(sampling));
	charge(sampling);
}

void sampling_consume(struct sampling *sampling)
{
	if (!sampling->loaded)
		return;
	charge_begin(sampling);
	ring_buffer__consume(sampling->ring);
	events_consume(sampling->events);
	for (size_t i = 0; i < SAMPLING_SUSPECTS; i++) {
		struct sampled *sampled = sampling->list[i];

		if (sampled && sampled->followed && sampled->faults.fds.count)
			sampled_adapt_period(sampling, sampled);
	}
	charge(sampling);
}

static void examine_all(struct sampling *sampling)
{
	for (size_t i = 0; i < SAMPLING_SUSPECTS; i++) {
		struct sampled *sampled = sampling->list[i];
		struct member *member =
			sampled ? population_find_same(&sampling->triage->population, sampled->pid,
						       sampled->start_ticks)
				: NULL;

		if (member && !sampled_examine(sampling, sampled, member))
			member->sampled = &sampled->result;
	}
}

void sampling_examine(struct sampling *sampling, bool last)
{
	sampling_consume(sampling);
	charge_begin(sampling);
	if (sampling->loaded)
		symbolizer_find_lines(sampling->stages.symbolizer, 0);
	examine_all(sampling);
	/* Lines arrive with a later report; the last report waits for them. */
	if (sampling->loaded && last) {
		symbolizer_find_lines(sampling->stages.symbolizer, LAST_LINES_WAIT_MS);
		examine_all(sampling);
	}
	if (sampling->loaded)
		symbolizer_release_lines(sampling->stages.symbolizer);
	charge(sampling);
}

void sampling_free(struct sampling *sampling)
{
	if (!sampling)
		return;
	for (size_t i = 0; i < SAMPLING_SUSPECTS; i++) {
		if (sampling->list[i])
			sampled_free(sampling, sampling->list[i]);
	}
	sampling_unload(sampling);
	sampling->triage->stacks_reserve_s = 0;
	free(sampling);
}
