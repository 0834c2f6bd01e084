// SPDX-License-Identifier: GPL-2.0-or-later
/* One suspect: the probes that are put in for it, and taken out again. */
#include "command/sampling_state.h"

#include <bpf/bpf.h>
#include <errno.h>

#include "base/cleanup.h"

/* Of page faults that are not sampled, most are to be passed over by the kernel itself, which takes
 * each N-th. The last factor is left to chance: programs have rhythms. */
#define CHANCE_MIN 8
/* Where a new period is not worth the trouble. */
#define PERIOD_SLACK 4
/* Loading the programs, and the unwind rows of a first suspect, of ours. */
#define SETUP_COST_S 0.25

static const unsigned sample_kinds[] = {
	[QUANTITY_HEAP] = LM_SAMPLE_FAULT,
	[QUANTITY_MAPPING] = LM_SAMPLE_MAPPING,
	[QUANTITY_THREADS] = LM_SAMPLE_THREAD,
	[QUANTITY_FILES] = 0, /* nothing to probe: /proc tells */
};
_Static_assert(ARRAY_SIZE(sample_kinds) == QUANTITY_MAX_, "a row for every quantity");

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

void sampled_free(struct sampling *sampling, struct sampled *sampled)
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

/* NULL, or why it cannot be followed. */
static const char *follow(struct sampling *sampling, struct sampled *sampled)
{
	struct lm_suspect suspect = {.kind = sampled->probes, .every = 1};
	int error;

	if (!suspect.kind)
		return NULL;
	if (triage_credit_s(sampling->triage) < SETUP_COST_S)
		return "--budget has to save up for it";
	if (sampling_load(sampling))
		return sampling->refusal;
	sampling_refresh(sampling, sampled->pid);
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

struct sampled *sampled_new(struct sampling *sampling, const struct member *member,
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

void sampled_resume_or_pause(struct sampling *sampling, struct sampled *sampled,
			     const struct member *member)
{
	double credit_s = triage_credit_s(sampling->triage);

	if (sampled->followed && credit_s <= 0) {
		sampled_stop(sampling, sampled);
		sampled->result.why = "--budget is used up; it goes on when there is more";
	} else if (!sampled->followed && sampled->probes && !sampling->refusal &&
		   credit_s >= SETUP_COST_S) {
		sampled_begin(sampling, sampled, member);
	}
}

void sampled_adapt_period(struct sampling *sampling, struct sampled *sampled)
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
