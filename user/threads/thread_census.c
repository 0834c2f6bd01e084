// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "threads/thread_report.h"

static bool is_older(const struct lm_thread *thread)
{
	return thread->flags & LM_THREAD_BEFORE_ATTACH;
}

static int by_group(const void *left, const void *right)
{
	const struct lm_thread *a = &((const struct dead_thread *)left)->thread;
	const struct lm_thread *b = &((const struct dead_thread *)right)->thread;

	if (a->site != b->site)
		return a->site < b->site ? -1 : 1;
	if (is_older(a) != is_older(b))
		return is_older(a) ? -1 : 1;
	if (a->start_routine != b->start_routine)
		return a->start_routine < b->start_routine ? -1 : 1;
	if (a->died_ns != b->died_ns)
		return a->died_ns < b->died_ns ? -1 : 1;
	return (a->handle > b->handle) - (a->handle < b->handle);
}

static int by_count(const void *left, const void *right)
{
	const struct thread_group *a = left, *b = right;

	if (a->count != b->count)
		return a->count > b->count ? -1 : 1;
	return (a->first > b->first) - (a->first < b->first);
}

static void fill_proc(struct thread_census *census)
{
	char path[64], line[256];
	_cleanup_fclose_ FILE *status = NULL;

	snprintf(path, sizeof(path), "/proc/%u/status", census->pid);
	status = fopen(path, "re");
	while (status && fgets(line, sizeof(line), status)) {
		if (!strncmp(line, "Name:\t", 6)) {
			line[strcspn(line, "\n")] = '\0';
			snprintf(census->comm, sizeof(census->comm), "%.15s", line + 6);
		}
		if (!strncmp(line, "Threads:", 8))
			census->alive = strtoull(line + 8, NULL, 10);
	}
}

static void take_heap(struct dead_thread *dead, const struct owners *owners)
{
	const struct lm_thread *thread = &dead->thread;
	const struct owner *owner =
		owners ? owners_find(owners, thread->process, thread->tid, thread->died_ns) : NULL;

	if (!owner || owner->born_ns != thread->born_ns)
		return;
	dead->heap_bytes = owner->bytes;
	dead->heap_count = owner->count;
}

static int take_dead(struct thread_census *census, lm_process_key key,
		     const struct thread_table *table, const struct owners *owners)
{
	for (size_t i = 0; i < table->threads.count; i++) {
		const struct lm_thread *thread = &table->threads.items[i];
		struct dead_thread *dead;

		if (thread->process != key || !thread_is_dead(thread))
			continue;
		dead = vec_push(&census->dead);
		if (!dead)
			return -ENOMEM;
		dead->thread = *thread;
		take_heap(dead, owners);
		census->dead_before += is_older(thread);
	}
	return 0;
}

static struct thread_group *open_group(struct thread_census *census, size_t first,
				       const struct bpf_side *bpf)
{
	const struct lm_thread *thread = &census->dead.items[first].thread;
	struct thread_group *group = vec_push(&census->groups);

	if (!group)
		return NULL;
	group->site = thread->site;
	group->start_routine = thread->start_routine;
	group->before_attach = is_older(thread);
	group->first = first;
	group->oldest_died_ns = UINT64_MAX;
	if (thread->site == LM_SITE_LOST || thread->site >= bpf->max_sites)
		return group;
	group->depth = MIN(bpf->sites[thread->site].depth, LM_MAX_FRAMES);
	group->end = MIN(bpf->sites[thread->site].end, LM_WALK_MAX_ - 1);
	memcpy(group->addresses, bpf->stacks[thread->site].frames,
	       group->depth * sizeof(*group->addresses));
	return group;
}

static int group_dead(struct thread_census *census, const struct bpf_side *bpf)
{
	struct thread_group *group = NULL;

	for (size_t i = 0; i < census->dead.count; i++) {
		const struct dead_thread *dead = &census->dead.items[i];
		const struct lm_thread *thread = &dead->thread;

		if (!group || group->site != thread->site ||
		    group->before_attach != is_older(thread) ||
		    group->start_routine != thread->start_routine)
			group = open_group(census, i, bpf);
		if (!group)
			return -ENOMEM;
		group->count++;
		group->oldest_died_ns = MIN(group->oldest_died_ns, thread->died_ns);
		group->newest_died_ns = MAX(group->newest_died_ns, thread->died_ns);
		group->stack_bytes += dead->stack_end - dead->stack_start;
		group->resident_bytes += dead->resident_bytes;
		group->heap_bytes += dead->heap_bytes;
		group->heap_count += dead->heap_count;
		census->stack_bytes += dead->stack_end - dead->stack_start;
		census->resident_bytes += dead->resident_bytes;
		census->heap_bytes += dead->heap_bytes;
		census->heap_count += dead->heap_count;
	}
	return 0;
}

static const struct thread_process *process_find(const struct thread_table *table,
						 lm_process_key key)
{
	for (size_t i = 0; i < table->processes.count; i++) {
		if (table->processes.items[i].key == key)
			return &table->processes.items[i];
	}
	return NULL;
}

int thread_census_take(struct thread_census *census, const struct thread_table *table,
		       const struct owners *owners, const struct bpf_side *bpf)
{
	const struct thread_process *process = process_find(table, census->process);
	int error = 0;

	fill_proc(census);
	if (process) {
		census->books = process->books;
		error = take_dead(census, process->key, table, owners);
	}
	if (error || !census->dead.count)
		return error;
	qsort(census->dead.items, census->dead.count, sizeof(*census->dead.items), by_group);
	/* Of a process that has ended nothing is mapped any more. */
	stack_memory_fill((pid_t)census->pid, census->dead.items, census->dead.count);
	error = group_dead(census, bpf);
	if (!error)
		qsort(census->groups.items, census->groups.count, sizeof(*census->groups.items),
		      by_count);
	return error;
}

void thread_census_free(struct thread_census *census)
{
	for (size_t i = 0; i < census->groups.count; i++) {
		vec_free(&census->groups.items[i].stack.list);
		vec_free(&census->groups.items[i].start.list);
		vec_free(&census->groups.items[i].holders.list);
	}
	thread_holding_free(census->holding);
	vec_free(&census->groups);
	vec_free(&census->dead);
}

void thread_report_free(struct thread_report *report)
{
	for (size_t i = 0; i < report->processes.count; i++)
		thread_census_free(&report->processes.items[i]);
	vec_free(&report->processes);
}
