// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyze/history.h"

#include <errno.h>

#include "analyze/history_room.h"
#include "analyze/history_series.h"
#include "base/cleanup.h"

const struct history_process *history_process_find(const struct history *history,
						   lm_process_key process)
{
	for (size_t i = 0; i < history->processes.count; i++) {
		if (history->processes.items[i].key == process)
			return &history->processes.items[i];
	}
	return NULL;
}

static struct history_process *process_put(struct history *history,
					   const struct snapshot_process *seen)
{
	struct history_process *process;

	for (size_t i = 0; i < history->processes.count; i++) {
		process = &history->processes.items[i];
		/* A target that has not allocated yet has no key. */
		if (process->key == seen->key && process->pid == seen->pid)
			return process;
	}
	process = vec_push(&history->processes);
	if (process) {
		process->key = seen->key;
		process->pid = seen->pid;
	}
	return process;
}

static int process_add(struct history *history, const struct snapshot_process *seen)
{
	struct history_process *process = process_put(history, seen);
	struct history_point point = {.bytes = seen->outstanding_bytes,
				      .count = seen->outstanding_count};

	if (!process)
		return -ENOMEM;
	memcpy(process->comm, seen->comm, sizeof(process->comm));
	process->exited = seen->exited;
	for (size_t i = 0; i < seen->sites.count; i++) {
		const struct site *site = &seen->sites.items[i];

		if (site->family == FAMILY_MAPPING)
			continue; /* they hold the heap's blocks */
		point.allocated_bytes += site->allocated_bytes;
		point.allocated_count += site->allocated_count;
		point.freed_bytes += site->freed_bytes;
		point.freed_count += site->freed_count;
		point.oldest_ns = MAX(point.oldest_ns, site->oldest_ns);
	}
	return history_series_add(history, &process->series, point);
}

/* NULL: no room (counted) or out of memory (*error). */
static struct history_site *site_put(struct history *history, lm_process_key process,
				     const struct site *seen, int *error)
{
	uint64_t key = history_site_key(process, seen->family, seen->index);
	const uint64_t *known = hash_get(&history->site_positions, key);
	struct history_site *site;
	uint64_t *position;

	if (known) {
		site = &history->sites.items[*known];
		if (history_site_is(site, process, seen))
			return site;
	}
	if (known || history->sites.count >= history_max_sites(history)) {
		history->untracked_sites++;
		return NULL;
	}
	position = hash_put(&history->site_positions, key, NULL);
	site = position ? vec_push(&history->sites) : NULL;
	if (!site) {
		*error = -ENOMEM;
		return NULL;
	}
	*position = history->sites.count - 1;
	site->process = process;
	site->index = seen->index;
	site->family = seen->family;
	site->kind = seen->kind;
	return site;
}

static int site_add(struct history *history, const struct snapshot_process *process,
		    const struct site *seen)
{
	int error = 0;
	struct history_site *site = site_put(history, process->key, seen, &error);

	if (!site)
		return error;
	site->lost = seen->lost;
	memcpy(site->ages, seen->ages, sizeof(site->ages));
	return history_series_add(history, &site->series,
				  (struct history_point){.bytes = seen->bytes,
							 .count = seen->count,
							 .allocated_bytes = seen->allocated_bytes,
							 .allocated_count = seen->allocated_count,
							 .freed_bytes = seen->freed_bytes,
							 .freed_count = seen->freed_count,
							 .oldest_ns = seen->oldest_ns});
}

static int all_catch_up(struct history *history)
{
	int error = 0;

	for (size_t i = 0; i < history->sites.count && !error; i++) {
		struct history_site *site = &history->sites.items[i];

		if (site->series.first + site->series.points.count < history->times.count)
			memset(site->ages, 0, sizeof(site->ages));
		error = history_series_catch_up(history, &site->series);
	}
	for (size_t i = 0; i < history->processes.count && !error; i++)
		error = history_series_catch_up(history, &history->processes.items[i].series);
	return error;
}

static void processes_index(struct history *history)
{
	size_t at = 0;

	for (size_t i = 0; i < history->sites.count; i++) {
		struct history_site *site = &history->sites.items[i];

		/* Neighbours are mostly of one process. */
		if (history->processes.items[at].key != site->process) {
			for (at = 0; at + 1 < history->processes.count; at++) {
				if (history->processes.items[at].key == site->process)
					break;
			}
		}
		site->process_index = at;
	}
}

static int snapshot_add(struct history *history, const struct snapshot *snapshot)
{
	int error = 0;

	for (size_t i = 0; i < snapshot->processes.count && !error; i++) {
		const struct snapshot_process *process = &snapshot->processes.items[i];

		error = process_add(history, process);
		for (size_t j = 0; j < process->sites.count && !error; j++)
			error = site_add(history, process, &process->sites.items[j]);
	}
	return error;
}

int history_add(struct history *history, const struct snapshot *snapshot, const char *label)
{
	int error = history_make_room(history, snapshot);

	history->untracked_sites = 0;
	if (!error)
		error = history_time_add(history, snapshot, label);
	if (!error)
		error = snapshot_add(history, snapshot);
	if (!error)
		error = all_catch_up(history);
	if (!error)
		processes_index(history);
	return error;
}

static int site_name(struct history *history, const struct report_process *process,
		     const struct report_site *named)
{
	struct history_site *site = (struct history_site *)history_site_find(
		history, process->process->key, named->site);
	size_t count = named->frames.list.count;
	struct frame *frames;

	if (!site)
		return 0;
	site->id = named->id;
	if (!count)
		return 0;
	frames = reallocarray(site->frames.list.items, count, sizeof(*frames));
	if (!frames)
		return -ENOMEM;
	memcpy(frames, named->frames.list.items, count * sizeof(*frames));
	site->frames.list.items = frames;
	site->frames.list.count = site->frames.list.capacity = count;
	return 0;
}

int history_name(struct history *history, const struct report *report)
{
	int error = 0;

	for (size_t i = 0; i < report->processes.count; i++) {
		const struct report_process *process = &report->processes.items[i];

		for (size_t j = 0; j < process->sites.count && !error; j++)
			error = site_name(history, process, &process->sites.items[j]);
	}
	return error;
}
