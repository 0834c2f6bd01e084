// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Threads of a JVM, virtual ones, and dead ThreadLocals: a small handmade heap, in which the input
 * changes words. Groups must have as many threads as the total.
 *
 * Input: see forged_input.h.
 *
 * Seeds: one change.
 */
#include "heap/runtime/hotspot/reader.h"
#include "heap/runtime/target_memory.h"
#include "unit/hotspot_fixture.h"

#include "fuzz/forged_input.h"

static bool is_sound(const struct java_thread_report *java, const struct task_report *virtual)
{
	uint64_t threads = 0, tasks = 0, gone = 0;

	for (size_t i = 0; i < java->groups.count; i++)
		threads += java->groups.items[i].count;
	for (size_t i = 0; i < virtual->groups.count; i++)
		tasks += virtual->groups.items[i].count;
	for (size_t i = 0; i < java->gone.count; i++)
		gone += java->gone.items[i].count;
	return threads == java->count && tasks == virtual->count && gone <= java->gone_count &&
	       virtual->members.count == virtual->count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct forged *forged = forged_input(data, size);
	struct java_thread_report java = {0};
	struct task_report virtual = {0};
	struct target_memory memory;

	if (target_memory_open(&forged->memory.maps, &forged->memory.modules, NULL, &memory) ||
	    java_threads_of(&memory, &java, &virtual) || !is_sound(&java, &virtual))
		abort();
	java_thread_report_free(&java);
	task_report_free(&virtual);
	target_memory_close(&memory);
	return 0;
}
