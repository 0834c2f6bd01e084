// SPDX-License-Identifier: GPL-2.0-or-later
#include "heap/threads/thread_census.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/page.h"
#include "base/search.h"
#include "process/proc/maps.h"
#include "process/proc/process_memory.h"

/* Resident memory of dead threads' stacks: proc(5), /proc/PID/maps and /proc/PID/pagemap. */

#define PAGE_PRESENT (1ull << 63)
#define PAGES_AT_ONCE 4096

/* Larger stack mappings are taken for something else. */
#define STACK_MAX_BYTES (1ull << 36)

static uint64_t count_present(pid_t task, int pagemap, uint64_t start, uint64_t end)
{
	uint64_t entries[PAGES_AT_ONCE], present = 0;

	while (start < end) {
		size_t pages = MIN((end - start) / page_size(), PAGES_AT_ONCE);
		size_t got = pagemap_pread(task, pagemap, start / page_size(), entries, pages);

		if (!got)
			break;
		for (size_t i = 0; i < got; i++)
			present += (entries[i] & PAGE_PRESENT) != 0;
		start += got * page_size();
	}
	return present * page_size();
}

/*
 * A thread's descriptor lies at the top of its own stack mapping. Without guard pages, neighbouring
 * stacks share one mapping: each then extends down to the next lower descriptor.
 */
static void find_stack(struct dead_thread *dead, const struct maps *maps, const uint64_t *handles,
		       size_t count)
{
	const struct mapping *mapping = maps_find(maps, dead->thread.handle);
	size_t at;

	if (!mapping || !mapping->writable || dead->thread.flags & LM_THREAD_OWN_STACK ||
	    mapping->end - mapping->start > STACK_MAX_BYTES)
		return;
	at = SORTED_BEFORE(handle, handles, count, *handle < dead->thread.handle);
	dead->stack_start = mapping->start;
	dead->stack_end = mapping->end;
	if (at && handles[at - 1] >= mapping->start)
		dead->stack_start = page_down(handles[at - 1]) + page_size();
	if (at + 1 < count && handles[at + 1] < mapping->end)
		dead->stack_end = page_down(dead->thread.handle) + page_size();
}

static int by_value(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

/* Finds the stack mappings of dead threads and their resident bytes. Returns 0 or -errno. */
static int stack_memory_fill(pid_t pid, struct dead_thread *dead, size_t count)
{
	_cleanup_free_ uint64_t *handles = calloc(count + 1, sizeof(*handles));
	_cleanup_(maps_free) struct maps maps = {0};
	_cleanup_close_ int pagemap = -1;
	char path[64];
	int error;

	if (!handles)
		return -ENOMEM;
	error = maps_read(pid, MAPS_ALL, &maps);
	if (error)
		return error;
	snprintf(path, sizeof(path), "/proc/%d/pagemap", maps.source.task);
	pagemap = open(path, O_RDONLY | O_CLOEXEC);
	for (size_t i = 0; i < count; i++)
		handles[i] = dead[i].thread.handle;
	qsort(handles, count, sizeof(*handles), by_value);
	for (size_t i = 0; i < count; i++) {
		find_stack(&dead[i], &maps, handles, count);
		if (pagemap >= 0)
			dead[i].resident_bytes = count_present(
				maps.source.task, pagemap, dead[i].stack_start, dead[i].stack_end);
	}
	return 0;
}

/* The census as plain numbers, for reports that show more than threads. */

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
	const struct lm_thread_ledger *ledger = &census->ledger;
	int error = 0;

	figures->followed = true;
	figures->exact = !ledger->reaped_unseen && !ledger->dropped;
	figures->untold = ledger->untracked_ends;
	figures->dead = census->dead.count;
	figures->dead_stack_bytes = census->stack_bytes;
	figures->dead_resident_bytes = census->resident_bytes;
	figures->dead_heap_bytes = census->heap_bytes;
	figures->dead_heap_count = census->heap_count;
	figures->created = ledger->created;
	figures->joined = ledger->joined;
	figures->detached = ledger->detached;
	for (size_t i = 0; i < census->groups.count && !error; i++)
		error = add_group(census, &census->groups.items[i], now_ns, figures);
	return error;
}

int thread_table_owners(const struct thread_table *table, struct owners *owners)
{
	for (size_t i = 0; i < table->threads.count; i++) {
		const struct lm_thread *thread = &table->threads.items[i];
		struct owner *owner;

		/* Its actions before the attach are unknown. */
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
		census->ledger = process->ledger;
		error = take_dead(census, process->key, table, owners);
	}
	/* Lost threads have no known owner: count them against every process. */
	if (bpf->threads_lost)
		census->ledger.dropped += __atomic_load_n(bpf->threads_lost, __ATOMIC_RELAXED) +
					  loader_thread_misses(bpf);
	if (error || !census->dead.count)
		return error;
	qsort(census->dead.items, census->dead.count, sizeof(*census->dead.items), by_group);
	/* An ended process has no mappings. */
	stack_memory_fill((pid_t)census->pid, census->dead.items, census->dead.count);
	error = group_dead(census, bpf);
	if (!error)
		qsort(census->groups.items, census->groups.count, sizeof(*census->groups.items),
		      by_count);
	return error;
}
