// SPDX-License-Identifier: GPL-2.0-or-later
/* What a history may hold: what is gone gives way to what comes. */
#include "analyze/history_room.h"

#include <errno.h>

#include "base/cleanup.h"

#define DEFAULT_MAX_SITES 4096

size_t history_max_sites(const struct history *history)
{
	return history->limits.max_sites ? history->limits.max_sites : DEFAULT_MAX_SITES;
}

uint64_t history_site_key(lm_process_key process, enum site_family family, uint32_t index)
{
	return hash_mix(process) ^ hash_mix(~((uint64_t)family << 32 | index));
}

bool history_site_is(const struct history_site *site, lm_process_key process,
		     const struct site *seen)
{
	return site->process == process && site->family == seen->family &&
	       site->index == seen->index;
}

const struct history_site *history_site_find(const struct history *history, lm_process_key process,
					     const struct site *site)
{
	const uint64_t *position = hash_get(&history->site_positions,
					    history_site_key(process, site->family, site->index));
	const struct history_site *found;

	if (!position)
		return NULL;
	found = &history->sites.items[*position];
	/* Two sites with one hash: the second one is not tracked. */
	return history_site_is(found, process, site) ? found : NULL;
}

static bool holds_nothing(const struct history_series *series)
{
	return !series->points.count || !series->points.items[series->points.count - 1].count;
}

static void history_site_free(struct history_site *site)
{
	vec_free(&site->frames.list);
	vec_free(&site->series.points);
}

static int positions_rebuild(struct history *history)
{
	hash_free(&history->site_positions);
	for (size_t i = 0; i < history->sites.count; i++) {
		const struct history_site *site = &history->sites.items[i];
		uint64_t *position =
			hash_put(&history->site_positions,
				 history_site_key(site->process, site->family, site->index), NULL);

		if (!position)
			return -ENOMEM;
		*position = i;
	}
	return 0;
}

/* Makes room. A site that comes back after this begins anew. */
static int sites_drop_empty(struct history *history)
{
	size_t kept = 0;

	for (size_t i = 0; i < history->sites.count; i++) {
		struct history_site *site = &history->sites.items[i];

		if (holds_nothing(&site->series))
			history_site_free(site);
		else
			history->sites.items[kept++] = *site;
	}
	history->sites.count = kept;
	return positions_rebuild(history);
}

static void process_free(struct history_process *process)
{
	free(process->container);
	vec_free(&process->series.points);
}

static void processes_drop_empty(struct history *history)
{
	size_t kept = 0;

	for (size_t i = 0; i < history->processes.count; i++) {
		struct history_process *process = &history->processes.items[i];

		if (holds_nothing(&process->series))
			process_free(process);
		else
			history->processes.items[kept++] = *process;
	}
	history->processes.count = kept;
}

static size_t new_sites(const struct history *history, const struct snapshot *snapshot)
{
	size_t fresh = 0;

	for (size_t i = 0; i < snapshot->processes.count; i++) {
		const struct snapshot_process *process = &snapshot->processes.items[i];

		for (size_t j = 0; j < process->sites.count; j++)
			fresh +=
				!history_site_find(history, process->key, &process->sites.items[j]);
	}
	return fresh;
}

int history_make_room(struct history *history, const struct snapshot *snapshot)
{
	bool processes_full =
		history->processes.count + snapshot->processes.count > history_max_sites(history);
	int error = 0;

	if (processes_full ||
	    history->sites.count + new_sites(history, snapshot) > history_max_sites(history))
		error = sites_drop_empty(history);
	/* Their sites hold nothing either, and went first. */
	if (processes_full)
		processes_drop_empty(history);
	return error;
}

void history_free(struct history *history)
{
	for (size_t i = 0; i < history->times.count; i++)
		free(history->times.items[i].label);
	for (size_t i = 0; i < history->processes.count; i++)
		process_free(&history->processes.items[i]);
	for (size_t i = 0; i < history->sites.count; i++)
		history_site_free(&history->sites.items[i]);
	vec_free(&history->times);
	vec_free(&history->processes);
	vec_free(&history->sites);
	hash_free(&history->site_positions);
	*history = (struct history){.limits = history->limits};
}
