// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/living.h"

#include <errno.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/records.h"

int living_read(struct living *living, int fd)
{
	_cleanup_(living_free) struct living filled = {.taken_ns = monotonic_ns()};
	void *threads = NULL;
	int error = records_read(fd, sizeof(struct lm_living), &threads, &filled.threads.count);

	filled.threads.items = threads;
	filled.threads.capacity = filled.threads.count;
	for (size_t i = 0; i < filled.threads.count && !error; i++) {
		uint64_t *index = hash_put(&filled.by_tid, filled.threads.items[i].tid, NULL);

		if (!index)
			return -ENOMEM;
		*index = i;
	}
	if (error)
		return error;
	*living = filled;
	filled = (struct living){0};
	return 0;
}

void living_free(struct living *living)
{
	vec_free(&living->threads);
	hash_free(&living->by_tid);
}

bool living_has_ended(const struct living *living, lm_process_key process,
		      const struct lm_block *block)
{
	const uint64_t *index = hash_get(&living->by_tid, block->tid);
	const struct lm_living *thread = index ? &living->threads.items[*index] : NULL;

	if (block->born_ns >= living->taken_ns)
		return false;
	/* A thread with the tid that began later is another one. */
	return !thread || thread->process != process || thread->start_ns > block->born_ns;
}
