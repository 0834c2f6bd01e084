// SPDX-License-Identifier: GPL-2.0-or-later
/* A census as plain numbers, for reports that show more than threads. */
#include <errno.h>

#include "base/cleanup.h"
#include "threads/thread_report.h"

static uint64_t since(uint64_t now_ns, uint64_t then_ns)
{
	return now_ns - MIN(now_ns, then_ns);
}

static int add_group(const struct thread_census *census, const struct thread_group *group,
		     uint64_t now_ns, struct thread_figures *figures)
{
	struct dead_group *dead = vec_push(&figures->groups);

	if (!dead)
		return -ENOMEM;
	*dead = (struct dead_group){
		.count = group->count,
		.stack_bytes = group->stack_bytes,
		.resident_bytes = group->resident_bytes,
		.heap_bytes = group->heap_bytes,
		.heap_count = group->heap_count,
		.start_routine = group->start_routine,
		.end = group->end,
		.site = group->site,
		.newest_ns = UINT64_MAX,
	};
	for (size_t i = 0; i < group->count; i++) {
		uint64_t died_ns = census->dead.items[group->first + i].thread.died_ns;

		dead->before_attach += !died_ns;
		if (!died_ns)
			continue;
		dead->oldest_ns = MAX(dead->oldest_ns, since(now_ns, died_ns));
		dead->newest_ns = MIN(dead->newest_ns, since(now_ns, died_ns));
	}
	if (dead->before_attach == dead->count)
		dead->newest_ns = 0;
	dead->addresses = calloc(group->depth + 1, sizeof(*dead->addresses));
	if (!dead->addresses)
		return -ENOMEM;
	dead->depth = group->depth;
	memcpy(dead->addresses, group->addresses, group->depth * sizeof(*dead->addresses));
	return 0;
}

int thread_census_figures(const struct thread_census *census, uint64_t now_ns,
			  struct thread_figures *figures)
{
	const struct lm_thread_books *books = &census->books;
	int error = 0;

	figures->followed = true;
	figures->exact = !books->reaped_unseen && !books->dropped;
	figures->untold = books->untracked_ends;
	figures->dead = census->dead.count;
	figures->dead_stack_bytes = census->stack_bytes;
	figures->dead_resident_bytes = census->resident_bytes;
	figures->dead_heap_bytes = census->heap_bytes;
	figures->dead_heap_count = census->heap_count;
	figures->created = books->created;
	figures->joined = books->joined;
	figures->detached = books->detached;
	for (size_t i = 0; i < census->groups.count && !error; i++)
		error = add_group(census, &census->groups.items[i], now_ns, figures);
	return error;
}

int thread_table_owners(const struct thread_table *table, struct owners *owners)
{
	for (size_t i = 0; i < table->threads.count; i++) {
		const struct lm_thread *thread = &table->threads.items[i];
		struct owner *owner;

		/* What it did before the attach was not seen. */
		if (!thread->died_ns)
			continue;
		owner = vec_push(&owners->list);
		if (!owner)
			return -ENOMEM;
		*owner = (struct owner){.process = thread->process,
					.tid = thread->tid,
					.born_ns = thread->born_ns,
					.died_ns = thread->died_ns};
	}
	return owners_index(owners);
}
