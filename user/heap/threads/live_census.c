// SPDX-License-Identifier: GPL-2.0-or-later
#include "heap/threads/live_census.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "heap/allocators/heap_image.h"
#include "heap/retain/stack_frames.h"
#include "process/proc/maps.h"
#include "process/proc/process_list.h"
#include "process/proc/process_memory.h"

/* Words copied from each stack: waiting threads have short frames. */
#define STACK_WORDS 1024
/* Comparisons are limited to this many unwound threads. */
#define LIKES_LOOKED_AT ((size_t)2 * LIVE_UNWOUND_MAX)

struct live_thread {
	uint32_t tid, site, unwound; /* index among the unwound threads; UINT32_MAX: not unwound */
	bool known, before, main;
	uint64_t start_routine, ip, sp, born_ns;
	size_t depth;
	uint64_t frames[LIVE_WAIT_FRAMES];
};

struct live_threads {
	VEC(struct live_thread) list;
	uint32_t pid;
};

/*
 * The file reads "NR ARGUMENTS SP PC", "-1 SP PC" or "running"; only the last two fields are read.
 */
static void read_wait(uint32_t pid, struct live_thread *thread)
{
	_cleanup_fclose_ FILE *file = NULL;
	char path[64], text[256] = "", *last, *before;

	snprintf(path, sizeof(path), "/proc/%u/task/%u/syscall", pid, thread->tid);
	file = fopen(path, "re");
	if (!file || !fgets(text, sizeof(text), file) || !strncmp(text, "running", 7))
		return;
	last = strrchr(text, ' ');
	if (!last)
		return;
	*last = '\0';
	before = strrchr(text, ' ');
	if (!before)
		return;
	thread->ip = strtoull(last + 1, NULL, 16);
	thread->sp = strtoull(before + 1, NULL, 16);
}

static int list_threads(struct live_threads *threads)
{
	_cleanup_closedir_ DIR *tasks = process_tasks_open((pid_t)threads->pid);
	pid_t tid;

	while (threads->list.count < LIVE_THREADS_MAX && (tid = process_tasks_next(tasks))) {
		struct live_thread *thread = vec_push(&threads->list);

		if (!thread)
			return -ENOMEM;
		*thread = (struct live_thread){.tid = (uint32_t)tid, .unwound = UINT32_MAX};
		thread->main = thread->tid == threads->pid;
		read_wait(threads->pid, thread);
	}
	return 0;
}

/* Adds the ledger's records of the threads. */
static int join_table(struct live_threads *threads, lm_process_key process,
		      const struct thread_table *table)
{
	struct hash by_tid = {0};
	int error = 0;

	for (size_t i = 0; i < threads->list.count && !error; i++) {
		uint64_t *index = hash_put(&by_tid, threads->list.items[i].tid, NULL);

		if (index)
			*index = i;
		else
			error = -ENOMEM;
	}
	for (size_t i = 0; i < table->threads.count && !error; i++) {
		const struct lm_thread *record = &table->threads.items[i];
		const uint64_t *index = record->process == process && !thread_is_dead(record)
						? hash_get(&by_tid, record->tid)
						: NULL;
		struct live_thread *thread;

		if (!index || *index >= threads->list.count)
			continue;
		thread = &threads->list.items[*index];
		thread->known = true;
		thread->before = record->flags & LM_THREAD_BEFORE_ATTACH;
		thread->site = record->site;
		thread->start_routine = record->start_routine;
		thread->born_ns = record->born_ns;
	}
	hash_free(&by_tid);
	return error;
}

/* -------- wait locations */

static size_t copy_stack(uint32_t pid, const struct maps *maps, uint64_t sp, uint64_t *words)
{
	const struct mapping *mapping = maps_find(maps, sp);
	size_t size = STACK_WORDS * sizeof(*words);
	ssize_t got;

	if (!mapping || sp % sizeof(*words))
		return 0;
	size = MIN(size, (size_t)(mapping->end - sp));
	got = memory_read(live_memory((pid_t)pid), sp, words, size);
	return got < 0 ? 0 : (size_t)got / sizeof(*words);
}

/* Builds an image of a running process: a piece of the stack of each waiting thread. */
static int copy_stacks(struct live_threads *threads, struct heap_image *image,
		       struct stack_starts *starts)
{
	for (size_t i = 0; i < threads->list.count && starts->count < LIVE_UNWOUND_MAX; i++) {
		struct live_thread *thread = &threads->list.items[i];
		struct heap_image_thread *copied;
		uint64_t *ip;

		if (!thread->ip)
			continue;
		copied = vec_push(&image->threads);
		ip = vec_push(starts);
		if (!copied || !ip)
			return -ENOMEM;
		*copied = (struct heap_image_thread){.tid = (pid_t)thread->tid,
						     .stack_start = thread->sp};
		copied->stack = calloc(STACK_WORDS, sizeof(*copied->stack));
		if (!copied->stack)
			return -ENOMEM;
		copied->stack_words =
			copy_stack(threads->pid, &image->maps, thread->sp, copied->stack);
		*ip = thread->ip;
		thread->unwound = (uint32_t)image->threads.count - 1;
	}
	return 0;
}

static void take_frames(struct live_threads *threads, const struct stack_frames *frames)
{
	for (size_t i = 0; i < threads->list.count; i++) {
		struct live_thread *thread = &threads->list.items[i];

		thread->depth = thread->ip != 0;
		thread->frames[0] = thread->ip | LM_FRAME_EXACT;
	}
	for (size_t i = 0, next = 0; i < frames->list.count; i++) {
		const struct stack_frame *frame = &frames->list.items[i];
		struct live_thread *thread;

		while (next < threads->list.count &&
		       threads->list.items[next].unwound != frame->thread)
			next++;
		if (next == threads->list.count)
			return;
		thread = &threads->list.items[next];
		/* The first frame is the wait location, already stored. */
		if ((i && frames->list.items[i - 1].thread == frame->thread) &&
		    thread->depth < LIVE_WAIT_FRAMES)
			thread->frames[thread->depth++] = frame->address;
	}
}

static int by_creator(const struct live_thread *a, const struct live_thread *b)
{
	if (a->main != b->main)
		return a->main ? 1 : -1;
	if (a->known != b->known)
		return a->known ? -1 : 1;
	if (a->before != b->before)
		return a->before ? 1 : -1;
	if (a->site != b->site)
		return a->site < b->site ? -1 : 1;
	return (a->start_routine > b->start_routine) - (a->start_routine < b->start_routine);
}

/*
 * Gives a thread that was not unwound the frames of one with the same creator at the same
 * instruction.
 */
static void take_for_others(struct live_threads *threads)
{
	const struct live_thread *like = NULL;

	for (size_t i = 0; i < threads->list.count; i++) {
		struct live_thread *thread = &threads->list.items[i];

		if (thread->unwound != UINT32_MAX || !thread->ip)
			continue;
		if (!like || like->ip != thread->ip || by_creator(like, thread))
			like = NULL;
		for (size_t j = 0; !like && j < MIN(threads->list.count, LIKES_LOOKED_AT); j++) {
			const struct live_thread *other = &threads->list.items[j];

			if (other->unwound != UINT32_MAX && other->ip == thread->ip &&
			    !by_creator(other, thread))
				like = other;
		}
		if (!like)
			continue;
		thread->depth = like->depth;
		memcpy(thread->frames, like->frames, sizeof(thread->frames));
	}
}

static void image_free(struct heap_image *image)
{
	for (size_t i = 0; i < image->threads.count; i++)
		free(image->threads.items[i].stack);
	vec_free(&image->threads);
	maps_free(&image->maps);
}

static int find_waits(struct live_threads *threads, struct worker *worker)
{
	_cleanup_(image_free) struct heap_image image = {.pid = (pid_t)threads->pid};
	_cleanup_(stack_frames_free) struct stack_frames frames = {0};
	struct stack_starts starts = {0};
	int error = maps_read((int)threads->pid, MAPS_ALL, &image.maps);

	if (error)
		return error == -ENOMEM ? error : 0;
	error = copy_stacks(threads, &image, &starts);
	if (!error)
		error = stack_frames_walk(&image, &starts, worker, &frames);
	if (!error) {
		take_frames(threads, &frames);
		take_for_others(threads);
	}
	vec_free(&starts);
	return error;
}

/* -------- groups */

static int by_frames(const struct live_thread *a, const struct live_thread *b)
{
	if (a->depth != b->depth)
		return a->depth < b->depth ? -1 : 1;
	return memcmp(a->frames, b->frames, a->depth * sizeof(*a->frames));
}

static int by_group(const void *left, const void *right)
{
	const struct live_thread *a = left, *b = right;
	int order = by_creator(a, b);

	return order ? order : by_frames(a, b);
}

static int by_count(const void *left, const void *right)
{
	const struct live_group *a = left, *b = right;

	if (a->count != b->count)
		return a->count > b->count ? -1 : 1;
	return (a->id > b->id) - (a->id < b->id);
}

/* By what stays the same while threads come and go: not by where they happen to wait. */
static uint64_t creator_id(const struct live_thread *thread)
{
	uint64_t flags = (uint64_t)thread->known | (uint64_t)thread->before << 1 |
			 (uint64_t)thread->main << 2;

	return hash_mix(hash_mix(flags << 32 | thread->site) ^ thread->start_routine);
}

static struct live_group *open_group(struct thread_census *census, const struct live_thread *thread,
				     const struct bpf_side *bpf)
{
	struct live_group *group = vec_push(&census->live);

	if (!group)
		return NULL;
	*group = (struct live_group){.id = creator_id(thread),
				     .before_attach = thread->before || !thread->known,
				     .main = thread->main,
				     .start_routine = thread->start_routine,
				     .first_count = -1};
	if (!thread->known || thread->before || thread->site == LM_SITE_LOST ||
	    thread->site >= bpf->max_sites)
		return group;
	group->depth = MIN(bpf->sites[thread->site].depth, LM_MAX_FRAMES);
	memcpy(group->addresses, bpf->stacks[thread->site].frames,
	       group->depth * sizeof(*group->addresses));
	return group;
}

static struct live_wait *open_wait(struct live_group *group, const struct live_thread *thread)
{
	struct live_wait *wait = vec_push(&group->waits);

	if (!wait)
		return NULL;
	*wait = (struct live_wait){.depth = thread->depth};
	memcpy(wait->addresses, thread->frames, thread->depth * sizeof(*thread->frames));
	return wait;
}

static int by_waiting(const void *left, const void *right)
{
	const struct live_wait *a = left, *b = right;

	return (a->count < b->count) - (a->count > b->count);
}

static int group_threads(struct thread_census *census, const struct live_threads *threads,
			 const struct bpf_side *bpf)
{
	const struct live_thread *before = NULL;
	struct live_group *group = NULL;
	struct live_wait *wait = NULL;

	for (size_t i = 0; i < threads->list.count; i++) {
		const struct live_thread *thread = &threads->list.items[i];

		if (!before || by_creator(before, thread)) {
			group = open_group(census, thread, bpf);
			wait = NULL;
		}
		if (!group)
			return -ENOMEM;
		if (!wait || by_frames(before, thread))
			wait = open_wait(group, thread);
		if (!wait)
			return -ENOMEM;
		group->count++;
		wait->count++;
		before = thread;
	}
	for (size_t i = 0; i < census->live.count; i++) {
		group = &census->live.items[i];
		qsort(group->waits.items, group->waits.count, sizeof(*group->waits.items),
		      by_waiting);
	}
	if (census->live.count)
		qsort(census->live.items, census->live.count, sizeof(*census->live.items),
		      by_count);
	return 0;
}

int live_census_take(struct thread_census *census, const struct thread_table *table,
		     const struct bpf_side *bpf, struct worker *worker)
{
	struct live_threads threads = {.pid = census->pid};
	int error = list_threads(&threads);

	if (!error)
		error = join_table(&threads, census->process, table);
	if (!error)
		error = find_waits(&threads, worker);
	if (!error && threads.list.count)
		qsort(threads.list.items, threads.list.count, sizeof(*threads.list.items),
		      by_group);
	if (!error)
		error = group_threads(census, &threads, bpf);
	vec_free(&threads.list);
	return error;
}

/* Derives a group's identity from its creator only: wait locations change. */

/* Greatest growth first. */
static int by_growth(const void *left, const void *right)
{
	const struct live_group *a = left, *b = right;
	int64_t mine = (int64_t)a->count - a->first_count, its = (int64_t)b->count - b->first_count;

	return mine != its ? (mine < its ? 1 : -1) : by_count(left, right);
}

static struct live_past *find_past(struct live_pasts *pasts, uint32_t pid, uint64_t id)
{
	for (size_t i = 0; i < pasts->list.count; i++) {
		if (pasts->list.items[i].pid == pid && pasts->list.items[i].id == id)
			return &pasts->list.items[i];
	}
	return NULL;
}

int live_pasts_compare(struct live_pasts *pasts, struct thread_census *census, uint64_t now_ns)
{
	bool first = !pasts->first_ns || pasts->first_ns == now_ns;

	pasts->first_ns = pasts->first_ns ? pasts->first_ns : now_ns;
	for (size_t i = 0; i < census->live.count; i++) {
		struct live_group *group = &census->live.items[i];
		struct live_past *past = find_past(pasts, census->pid, group->id);

		if (!past) {
			past = vec_push(&pasts->list);
			if (!past)
				return -ENOMEM;
			/* A group that appears later has grown from zero. */
			*past = (struct live_past){.pid = census->pid,
						   .id = group->id,
						   .first_count = first ? group->count : 0};
		}
		if (first)
			continue;
		group->first_count = (int64_t)past->first_count;
		group->since_ns = now_ns - pasts->first_ns;
	}
	if (!first && census->live.count)
		qsort(census->live.items, census->live.count, sizeof(*census->live.items),
		      by_growth);
	return 0;
}

void live_pasts_free(struct live_pasts *pasts)
{
	vec_free(&pasts->list);
}
