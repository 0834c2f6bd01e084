// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/memory_split.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "report/figures.h"

static uint64_t arenas_free(const struct allocator_report *report)
{
	static const enum heap_use unused[] = {HEAP_CACHED, HEAP_FAST, HEAP_BINS, HEAP_TOP};
	uint64_t sum = 0;

	for (size_t i = 0; report && i < report->arenas.count; i++) {
		const struct heap_arena *arena = &report->arenas.items[i];

		for (size_t j = 0; !arena->main && j < ARRAY_SIZE(unused); j++)
			sum += arena->uses[unused[j]].resident;
	}
	return sum;
}

static uint64_t kept_by(const struct allocator_report *report)
{
	uint64_t sum = 0;

	for (size_t use = HEAP_CACHED; report && use <= HEAP_DIRTY; use++)
		sum += report->uses[use].resident;
	return sum;
}

/* Returns the allocator with most of the free memory; NULL: none. */
static const struct allocator_report *keeper(const struct memory_process *process)
{
	const struct allocator_report *most =
		allocator_report_of(&process->allocators, ALLOCATOR_LIBC);

	for (size_t i = 0; i < process->allocators.list.count; i++) {
		if (kept_by(&process->allocators.list.items[i]) > kept_by(most))
			most = &process->allocators.list.items[i];
	}
	return most;
}

/* Extrapolates from the part that was read to all huge pages. */
static uint64_t huge_zero(const struct memory_huge *huge)
{
	return huge->checked ? (uint64_t)((double)huge->zero / (double)huge->checked *
					  (double)huge->bytes)
			     : 0;
}

/* What a runtime counts of its heap; of several the first one that counts any. */
static void count_heap(const struct memory_process *process, struct memory_split *split)
{
	for (size_t i = 0; i < process->runtimes.count; i++) {
		const struct runtime_memory *memory = &process->runtimes.items[i];

		if (!memory->floor.known && !memory->goal.live)
			continue;
		split->floor = memory->floor;
		split->words = memory->words;
		split->goal = memory->goal;
		return;
	}
}

struct memory_split memory_split_of(const struct memory_process *process)
{
	const struct allocator_report *most = keeper(process);
	const struct allocator_report *libc =
		allocator_report_of(&process->allocators, ALLOCATOR_LIBC);
	struct memory_split split = {
		.time = process->time,
		.pid = process->pid,
		.rss = process->sum.rss,
		.pss = process->sum.pss,
		.swap = process->sum.swap,
		.own = memory_own(process),
		.forked = process->forked,
		.fillable_count = process->fillable_count,
		.is_libc = !most || most == libc,
		.trimmable = memory_trimmable(process),
		.libc_trimmable = libc ? libc->figures[ALLOCATOR_TRIMMABLE] : 0,
		.arenas = libc ? libc->arenas.count : 0,
		.arenas_free = arenas_free(libc),
		.live_stacks = process->live_stacks,
		.ended_stacks = process->ended_stacks + process->joined_stacks,
		.huge_bytes = process->huge.bytes,
		.huge_zero = huge_zero(&process->huge),
		.runtime = process->runtime.key,
		.tool = process->runtime.tool,
		.why = process->why,
	};

	count_heap(process, &split);
	memcpy(split.fillable, process->fillable, sizeof(split.fillable));
	_Static_assert(sizeof(split.allocator) == sizeof(most->name), "room for a name");
	if (most)
		memcpy(split.allocator, most->name, sizeof(split.allocator));
	for (size_t part = 0; part < MEMORY_PART_MAX_; part++)
		split.parts[part] = (struct memory_amount){process->parts[part].resident,
							   process->parts[part].swapped};
	return split;
}

uint64_t memory_split_group(const struct memory_split *split, enum memory_group group)
{
	uint64_t sum = 0;

	for (size_t part = 0; part < MEMORY_PART_MAX_; part++) {
		if (memory_part_group(part) == group)
			sum += split->parts[part].resident;
	}
	return sum;
}

uint64_t memory_split_free(const struct memory_split *split)
{
	return memory_split_group(split, GROUP_FREE);
}

/* -------- series */

static uint64_t place_of(pid_t pid, uint64_t key)
{
	return hash_mix((uint64_t)pid) ^ hash_mix(~key);
}

static struct memory_series *find(const struct memory_history *history, pid_t pid, uint64_t key)
{
	const uint64_t *position = hash_get(&history->positions, place_of(pid, key));
	struct memory_series *found;

	if (!position)
		return NULL;
	found = &history->list.items[*position];
	return found->pid == pid && found->key == key ? found : NULL;
}

/* Enters its index for find(). */
static int position_put(struct memory_history *history, const struct memory_series *series)
{
	uint64_t *position =
		hash_put(&history->positions, place_of(series->pid, series->key), NULL);

	if (!position)
		return -ENOMEM;
	*position = (uint64_t)(series - history->list.items);
	return 0;
}

const struct memory_series *memory_history_find(const struct memory_history *history, pid_t pid,
						uint64_t key)
{
	return find(history, pid, key);
}

static void thin(struct memory_series *series)
{
	size_t kept = 1;

	for (size_t i = 2; i < series->splits.count; i += 2)
		series->splits.items[kept++] = series->splits.items[i];
	series->splits.count = kept;
}

const struct memory_split *memory_series_latest(const struct memory_series *series)
{
	return &series->splits.items[series->splits.count - 1];
}

int memory_history_add(struct memory_history *history, uint64_t key, const char *comm,
		       const struct memory_split *split)
{
	struct memory_series *series =
		find(history, split->pid, key) ?: find(history, split->pid, 0);
	struct memory_split *added;
	int error = 0;

	if (series && series->key != key) {
		series->key = key;
		error = position_put(history, series);
	}
	if (series)
		heap_floor_rebase(&series->splits.items[0].floor, &split->floor);
	if (error || (series && !history->max))
		return error;
	if (!series) {
		series = vec_push(&history->list);
		if (!series)
			return -ENOMEM;
		series->key = key;
		series->pid = split->pid;
	}
	snprintf(series->comm, sizeof(series->comm), "%s", comm);
	if (history->max && series->splits.count >= history->max)
		thin(series);
	added = vec_push(&series->splits);
	if (!added) {
		history->list.count -= !series->splits.count;
		return -ENOMEM;
	}
	*added = *split;
	return position_put(history, series);
}

const struct memory_series *memory_series_of(const struct report *report,
					     const struct snapshot_process *process)
{
	const struct memory_history *memory = process->pid ? report->memory : NULL;
	const struct memory_series *series =
		memory ? memory_history_find(memory, (pid_t)process->pid, process->key) : NULL;

	/* Before its first allocation it had no key. */
	return series || !memory ? series : memory_history_find(memory, (pid_t)process->pid, 0);
}

void memory_history_keep(struct memory_history *history,
			 bool (*is_kept)(const struct memory_series *series, const void *context),
			 const void *context)
{
	size_t kept = 0;

	for (size_t i = 0; i < history->list.count; i++) {
		struct memory_series *series = &history->list.items[i];

		if (is_kept(series, context))
			history->list.items[kept++] = *series;
		else
			vec_free(&series->splits);
	}
	history->list.count = kept;
	hash_free(&history->positions);
	/* If out of memory for its index, it starts over. */
	for (size_t i = 0; i < kept; i++)
		position_put(history, &history->list.items[i]);
}

void memory_history_free(struct memory_history *history)
{
	for (size_t i = 0; i < history->list.count; i++)
		vec_free(&history->list.items[i].splits);
	vec_free(&history->list);
	hash_free(&history->positions);
}

/* -------- changes */

static struct memory_change *change_of(struct memory_changes *changes, const char *comm, pid_t pid)
{
	struct memory_change *change;

	for (size_t i = 0; i < changes->list.count; i++) {
		change = &changes->list.items[i];
		if (change->pid == pid && (pid || !strcmp(change->comm, comm)))
			return change;
	}
	change = vec_push(&changes->list);
	if (!change)
		return NULL;
	change->pid = pid;
	snprintf(change->comm, sizeof(change->comm), "%s", comm);
	return change;
}

int memory_changes_add(struct memory_changes *changes, const char *comm, pid_t pid,
		       const struct memory_split *split, bool later)
{
	struct memory_change *change = change_of(changes, comm, pid);

	if (!change)
		return -ENOMEM;
	*(later ? &change->processes : &change->processes_before) += 1;
	*(later ? &change->rss : &change->rss_before) += split->rss;
	for (size_t i = 0; i < GROUP_AMOUNT_END; i++)
		(later ? change->groups : change->groups_before)[i] += memory_split_group(split, i);
	return 0;
}

/* Page tables are not part of Rss. */
static int64_t grown_by(const struct memory_change *change)
{
	return (int64_t)(change->rss - change->rss_before) +
	       (int64_t)(change->groups[GROUP_PAGE_TABLES] -
			 change->groups_before[GROUP_PAGE_TABLES]);
}

static int by_growth(const void *left_pointer, const void *right_pointer)
{
	const struct memory_change *left = left_pointer, *right = right_pointer;
	int64_t grown[2] = {grown_by(left), grown_by(right)};

	if (grown[0] != grown[1])
		return grown[0] > grown[1] ? -1 : 1;
	return strcmp(left->comm, right->comm) ?: left->pid - right->pid;
}

void memory_changes_sort(struct memory_changes *changes)
{
	if (changes->list.count)
		qsort(changes->list.items, changes->list.count, sizeof(*changes->list.items),
		      by_growth);
}

void memory_changes_free(struct memory_changes *changes)
{
	vec_free(&changes->list);
}

#define SPLIT(member) offsetof(struct memory_split, member)
static const struct figure split_figures[] = {
	FIGURE("time", "time_ns", TIME, SPLIT(time)),
	FIGURE("rss_bytes", NULL, NUMBER, SPLIT(rss)),
	FIGURE("pss_bytes", NULL, NUMBER, SPLIT(pss)),
	FIGURE("swap_bytes", NULL, NUMBER, SPLIT(swap)),
	FIGURE("allocator", NULL, NOTE, SPLIT(allocator),
	       .size = sizeof(((struct memory_split *)0)->allocator)),
	FIGURE(NULL, "is_glibc", FLAG, SPLIT(is_libc)),
	FIGURE(NULL, "runtime", TEXT, SPLIT(runtime)),
	FIGURE("trimmable_bytes", NULL, NUMBER, SPLIT(trimmable)),
	FIGURE(NULL, "glibc_trimmable_bytes", NUMBER, SPLIT(libc_trimmable)),
	FIGURE(NULL, "arenas", NUMBER, SPLIT(arenas)),
	FIGURE(NULL, "arenas_free_bytes", NUMBER, SPLIT(arenas_free)),
	FIGURE(NULL, "live_stacks", NUMBER, SPLIT(live_stacks)),
	FIGURE(NULL, "ended_stacks", NUMBER, SPLIT(ended_stacks)),
	FIGURE(NULL, "huge_bytes", NUMBER, SPLIT(huge_bytes)),
	FIGURE(NULL, "huge_zero_bytes", NUMBER, SPLIT(huge_zero)),
	FIGURE("not_known", NULL, TEXT, SPLIT(why)),
};
const struct figures memory_split_figures = FIGURES(split_figures);
