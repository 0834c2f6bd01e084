// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/live_threads.h"

#include <errno.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/records.h"

int live_threads_read(struct live_threads *live, int fd)
{
	_cleanup_(live_threads_free) struct live_threads filled = {.taken_ns = monotonic_ns()};
	void *threads = NULL;
	int error =
		records_read(fd, sizeof(struct lm_live_thread), &threads, &filled.threads.count);

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
	*live = filled;
	filled = (struct live_threads){0};
	return 0;
}

void live_threads_free(struct live_threads *live)
{
	vec_free(&live->threads);
	hash_free(&live->by_tid);
}

bool live_threads_has_ended(const struct live_threads *live, lm_process_key process,
			    const struct lm_block *block)
{
	const uint64_t *index = hash_get(&live->by_tid, block->tid);
	const struct lm_live_thread *thread = index ? &live->threads.items[*index] : NULL;

	if (block->born_ns >= live->taken_ns)
		return false;
	/* A thread with the tid that began later is another one. */
	return !thread || thread->process != process || thread->start_ns > block->born_ns;
}
