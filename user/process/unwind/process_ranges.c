// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/unwind/process_ranges.h"

#include <errno.h>

#include "base/cleanup.h"
#include "base/interrupt.h"
#include "base/sandbox/worker.h"

/* The ranges of the mappings. */
struct listed {
	VEC(struct lm_range) ranges;
	VEC(struct dso *) held;
};

struct process_ranges *process_ranges_new(void)
{
	struct process_ranges *ranges = calloc(1, sizeof(*ranges));

	if (ranges)
		ranges->array.fd = -1;
	return ranges;
}

static void release_all(struct row_modules *modules, struct dso **held, size_t count)
{
	for (size_t i = 0; i < count; i++)
		dso_release(modules->dsos, held[i], DSO_ROWS);
}

void process_ranges_free(struct process_ranges *ranges, struct row_modules *modules)
{
	release_all(modules, ranges->held.items, ranges->held.count);
	vec_free(&ranges->held);
	row_sets_release(&modules->sets, ranges->made.set);
	row_sets_release(&modules->sets, ranges->next.set);
	range_array_close(&ranges->array);
	free(ranges);
}

int process_ranges_set_made(struct process_ranges *ranges, const struct unwind_table *table,
			    uint64_t end, struct row_modules *modules)
{
	struct row_set *set = NULL;
	int error = row_sets_hold(&modules->sets, table, "", &set);

	if (error)
		return error;
	row_sets_release(&modules->sets, ranges->next.set);
	ranges->next = (struct made_range){table->base, end, set};
	return 0;
}

static bool is_made(const struct made_range *made, const struct mapping *mapping)
{
	return made->set && !mapping->inode && mapping->start >= made->start &&
	       mapping->start < made->end;
}

/* One range for all of it, including unmapped parts: more code comes at any time. */
static void list_made(struct listed *listed, const struct made_range *made, struct lm_range *range)
{
	size_t last = listed->ranges.count - 1;

	if (last && listed->ranges.items[last - 1].start == made->start) {
		listed->ranges.count = last;
		return;
	}
	*range = (struct lm_range){.start = made->start,
				   .end = made->end,
				   .bias = made->start,
				   .module = made->set->index};
}

/* Returns NULL if there is none, or no memory to record the hold. */
static const struct row_module *hold_module(struct listed *listed, struct row_modules *modules,
					    const struct process *process,
					    const struct mapping *mapping)
{
	struct dso *dso, **place;

	if (!mapping->inode && !dso_is_vdso(mapping))
		return NULL;
	dso = process_dso(modules->dsos, process, mapping, DSO_ROWS);
	place = dso ? vec_push(&listed->held) : NULL;
	if (!place) {
		if (dso)
			dso_release(modules->dsos, dso, DSO_ROWS);
		return NULL;
	}
	*place = dso;
	return row_modules_get(modules, dso, process->maps.source.task, mapping);
}

/* Code without rows gets a range, too: the walk continues there by frame pointer. */
static int list_mapping(struct listed *listed, struct row_modules *modules,
			const struct process *process, const struct mapping *mapping,
			const struct made_range *made)
{
	const struct row_module *module;
	struct lm_range *range;
	uint64_t vaddr;

	if (listed->ranges.count >= LM_MAX_RANGES)
		return 0;
	range = vec_push(&listed->ranges);
	if (!range)
		return -ENOMEM;
	*range = (struct lm_range){
		.start = mapping->start, .end = mapping->end, .module = LM_MODULE_NONE};
	if (is_made(made, mapping)) {
		list_made(listed, made, range);
		return 0;
	}
	module = hold_module(listed, modules, process, mapping);
	if (!module || !module->set || row_module_vaddr(module, mapping, &vaddr))
		return 0;
	range->bias = mapping->start - (vaddr - module->base);
	range->module = module->set->index;
	return 0;
}

static int list_code(struct listed *listed, struct row_modules *modules,
		     const struct process *process, const struct made_range *made)
{
	int error = 0;

	for (size_t i = 0; i < process->maps.list.count && !error; i++) {
		const struct mapping *mapping = &process->maps.list.items[i];

		error = interrupt_check();
		if (!error && mapping->executable)
			error = list_mapping(listed, modules, process, mapping, made);
	}
	return error;
}

static int load(struct process_ranges *ranges, const struct process *process,
		struct row_modules *modules, enum ranges_change *change)
{
	struct listed listed = {0};
	bool fresh = false;
	int error = list_code(&listed, modules, process,
			      ranges->next.set ? &ranges->next : &ranges->made);

	if (!error)
		error = range_array_write(&ranges->array, listed.ranges.items,
					  (uint32_t)listed.ranges.count, &fresh);
	vec_free(&listed.ranges);
	if (error) {
		release_all(modules, listed.held.items, listed.held.count);
		vec_free(&listed.held);
		return error;
	}
	release_all(modules, ranges->held.items, ranges->held.count);
	vec_free(&ranges->held);
	ranges->held.items = listed.held.items;
	ranges->held.count = listed.held.count;
	ranges->held.capacity = listed.held.capacity;
	*change = fresh ? RANGES_FRESH : RANGES_WRITTEN;
	return 0;
}

int process_ranges_refresh(struct process_ranges *ranges, const struct process *process,
			   struct row_modules *modules, enum ranges_change *change)
{
	int error;

	worker_begin_process(modules->worker, process->pid);
	*change = RANGES_SAME;
	if (ranges->array.fd >= 0 && ranges->generation == process->generation && !ranges->next.set)
		return 0;
	error = load(ranges, process, modules, change);
	if (error)
		return error;
	ranges->generation = process->generation;
	if (ranges->next.set) { /* no new walk uses the earlier ones */
		row_sets_release(&modules->sets, ranges->made.set);
		ranges->made = ranges->next;
		ranges->next = (struct made_range){0};
	}
	return 0;
}
