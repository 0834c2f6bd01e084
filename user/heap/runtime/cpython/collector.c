// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The collector of each interpreter: whether it is off (gc.disable()), and its frozen objects,
 * ignored for good (gc.freeze()).
 *
 * struct _gc_runtime_state (Include/internal/pycore_gc.h, pycore_interp_structs.h): the generations
 * are rings of PyGC_Head; generation0 points to the first of them.
 */
#include "base/cleanup.h"
#include "heap/runtime/cpython/cpython.h"

/* Returns the offsets that fit the collector, which points into itself; NULL: none do. */
static const struct cpython_collector *places_of(struct cpython *python, uint64_t collector)
{
	for (size_t i = 0; i < CPYTHON_COLLECTORS; i++) {
		const struct cpython_collector *places = &python->layout->collectors[i];

		if (places->first && target_word(python->memory, collector + places->first) ==
					     collector + places->generations)
			return places;
	}
	return NULL;
}

/* Counts the objects of a ring, at most as many as nodes; a ring that does not close counts up to
 * its first implausible link. */
static void count_frozen(struct cpython *python, const struct heap_sink *sink, uint64_t ring,
			 struct walk_report *report)
{
	uint64_t at = target_word(python->memory, ring), before = ring;

	for (uint32_t i = 0; at != ring && i < sink->count; i++) {
		uint32_t node = heap_sink_node(sink, at);

		if (node == BLOCK_NONE ||
		    (target_word(python->memory, at + LINK_PREVIOUS) & ~LINK_FLAGS) != before) {
			report->nonsense++;
			return;
		}
		report->frozen++;
		report->frozen_bytes += sink->sizes[node];
		before = at;
		at = target_word(python->memory, at) & ~LINK_FLAGS;
	}
}

void cpython_collectors(struct cpython *python, const struct heap_sink *sink,
			struct walk_report *report)
{
	for (size_t i = 0; i < python->interpreters.count; i++) {
		uint64_t collector = python->interpreters.items[i] + python->layout->collector;
		const struct cpython_collector *places = places_of(python, collector);
		int32_t enabled;

		if (!places || target_read(python->memory, collector + places->enabled, &enabled,
					   sizeof(enabled)))
			continue;
		report->collector_off |= !enabled;
		count_frozen(python, sink, collector + places->permanent, report);
	}
}
