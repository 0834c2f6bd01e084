// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/trace.h"

#include <inttypes.h>

#include "parse/allocators.h"

void trace_print(FILE *out, const struct lm_event *event)
{
	const char *name = event->function < allocator_function_count
				   ? allocator_functions[event->function].name
				   : "?";
	const char *verb = event->type == LM_EVENT_ALLOCATE ? "allocated" : "freed";

	if (event->type != LM_EVENT_ALLOCATE && event->type != LM_EVENT_FREE)
		return;
	fprintf(out, "%.6f pid %u tid %u %s %s %llu bytes at %#llx\n", (double)event->time_ns / 1e9,
		(unsigned)(event->process >> 32), event->tid, name, verb,
		(unsigned long long)event->size, (unsigned long long)event->address);
}

void trace_print_lost(FILE *out, uint64_t calls)
{
	fprintf(out, "lost: %" PRIu64 " calls came faster than they could be written\n", calls);
}
