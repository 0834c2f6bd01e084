// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The collector of each interpreter: whether it is off (gc.disable()), and the objects that it
 * leaves alone for good (gc.freeze()).
 *
 * struct _gc_runtime_state (Include/internal/pycore_gc.h, 3.9 to 3.13): the generations are rings
 * of PyGC_Head; generation0 points to the first of them.
 */
#include "base/cleanup.h"
#include "runtime/cpython.h"

#define COLLECTOR_ENABLED 12
#define COLLECTOR_GENERATIONS 24
#define COLLECTOR_GENERATION0 96
#define COLLECTOR_PERMANENT 104

struct collector_state {
	unsigned char head[COLLECTOR_ENABLED];
	int32_t enabled;
};

/* It is where this version has it: it points into itself. */
static uint64_t collector_of(struct cpython *python, uint64_t interpreter)
{
	uint64_t collector = interpreter + python->layout->collector;

	return target_word(python->memory, collector + COLLECTOR_GENERATION0) ==
			       collector + COLLECTOR_GENERATIONS
		       ? collector
		       : 0;
}

/* A ring has no more objects than there are nodes; one that does not close counts as far as it
 * makes sense. */
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
		uint64_t collector = collector_of(python, python->interpreters.items[i]);
		struct collector_state state;

		if (!collector || target_read(python->memory, collector, &state, sizeof(state)))
			continue;
		report->collector_off |= !state.enabled;
		count_frozen(python, sink, collector + COLLECTOR_PERMANENT, report);
	}
}
