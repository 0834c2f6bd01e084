// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/living.h"

#include <errno.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"

/* An iterator writes whole records, but a read may end within one. */
static int read_all(struct living *living, int fd)
{
	_Alignas(struct lm_living) char buffer[128 * sizeof(struct lm_living)];
	size_t used = 0;
	ssize_t got;

	while ((got = read(fd, buffer + used, sizeof(buffer) - used)) != 0) {
		size_t count;

		if (got < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (got < 0)
			return -errno;
		used += (size_t)got;
		count = used / sizeof(struct lm_living);
		for (size_t i = 0; i < count; i++) {
			struct lm_living *thread = vec_push(&living->threads);

			if (!thread)
				return -ENOMEM;
			memcpy(thread, buffer + i * sizeof(*thread), sizeof(*thread));
		}
		used -= count * sizeof(struct lm_living);
		memmove(buffer, buffer + count * sizeof(struct lm_living), used);
	}
	return used ? -EPROTO : 0;
}

int living_read(struct living *living, int fd)
{
	_cleanup_(living_free) struct living filled = {.taken_ns = monotonic_ns()};
	int error = read_all(&filled, fd);

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
