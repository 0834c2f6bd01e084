// SPDX-License-Identifier: GPL-2.0-or-later
#include "triage/managed_look.h"

#include "base/cleanup.h"
#include "memory/smaps.h"
#include "runtime/runtime.h"

/* Suspects that are looked at, by rank, and the seconds between two looks at one. */
#define SUSPECTS 5
#define PAUSE_S 10.0

/* What one look may cost: it is left out where the budget has not saved up as much. */
#define LOOK_S 0.005

static uint64_t bytes_of(const struct smaps_entry *entry)
{
	return entry->figures.anonymous + entry->figures.swap;
}

/* What a memfd holds is shared memory, and no anonymous one. */
static uint64_t heap_bytes_of(const struct smaps_entry *entry)
{
	return (entry->mapping.shared ? entry->figures.rss : entry->figures.anonymous) +
	       entry->figures.swap;
}

static void first_look(struct managed_growth *managed, double now_s)
{
	managed->first_s = now_s;
	managed->heap_grown = managed->all_grown = 0;
}

static int look(struct member *member, double now_s)
{
	_cleanup_(smaps_free) struct smaps smaps = {0};
	struct managed_growth *managed = &member->managed;
	_cleanup_(runtime_heap_free) struct runtime_heap known = {0};
	uint64_t heap = 0, all = 0;
	struct runtime_label runtime;
	int error = smaps_read(member->reading.pid, member->reading.pid, &smaps);

	if (!error && smaps.list.count)
		error = runtime_heap_find(&smaps.list.items->mapping, smaps.list.count,
					  sizeof(*smaps.list.items), &known);
	if (error)
		return error;
	runtime = runtime_label_of(known.runtime);
	for (size_t i = 0; i < smaps.list.count; i++) {
		const struct smaps_entry *entry = &smaps.list.items[i];

		if (runtime_heap_owns(&known, &entry->mapping))
			heap += heap_bytes_of(entry);
		all += bytes_of(entry);
	}
	if (!managed->last_s || managed->runtime.key != runtime.key) {
		first_look(managed, now_s);
	} else {
		managed->heap_grown += (int64_t)(heap - managed->heap);
		managed->all_grown += (int64_t)(all - managed->all);
	}
	managed->runtime = runtime;
	managed->heap = heap;
	managed->all = all;
	managed->last_s = now_s;
	return 0;
}

static bool is_due(const struct triage *triage, const struct member *member, double now_s)
{
	return (!member->managed.last_s || now_s - member->managed.last_s >= PAUSE_S) &&
	       triage_credit_s(triage) >= LOOK_S;
}

void managed_look(struct triage *triage, struct triage_report *report)
{
	double now_s = triage_now(triage);
	size_t suspects = 0;

	for (size_t i = 0; i < report->processes.count && suspects < SUSPECTS; i++) {
		struct triage_entry *entry = &report->processes.items[i];
		struct member *member;

		if (entry->growth.kind != QUANTITY_HEAP ||
		    (!trend_is_suspect(entry->growth.verdict) && !growth_is_early(&entry->growth)))
			continue;
		member = population_find(&triage->population, entry->pid);
		if (!member)
			continue;
		suspects++;
		if (is_due(triage, member, now_s))
			look(member, now_s);
		if (member->managed.runtime.key)
			entry->managed = &member->managed;
	}
}
