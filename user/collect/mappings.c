// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/mappings.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "collect/mapping_ranges.h"

/* What stood when the process came to be watched; its key is known with its first event only. */
struct beginning {
	int pid;
	struct maps maps; /* owned */
};

struct mappings {
	maps_reader read;
	VEC(struct mapping_process *) processes; /* each owned */
	VEC(struct beginning) beginnings;
	struct mapping_ledger gone; /* of processes that are no more */
	uint64_t events_lost;
};

static void mapping_ledger_add(struct mapping_ledger *total, const struct mapping_ledger *part)
{
	total->mapped += part->mapped;
	total->unmapped += part->unmapped;
	total->outstanding += part->outstanding;
	total->purged += part->purged;
	total->ranges += part->ranges;
	total->events_lost += part->events_lost;
	total->missed += part->missed;
	total->healed += part->healed;
}

struct mappings *mappings_new(maps_reader read)
{
	struct mappings *mappings = calloc(1, sizeof(*mappings));

	if (mappings)
		mappings->read = read;
	return mappings;
}

static void process_release(struct mapping_process *process)
{
	mapping_process_free(process);
	free(process);
}

void mappings_free(struct mappings *mappings)
{
	if (!mappings)
		return;
	for (size_t i = 0; i < mappings->processes.count; i++)
		process_release(mappings->processes.items[i]);
	vec_free(&mappings->processes);
	while (mappings->beginnings.count)
		maps_free(&mappings->beginnings.items[--mappings->beginnings.count].maps);
	vec_free(&mappings->beginnings);
	free(mappings);
}

static int pid_of(lm_process_key process)
{
	return (int)(process >> 32);
}

static struct mapping_process *process_find(const struct mappings *mappings, lm_process_key key)
{
	/* The latest first: it is the one whose events come. */
	for (size_t i = mappings->processes.count; i-- > 0;) {
		if (mappings->processes.items[i]->key == key)
			return mappings->processes.items[i];
	}
	return NULL;
}

int mappings_watch(struct mappings *mappings, int pid)
{
	struct beginning *beginning;
	struct maps maps = {0};
	int error = mappings->read(pid, MAPS_ALL, &maps);

	if (error)
		return error;
	beginning = vec_push(&mappings->beginnings);
	if (!beginning) {
		maps_free(&maps);
		return -ENOMEM;
	}
	*beginning = (struct beginning){.pid = pid, .maps = maps};
	return 0;
}

/* What the process had mapped before. After an exec, that is what the kernel has just put there. */
static int beginning_take(struct mappings *mappings, int pid, struct maps *maps)
{
	for (size_t i = 0; i < mappings->beginnings.count; i++) {
		struct beginning *beginning = &mappings->beginnings.items[i];

		if (beginning->pid != pid)
			continue;
		*maps = beginning->maps;
		*beginning = mappings->beginnings.items[--mappings->beginnings.count];
		return 0;
	}
	return mappings->read(pid, MAPS_ALL, maps);
}

/* A process' first event: what stands and is not told of later was there before. */
static struct mapping_process *process_add(struct mappings *mappings, lm_process_key key)
{
	struct mapping_process *process = calloc(1, sizeof(*process));
	struct mapping_process **slot = process ? vec_push(&mappings->processes) : NULL;
	struct maps maps = {0};

	if (!slot) {
		free(process);
		return NULL;
	}
	*slot = process;
	process->key = key;
	if (!beginning_take(mappings, pid_of(key), &maps) && mapping_process_begin(process, &maps))
		process->inexact = true;
	maps_free(&maps);
	return process;
}

int mappings_apply(struct mappings *mappings, const struct lm_mapping_event *event)
{
	struct mapping_process *process = process_find(mappings, event->process);
	int error;

	if (!process)
		process = process_add(mappings, event->process);
	if (!process)
		return -ENOMEM;
	error = mapping_process_apply(process, event);
	if (error)
		process->inexact = true;
	return error;
}

void mappings_heal(struct mappings *mappings, uint64_t events_lost)
{
	mappings->events_lost = events_lost;
	for (size_t i = 0; i < mappings->processes.count; i++) {
		struct mapping_process *process = mappings->processes.items[i];
		struct maps maps = {0};

		process->inexact = true;
		if (!mappings->read(pid_of(process->key), MAPS_ALL, &maps))
			mapping_process_heal(process, &maps);
		maps_free(&maps);
	}
}

void mappings_purge(struct mappings *mappings, process_is_over is_over, const void *context)
{
	size_t kept = 0;

	for (size_t i = 0; i < mappings->processes.count; i++) {
		struct mapping_process *process = mappings->processes.items[i];

		if (!is_over(process->key, context)) {
			mappings->processes.items[kept++] = process;
			continue;
		}
		process->ledger.purged += mapping_bytes(&process->ranges);
		mapping_ledger_add(&mappings->gone, &process->ledger);
		process_release(process);
	}
	mappings->processes.count = kept;
}

static int count_range(const struct range *range, void *context)
{
	struct mapping_ledger *ledger = context;

	if (mapping_is_counted(range)) {
		ledger->outstanding += range->end - range->start;
		ledger->ranges++;
	}
	return 0;
}

bool mappings_view(const struct mappings *mappings, size_t i, struct mapping_view *view)
{
	const struct mapping_process *process;

	if (i >= mappings->processes.count)
		return false;
	process = mappings->processes.items[i];
	*view = (struct mapping_view){
		.process = process->key,
		.exact = !process->inexact,
		.ledger = process->ledger,
		.ranges = &process->ranges,
		.sites = process->sites.items,
		.site_count = process->sites.count,
		.site_index = &process->site_index,
	};
	ranges_walk(&process->ranges, count_range, &view->ledger);
	return true;
}

long mapping_site_find(const struct mapping_view *view, uint32_t site, uint32_t kind)
{
	const uint64_t *place = hash_get(view->site_index, MAPPING_SITE_KEY(site, kind));

	return place ? (long)*place : -1;
}

void mappings_total(const struct mappings *mappings, struct mapping_ledger *total)
{
	struct mapping_view view;

	*total = mappings->gone;
	for (size_t i = 0; mappings_view(mappings, i, &view); i++)
		mapping_ledger_add(total, &view.ledger);
	total->events_lost = mappings->events_lost;
}
