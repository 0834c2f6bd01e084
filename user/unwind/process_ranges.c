// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/process_ranges.h"

#include <errno.h>

#include "base/cleanup.h"
#include "base/interrupt.h"
#include "sandbox/worker.h"
#include "unwind/module_image.h"

/* What the mappings come to. */
struct listed {
	VEC(struct lm_range) ranges;
	VEC(struct row_module *) held;
};

struct process_ranges *process_ranges_new(void)
{
	struct process_ranges *ranges = calloc(1, sizeof(*ranges));

	if (ranges)
		ranges->array.fd = -1;
	return ranges;
}

static void release_all(struct row_modules *modules, struct row_module **held, size_t count)
{
	for (size_t i = 0; i < count; i++)
		row_modules_release(modules, held[i]);
}

void process_ranges_free(struct process_ranges *ranges, struct row_modules *modules)
{
	release_all(modules, ranges->held.items, ranges->held.count);
	vec_free(&ranges->held);
	range_array_close(&ranges->array);
	free(ranges);
}

/* NULL: there is none, or there is no memory to remember that it is held. */
static struct row_module *hold_module(struct listed *listed, struct row_modules *modules, int task,
				      const struct mapping *mapping)
{
	struct row_module *module, **place;

	if (!module_image_exists(mapping))
		return NULL;
	module = row_modules_hold(modules, task, mapping);
	place = module ? vec_push(&listed->held) : NULL;
	if (place)
		*place = module;
	else if (module)
		row_modules_release(modules, module);
	return place ? module : NULL;
}

/* Code without rows gets a range all the same: the walk goes on there by frame pointer. */
static int list_mapping(struct listed *listed, struct row_modules *modules, int task,
			const struct mapping *mapping)
{
	struct row_module *module;
	struct lm_range *range;
	uint64_t vaddr;

	if (listed->ranges.count >= LM_MAX_RANGES)
		return 0;
	range = vec_push(&listed->ranges);
	if (!range)
		return -ENOMEM;
	*range = (struct lm_range){
		.start = mapping->start, .end = mapping->end, .module = LM_MODULE_NONE};
	module = hold_module(listed, modules, task, mapping);
	if (!module || !module->set || row_module_vaddr(module, mapping, &vaddr))
		return 0;
	range->bias = mapping->start - (vaddr - module->base);
	range->module = module->set->index;
	return 0;
}

static int load(struct process_ranges *ranges, const struct maps *maps, struct row_modules *modules,
		enum ranges_change *change)
{
	struct listed listed = {0};
	bool fresh = false;
	int error = 0;

	for (size_t i = 0; i < maps->list.count && !error; i++) {
		error = interrupt_check();
		if (!error)
			error = list_mapping(&listed, modules, maps->task, &maps->list.items[i]);
	}
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

static uint64_t hash_maps(const struct maps *maps)
{
	uint64_t hash = maps->list.count;

	for (size_t i = 0; i < maps->list.count; i++) {
		const struct mapping *mapping = &maps->list.items[i];

		hash = hash_mix(hash ^ mapping->start);
		hash = hash_mix(hash ^ mapping->end);
		hash = hash_mix(hash ^ mapping->inode);
		hash = hash_mix(hash ^ mapping->offset);
	}
	return hash;
}

int process_ranges_refresh(struct process_ranges *ranges, int pid, struct row_modules *modules,
			   enum ranges_change *change)
{
	_cleanup_(maps_free) struct maps maps = {0};
	int error = maps_read(pid, MAPS_EXECUTABLE, &maps);
	uint64_t hash;

	if (error)
		return error;
	hash = hash_maps(&maps);
	worker_begin_process(modules->worker, pid);
	*change = RANGES_SAME;
	if (ranges->array.fd >= 0 && hash == ranges->maps_hash)
		return 0;
	error = load(ranges, &maps, modules, change);
	if (!error)
		ranges->maps_hash = hash;
	return error;
}
