// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/sampling_state.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "probe/privileges.h"
#include "proc/pid_namespace.h"

/* Below this confidence a suspect is not worth its probes. */
#define CONFIDENCE_MIN 0.5
/* Of page faults that are not sampled, most are to be passed over by the kernel itself, which takes
 * each N-th. The last factor is left to chance: programs have rhythms. */
#define CHANCE_MIN 8
/* Where a new period is not worth the trouble. */
#define PERIOD_SLACK 4
/* One sample, with its stack walk: what `make bench` measures for an allocation, and more. */
#define SAMPLE_COST_S 5.0e-6
/* Loading the programs, and the unwind rows of a first suspect, of ours. */
#define SETUP_COST_S 0.25
/* A process that stops growing for a moment stays. */
#define UNSUSPECTED_REPORTS 3
#define LAST_LINES_WAIT_MS 2000

static const unsigned sample_kinds[] = {
	[QUANTITY_HEAP] = LM_SAMPLE_FAULT,
	[QUANTITY_MAPPING] = LM_SAMPLE_MAPPING,
	[QUANTITY_THREADS] = LM_SAMPLE_THREAD,
	[QUANTITY_FILES] = 0, /* nothing to probe: /proc tells */
};
_Static_assert(ARRAY_SIZE(sample_kinds) == QUANTITY_MAX_, "a row for every quantity");

struct sampling *sampling_new(const struct options *options, struct triage *triage)
{
	struct sampling *sampling = calloc(1, sizeof(*sampling));

	if (!sampling)
		return NULL;
	sampling->options = options;
	sampling->triage = triage;
	return sampling;
}

/* --- the programs --- */

static struct sampled *sampled_find(struct sampling *sampling, pid_t pid)
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
	sampled = sampled_find(sampling, (pid_t)(from->process >> 32));
	if (sampled && sample_kinds[sampled->kind] == from->kind) {
		struct sample sample = {.address = from->address,
					.length = from->length,
					.weight = (double)from->weight,
					.site = from->site};

		if (from->kind == LM_SAMPLE_FAULT)
			sample.address &= ~UINT64_C(4095);
		samples_add(&sampled->samples, &sample);
	}
	return 0;
}

static void refresh(struct sampling *sampling, pid_t pid)
{
	unwind_store_refresh(sampling->unwind, pid);
	symbolizer_refresh(sampling->symbolizer, (uint64_t)pid, pid);
}

/* Code whose unwind rows are missing. */
static void on_event(const struct lm_event *event, void *context)
{
	struct sampling *sampling = context;
	pid_t pid = (pid_t)(event->process >> 32);

	if (event->type == LM_EVENT_NO_ROWS && sampled_find(sampling, pid))
		refresh(sampling, pid);
}

static void unload(struct sampling *sampling)
{
	ring_buffer__free(sampling->ring);
	events_free(sampling->events);
	symbolizer_free(sampling->symbolizer);
	worker_free(sampling->worker);
	unwind_store_free(sampling->unwind);
	if (sampling->side.skeleton)
		suspect_loader_close(&sampling->side);
	sampling->ring = NULL;
	sampling->events = NULL;
	sampling->symbolizer = NULL;
	sampling->worker = NULL;
	sampling->unwind = NULL;
	sampling->loaded = false;
}

static int open_stages(struct sampling *sampling)
{
	sampling->worker = worker_new(NULL);
	sampling->symbolizer = sampling->worker ? symbolizer_new(sampling->worker) : NULL;
	sampling->unwind =
		sampling->worker ? unwind_store_new(&sampling->side.bpf, sampling->worker) : NULL;
	sampling->ring = ring_buffer__new(sampling->side.samples_fd, on_sample, sampling, NULL);
	sampling->events = events_new(&sampling->side.bpf, on_event, sampling);
	return sampling->symbolizer && sampling->unwind && sampling->ring && sampling->events
		       ? 0
		       : -ENOMEM;
}

/* Why it cannot be, for the reports; more of it is logged, once. */
static const char *explain(int error)
{
	char missing[128];

	privileges_missing(missing, sizeof(missing));
	if (error == -ENOMEM)
		return "out of memory";
	if (error == -EPERM || *missing) {
		log_warning("call stacks of suspects are not sampled: missing %s; run leakmon as "
			    "root, or give --no-stacks",
			    *missing ? missing : "privileges");
		return "leakmon lacks the privileges";
	}
	log_warning("call stacks of suspects are not sampled: the kernel refused the programs "
		    "(%s); -v shows its own words",
		    strerror(-error));
	return "this kernel refused the programs";
}

static int load(struct sampling *sampling)
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
	error = suspect_loader_open(&sampling->side, sampling->options->stack_walk);
	if (!error)
		error = open_stages(sampling);
	sampling->loaded = !error;
	if (!error)
		return 0;
	sampling->refusal = explain(error);
	unload(sampling);
	return error;
}

/* --- suspects --- */

static void sampled_stop(struct sampling *sampling, struct sampled *sampled)
{
	fault_events_close(&sampled->faults);
	if (sampled->followed) {
		suspect_loader_forget(&sampling->side, sampled->pid);
		symbolizer_forget(sampling->symbolizer, (uint64_t)sampled->pid);
		unwind_store_forget(sampling->unwind, sampled->pid);
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

/* 0, or why it cannot be followed. */
static const char *follow(struct sampling *sampling, struct sampled *sampled)
{
	struct lm_suspect suspect = {.kind = sample_kinds[sampled->kind], .every = 1};
	int error;

	if (!suspect.kind)
		return NULL;
	if (triage_credit_s(sampling->triage) < SETUP_COST_S)
		return "--budget has to save up for it";
	if (load(sampling))
		return sampling->refusal;
	refresh(sampling, sampled->pid);
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
	samples_free(&sampled->samples);
	sampled->result.why = follow(sampling, sampled);
	sampled->begin_s = triage_now(sampling->triage);
	sampled->value_begin = member_value_now(member, sampled->kind);
	sampled->orphans_begin = sampled_orphans(member);
	sampled->lost_before = sampling->loaded ? *sampling->side.samples_lost : 0;
	if (sampled->kind == QUANTITY_FILES) {
		file_kinds_free(&sampled->files_before);
		file_kinds_read(&sampled->files_before, sampled->pid, sampled->value_begin);
	}
}

static bool is_worth_it(const struct triage_entry *entry)
{
	return trend_is_suspect(entry->growth.verdict) &&
	       entry->growth.confidence >= CONFIDENCE_MIN;
}

static void add_suspect(struct sampling *sampling, const struct triage_entry *entry)
{
	struct member *member = population_find(&sampling->triage->population, entry->pid);
	struct sampled **slot = NULL;

	for (size_t i = 0; i < SAMPLING_SUSPECTS && !slot; i++)
		slot = sampling->list[i] ? NULL : &sampling->list[i];
	if (!member || !slot)
		return;
	*slot = calloc(1, sizeof(**slot));
	if (!*slot)
		return;
	(*slot)->pid = entry->pid;
	(*slot)->start_ticks = member->reading.start_ticks;
	(*slot)->kind = entry->growth.kind;
	(*slot)->result.kind = entry->growth.kind;
	sampled_begin(sampling, *slot, member);
}

/* Whether the report still suspects it, of the same. */
static bool is_suspected(const struct sampled *sampled, const struct triage_report *report)
{
	for (size_t i = 0; i < report->processes.count; i++) {
		const struct triage_entry *entry = &report->processes.items[i];

		if (entry->pid == sampled->pid)
			return is_worth_it(entry) && entry->growth.kind == sampled->kind;
	}
	return false;
}

/* One that waits for the budget tries again; one that has used it up waits. */
static void resume_or_pause(struct sampling *sampling, struct sampled *sampled,
			    const struct member *member)
{
	double credit_s = triage_credit_s(sampling->triage);

	if (sampled->followed && credit_s <= 0) {
		sampled_stop(sampling, sampled);
		sampled->result.why = "--budget is used up; it goes on when there is more";
	} else if (!sampled->followed && sample_kinds[sampled->kind] && !sampling->refusal &&
		   credit_s >= SETUP_COST_S) {
		sampled_begin(sampling, sampled, member);
	}
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
			resume_or_pause(sampling, sampled, member);
			continue;
		}
		sampled_free(sampling, sampled);
		sampling->list[i] = NULL;
	}
}

static unsigned kinds_followed(const struct sampling *sampling)
{
	unsigned kinds = 0;

	for (size_t i = 0; i < SAMPLING_SUSPECTS; i++) {
		const struct sampled *sampled = sampling->list[i];

		if (sampled && sampled->followed)
			kinds |= 1u << sample_kinds[sampled->kind];
	}
	return kinds;
}

void sampling_update(struct sampling *sampling, const struct triage_report *report)
{
	double before_s = triage_cpu_s();

	review(sampling, report);
	for (size_t i = 0; i < report->processes.count; i++) {
		const struct triage_entry *entry = &report->processes.items[i];

		if (is_worth_it(entry) && !sampled_find(sampling, entry->pid))
			add_suspect(sampling, entry);
	}
	if (sampling->loaded && !kinds_followed(sampling))
		unload(sampling);
	else if (sampling->loaded)
		suspect_loader_release(&sampling->side, kinds_followed(sampling));
	sampling->triage->escalation_cpu_s += triage_cpu_s() - before_s;
}

/* --- samples --- */

/* Lets the kernel pass over more faults, or fewer, before a program runs. */
static void adapt_period(struct sampling *sampling, struct sampled *sampled)
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

void sampling_consume(struct sampling *sampling)
{
	double before_s = triage_cpu_s();

	if (!sampling->loaded)
		return;
	ring_buffer__consume(sampling->ring);
	events_consume(sampling->events);
	for (size_t i = 0; i < SAMPLING_SUSPECTS; i++) {
		struct sampled *sampled = sampling->list[i];

		if (sampled && sampled->followed && sampled->faults.fds.count)
			adapt_period(sampling, sampled);
	}
	sampling->triage->escalation_cpu_s += triage_cpu_s() - before_s;
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
	double before_s;

	sampling_consume(sampling);
	before_s = triage_cpu_s();
	if (sampling->loaded)
		symbolizer_find_lines(sampling->symbolizer, 0);
	examine_all(sampling);
	/* Lines come with a later report; after the last one there is none. */
	if (sampling->loaded && last) {
		symbolizer_find_lines(sampling->symbolizer, LAST_LINES_WAIT_MS);
		examine_all(sampling);
	}
	if (sampling->loaded)
		symbolizer_release_lines(sampling->symbolizer);
	sampling->triage->escalation_cpu_s += triage_cpu_s() - before_s;
}

void sampling_free(struct sampling *sampling)
{
	if (!sampling)
		return;
	for (size_t i = 0; i < SAMPLING_SUSPECTS; i++) {
		if (sampling->list[i])
			sampled_free(sampling, sampling->list[i]);
	}
	unload(sampling);
	free(sampling);
}
