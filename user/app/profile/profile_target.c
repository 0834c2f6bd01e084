// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/profile/profile_target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "heap/runtime/runtime.h"
#include "process/proc/container.h"
#include "process/proc/process_list.h"

#define MEMORY_POINTS 256

/* After this many looks a program without a runtime counts as native. */
#define RUNTIME_LOOKS 3

void garbage_watch_note(struct garbage_watch *watch, const struct heap_floor *floor, double now_s)
{
	watch->looks++;
	if (!floor->known || !floor->outside_limit)
		return;
	if (watch->holds && floor->full > watch->full)
		watch->collected_s = now_s;
	watch->holds = true;
	watch->full = floor->full;
}

void garbage_watch_look(struct garbage_watch *watch, pid_t pid, double now_s)
{
	struct heap_floor floor;

	if (!watch->holds && watch->looks >= RUNTIME_LOOKS)
		return;
	if (!watch->holds)
		watch->runtime = runtime_of_process(pid);
	floor = runtime_floor_read(watch->runtime, pid);
	garbage_watch_note(watch, &floor, now_s);
}

bool garbage_watch_doubts(const struct garbage_watch *watch, double now_s)
{
	return watch->holds && (watch->collected_s <= 0 ||
				now_s - watch->collected_s > profile_age_s(PROFILE_AGE_LEAK));
}

void profile_target_read_comm(struct profile_target *target)
{
	process_read_comm(target->pid, 0, target->comm, sizeof(target->comm));
}

/* Returns bytes of anonymous memory of a process, including swap; -1: unreadable. */
static double read_memory(pid_t pid)
{
	char path[64], line[256];
	_cleanup_fclose_ FILE *status = NULL;
	unsigned long resident_kib = 0, swapped_kib = 0;
	bool found = false;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	status = fopen(path, "re");
	while (status && fgets(line, sizeof(line), status)) {
		found |= sscanf(line, "RssAnon: %lu", &resident_kib) == 1;
		sscanf(line, "VmSwap: %lu", &swapped_kib);
	}
	return found ? 1024.0 * (double)(resident_kib + swapped_kib) : -1;
}

void profile_target_read_memory(struct profile_target *target, double now_s)
{
	double bytes = read_memory(target->pid);
	struct trend_point *point;

	target->memory_read_s = now_s;
	if (bytes < 0)
		return;
	target->memory_bytes = bytes;
	if (target->memory.count == MEMORY_POINTS) {
		for (size_t i = 0; i < MEMORY_POINTS / 2; i++)
			target->memory.items[i] = target->memory.items[2 * i];
		target->memory.count = MEMORY_POINTS / 2;
	}
	point = vec_push(&target->memory);
	if (point)
		*point = (struct trend_point){now_s, bytes};
}

double profile_target_cpu_s(const struct profile_target *target)
{
	return clock_s(target->clock);
}

void profile_target_restart(struct profile_target *target, uint64_t seed, lm_process_key key)
{
	profiled_free(&target->profiled);
	profiled_init(&target->profiled, seed);
	target->memory.count = 0;
	target->garbage = (struct garbage_watch){0};
	target->key = key;
}

void profile_target_free(struct profile_target *target)
{
	exact_free(&target->exact);
	profiled_free(&target->profiled);
	vec_free(&target->memory);
	container_free(target->container);
	free(target);
}
