// SPDX-License-Identifier: GPL-2.0-or-later
/* The "threads" of one process: null is not known, which is not zero. */
#include <inttypes.h>

#include "output/json_parts.h"
#include "output/json_writer.h"

#define NS_PER_MS UINT64_C(1000000)

static void stack_write(struct json_writer *json, const uint64_t *addresses, size_t depth,
			const struct frames *frames)
{
	struct site site = {.addresses = (uint64_t *)addresses, .depth = depth};
	struct report_site stack = {.site = &site};

	stack.frames = *frames;
	output_json_frames_write(json, &stack);
}

static void group_write(struct json_writer *json, const struct report_dead *dead)
{
	const struct dead_group *group = dead->group;
	bool dated = group->count > group->before_attach;
	char id[17];

	snprintf(id, sizeof(id), "%016" PRIx64, dead->id);
	json_open(json, NULL, '{');
	json_put_string(json, "id", id);
	json_put_number(json, "count", group->count);
	json_put_number(json, "before_attach", group->before_attach);
	json_put_known(json, "oldest_ms", dated, group->oldest_ns / NS_PER_MS);
	json_put_known(json, "newest_ms", dated, group->newest_ns / NS_PER_MS);
	json_put_number(json, "stack_bytes", group->stack_bytes);
	json_put_number(json, "resident_bytes", group->resident_bytes);
	json_put_number(json, "heap_bytes", group->heap_bytes);
	json_put_number(json, "heap_count", group->heap_count);
	json_open(json, "start_routine", '{');
	stack_write(json, &group->start_routine, group->start_routine ? 1 : 0, &dead->start);
	json_close(json, '}');
	stack_write(json, group->addresses, group->depth, &dead->stack);
	json_close(json, '}');
}

void output_json_threads_write(struct json_writer *json, const struct report_process *ranked)
{
	const struct thread_figures *threads = &ranked->process->threads;

	json_open(json, "threads", '{');
	json_put_known(json, "alive", threads->counted, threads->alive);
	json_put_known(json, "dead", threads->followed, threads->dead);
	json_put_known(json, "dead_stack_bytes", threads->followed, threads->dead_stack_bytes);
	json_put_string(json, "cannot_tell", threads->why[0] ? threads->why : NULL);
	if (threads->followed) {
		json_put_bool(json, "exact", threads->exact);
		json_put_number(json, "untold", threads->untold);
		json_put_number(json, "dead_resident_bytes", threads->dead_resident_bytes);
		json_put_number(json, "dead_heap_bytes", threads->dead_heap_bytes);
		json_put_number(json, "dead_heap_count", threads->dead_heap_count);
		json_put_number(json, "created", threads->created);
		json_put_number(json, "joined", threads->joined);
		json_put_number(json, "detached", threads->detached);
		json_open(json, "groups", '[');
		for (size_t i = 0; i < ranked->dead.count; i++)
			group_write(json, &ranked->dead.items[i]);
		json_close(json, ']');
	}
	json_close(json, '}');
}
