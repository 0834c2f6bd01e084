// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/place.h"

static const struct container *place_find(const struct places *places, lm_process_key key)
{
	for (size_t i = 0; i < places->list.count; i++) {
		if (places->list.items[i].key == key)
			return places->list.items[i].container;
	}
	return NULL;
}

static void remember(struct places *places, const struct snapshot_process *process)
{
	struct container *copy;
	struct place *place;

	/* Key 0: it has not allocated yet, and cannot leave anything behind. */
	if (!process->container || !process->key)
		return;
	copy = container_copy(process->container);
	place = copy ? vec_push(&places->list) : NULL;
	if (place)
		*place = (struct place){process->key, copy};
	else
		container_free(copy);
}

void places_fill(struct places *places, struct container_cache *containers,
		 struct snapshot *snapshot)
{
	struct places now = {0};

	for (size_t i = 0; i < snapshot->processes.count; i++) {
		struct snapshot_process *process = &snapshot->processes.items[i];

		process->container = container_copy(
			process->exited ? place_find(places, process->key)
					: container_find(containers, (pid_t)process->pid));
		remember(&now, process);
	}
	places_free(places);
	*places = now;
}

void places_free(struct places *places)
{
	for (size_t i = 0; i < places->list.count; i++)
		container_free(places->list.items[i].container);
	vec_free(&places->list);
}
