// SPDX-License-Identifier: GPL-2.0-or-later
/* Who is sampled, and for how long. */
#include "command/sampling_state.h"

#include <bpf/libbpf.h>

#include "base/cleanup.h"

/* A process that stops growing for a moment stays. */
#define UNSUSPECTED_REPORTS 3
#define LAST_LINES_WAIT_MS 2000

struct sampling *sampling_new(const struct options *options, struct triage *triage)
{
	struct sampling *sampling = calloc(1, sizeof(*sampling));

	if (!sampling)
		return NULL;
	sampling->options = options;
	sampling->triage = triage;
	return sampling;
}

static void add_suspect(struct sampling *sampling, const struct triage_entry *entry)
{
	struct member *member = population_find(&sampling->triage->population, entry->pid);
	struct sampled **slot = NULL;

	for (size_t i = 0; i < SAMPLING_SUSPECTS && !slot; i++)
		slot = sampling->list[i] ? NULL : &sampling->list[i];
	if (member && slot)
		*slot = sampled_new(sampling, member, entry->growth.kind);
}

/* Whether the report still suspects it, of the same. */
static bool is_suspected(const struct sampled *sampled, const struct triage_report *report)
{
	for (size_t i = 0; i < report->processes.count; i++) {
		const struct triage_entry *entry = &report->processes.items[i];

		if (entry->pid == sampled->pid)
			return growth_is_worth_probes(&entry->growth) &&
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
			kinds |= 1u << sampled->probes;
	}
	return kinds;
}

void sampling_update(struct sampling *sampling, const struct triage_report *report)
{
	double before_s = triage_cpu_s();

	review(sampling, report);
	for (size_t i = 0; i < report->processes.count; i++) {
		const struct triage_entry *entry = &report->processes.items[i];

		if (growth_is_worth_probes(&entry->growth) && !sampling_find(sampling, entry->pid))
			add_suspect(sampling, entry);
	}
	if (sampling->loaded && !kinds_followed(sampling))
		sampling_unload(sampling);
	else if (sampling->loaded)
		suspect_loader_release(&sampling->side, kinds_followed(sampling));
	sampling->triage->escalation_cpu_s += triage_cpu_s() - before_s;
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
			sampled_adapt_period(sampling, sampled);
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
	sampling_unload(sampling);
	free(sampling);
}
