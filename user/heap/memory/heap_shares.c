// SPDX-License-Identifier: GPL-2.0-or-later
#include "heap/memory/heap_shares.h"

#include <errno.h>

#include "base/cleanup.h"
#include "base/search.h"
#include "heap/allocators/heap_image_zones.h"
#include "heap/allocators/heap_reader.h"
#include "heap/memory/residency.h"
#include "process/pause/hold.h"

/* Most readings of a heap that changes meanwhile. */
#define READ_TRIES 3
/* Most bytes of a contiguous range handled at once. */
#define STRETCH_BYTES (1ull << 30)
/* Larger runs are not checked page by page: they cannot be resident. */
#define RUN_MAX_BYTES (1ull << 40)

/* State of summing up the bytes of a heap. */

struct summing {
	const struct heap *heap;
	struct allocator_report *report;
	struct residency residency; /* of the stretch */
	/* Adjacent bytes of one use and arena, not yet in the sums: most blocks are live. */
	struct {
		enum heap_use use;
		uint32_t arena;
		uint64_t start, end, blocks;
	} pending;
};

static void add_to_share(struct summing *summing, struct heap_share *share)
{
	uint64_t start = summing->pending.start, end = summing->pending.end;

	share->bytes += end - start;
	share->resident += residency_bytes(&summing->residency, start, end, RESIDENT);
	share->swapped += residency_bytes(&summing->residency, start, end, IN_SWAP);
	share->blocks += summing->pending.blocks;
}

static void add_pending(struct summing *summing)
{
	struct allocator_report *report = summing->report;
	uint32_t arena = summing->pending.arena;

	add_to_share(summing, &report->uses[summing->pending.use]);
	if (arena < report->arenas.count)
		add_to_share(summing, &report->arenas.items[arena].uses[summing->pending.use]);
	summing->pending.start = summing->pending.end = summing->pending.blocks = 0;
}

static void add_share(struct summing *summing, const struct heap_run *run, enum heap_use use,
		      uint64_t start, uint64_t end, bool is_block)
{
	if (end <= start)
		return;
	if (summing->pending.use != use || summing->pending.end != start ||
	    summing->pending.arena != run->arena) {
		add_pending(summing);
		summing->pending.use = use;
		summing->pending.arena = run->arena;
		summing->pending.start = start;
	}
	summing->pending.end = end;
	summing->pending.blocks += is_block;
}

/* Adds the blocks of a run; memory before, between and behind them is free, too. */
static void add_blocks(struct summing *summing, const struct heap_run *run)
{
	static const enum heap_use uses[] = {
		[BLOCK_LIVE] = HEAP_LIVE,
		[BLOCK_CACHED] = HEAP_CACHED,
		[BLOCK_FAST] = HEAP_FAST,
		[BLOCK_FREE] = HEAP_BINS,
	};
	uint64_t at = run->start;

	for (uint32_t i = 0; i < run->count; i++) {
		struct heap_block block = heap_block(summing->heap, run, i);

		add_share(summing, run, HEAP_BINS, at, block.start, false);
		add_share(summing, run, uses[block.use], block.start, block.end, true);
		at = block.end;
	}
	add_share(summing, run, HEAP_BINS, at, run->end, false);
}

static void add_run(struct summing *summing, const struct heap_run *run)
{
	static const enum heap_use uses[] = {
		[RUN_TOP] = HEAP_TOP,	       [RUN_DIRTY] = HEAP_DIRTY,
		[RUN_MUZZY] = HEAP_DIRTY,      [RUN_RETAINED] = HEAP_DIRTY,
		[RUN_OWN] = HEAP_OWN,	       [RUN_TABLES] = HEAP_OWN,
		[RUN_CHANGING] = HEAP_UNKNOWN, [RUN_UNKNOWN] = HEAP_UNKNOWN,
	};
	_Static_assert(ARRAY_SIZE(uses) == RUN_USE_MAX_, "a use for every run");

	/* Retained pages are resident inside huge pages: a purge skips them. */
	if (run->use == RUN_DIRTY || run->use == RUN_MUZZY)
		summing->report->figures[ALLOCATOR_TRIMMABLE] +=
			residency_bytes(&summing->residency, run->start, run->end, RESIDENT);
	if (run->use == RUN_BLOCKS)
		add_blocks(summing, run);
	else
		add_share(summing, run, uses[run->use], run->start, run->end, run->use == RUN_TOP);
}

/* Adds the bytes of a range that could be given back, page by page. */
static void add_trims(struct summing *summing, uint64_t start, uint64_t end)
{
	const struct heap_trim *trims = summing->heap->trims.items;
	struct allocator_report *report = summing->report;
	size_t count = summing->heap->trims.count;

	for (size_t i = SORTED_BEFORE(trim, trims, count, trim->end <= start);
	     i < count && trims[i].start < end; i++) {
		uint64_t bytes = residency_bytes(&summing->residency, MAX(trims[i].start, start),
						 MIN(trims[i].end, end), RESIDENT);

		report->figures[ALLOCATOR_TRIMMABLE] += bytes;
		if (trims[i].arena < report->arenas.count)
			report->arenas.items[trims[i].arena].trimmable += bytes;
	}
}

/* Returns whether a run is in the heap itself: blocks with separate mappings, and tables, are
 * elsewhere. */
static bool is_inside(const struct heap_run *run)
{
	return run->use != RUN_MAPPED && run->use != RUN_TABLES;
}

/* Returns the first run behind the contiguous ones from the i-th on. */
static size_t stretch_end(const struct heap *heap, size_t i)
{
	const struct heap_run *runs = heap->runs.items;
	uint64_t start = runs[i].start;

	for (i++; i < heap->runs.count && runs[i].start == runs[i - 1].end && is_inside(&runs[i]) &&
		  runs[i].end - start <= STRETCH_BYTES;)
		i++;
	return i;
}

#define ADD_EXTENT(list, first, behind)                                                            \
	({                                                                                         \
		struct heap_extent *extent_ = vec_push(list);                                      \
		if (extent_)                                                                       \
			*extent_ = (struct heap_extent){(first), (behind)};                        \
		extent_ ? 0 : -ENOMEM;                                                             \
	})

static int add_stretch(struct summing *summing, size_t first, size_t behind,
		       const struct peek *peek, struct heap_shares *shares)
{
	const struct heap_run *runs = summing->heap->runs.items;
	uint64_t start = runs[first].start, end = runs[behind - 1].end;

	if (end - start > RUN_MAX_BYTES)
		return 0;
	if (residency_read(&summing->residency, peek->source, peek->pagemap, start, end))
		return -ENOMEM;
	for (size_t i = first; i < behind; i++)
		add_run(summing, &runs[i]);
	add_pending(summing);
	add_trims(summing, start, end);
	residency_free(&summing->residency);
	return ADD_EXTENT(&shares->extents, start, end);
}

static int add_runs(struct summing *summing, const struct peek *peek, struct heap_shares *shares)
{
	const struct heap *heap = summing->heap;
	int error = 0;

	for (size_t i = 0, next; !error && i < heap->runs.count; i = next) {
		const struct heap_run *run = &heap->runs.items[i];

		next = is_inside(run) ? stretch_end(heap, i) : i + 1;
		if (is_inside(run))
			error = add_stretch(summing, i, next, peek, shares);
		else if (run->use == RUN_MAPPED)
			/* The last page's rest is malloc's own (glibc 2.43). */
			error = ADD_EXTENT(&shares->mapped, run->start,
					   align_up(run->end, MEMORY_PAGE));
	}
	return error;
}

static int add_heap(struct heap *heap, const struct peek *peek, struct heap_shares *shares)
{
	struct allocator_report *report = vec_push(&shares->reports.list);
	struct summing summing = {.heap = heap, .report = report};
	int error;

	if (!report)
		return -ENOMEM;
	report->kind = heap->reader->libc ? ALLOCATOR_LIBC : ALLOCATOR_OTHER;
	report->why = heap->why;
	memcpy(report->name, heap->name, sizeof(report->name));
	memcpy(report->figures, heap->figures, sizeof(report->figures));
	memcpy(&report->arenas, &heap->arenas, sizeof(report->arenas));
	memset(&heap->arenas, 0, sizeof(heap->arenas));
	report->figures[ALLOCATOR_CERTAIN] = !heap->why;
	error = add_runs(&summing, peek, shares);
	residency_free(&summing.residency);
	return error;
}

/* Reading the heaps. */

struct reading {
	struct heap_view view;
	struct heap_finds finds;
	const char *why_changing; /* of a heap that could not be read at all */
	struct heap_shares *shares;
};

/*
 * Returns whether another try may find more: a list under modification may be consistent by then.
 */
static bool is_unsettled(const struct heap *heap, size_t tries)
{
	return heap->broken || heap->broken_caches || heap->broken_walks > heap->absent_walks ||
	       (heap->figures[ALLOCATOR_BROKEN_LISTS] && tries == 1);
}

/* Does the work that can wait until a heap's records are read. */
static int settle_heap(struct reading *reading, void *state, struct heap *heap)
{
	int error = heap->reader->settle ? heap->reader->settle(state, heap) : 0;

	if (!error && heap->name[0] && heap->reader->account)
		error = heap->reader->account(state, &reading->view, heap);
	return error;
}

/* Reads a heap. 0; -ENOENT: not there (any more); -ENOMEM; -ESRCH. */
static int read_heap(struct reading *reading, void *state, struct heap *heap)
{
	const struct heap_reader *reader = heap->reader;
	int error;

	for (size_t tries = 1;; tries++) {
		peek_forget(reading->view.peek);
		error = reader->read(state, &reading->view, heap);
		if (error || tries == READ_TRIES || !is_unsettled(heap, tries))
			break;
		heap_free(heap);
		heap->reader = reader;
	}
	return error ? error : settle_heap(reading, state, heap);
}

static int read_reader(struct reading *reading, const struct heap_reader *reader, void *state)
{
	_cleanup_(heap_free) struct heap heap = {.reader = reader};
	int error = read_heap(reading, state, &heap);
	bool changed = heap.broken_walks > heap.absent_walks;

	if (error)
		return error == -ENOENT ? 0 : error;
	reading->shares->changed |= changed;
	if (heap.name[0])
		return add_heap(&heap, reading->view.peek, reading->shares);
	if (changed)
		reading->why_changing = reader->why_changing;
	return 0;
}

static int compare_extents(const void *left_pointer, const void *right_pointer)
{
	const struct heap_extent *left = left_pointer, *right = right_pointer;

	return left->start < right->start ? -1 : left->start > right->start;
}

static void sort_extents(struct heap_shares *shares)
{
	if (shares->extents.count)
		qsort(shares->extents.items, shares->extents.count, sizeof(*shares->extents.items),
		      compare_extents);
}

static int read_heaps(struct reading *reading)
{
	int error = heap_finds_make(&reading->finds, &reading->view);

	/*
	 * A heap that changed during the search is read again, as often as one that changes later.
	 */
	if (!error || error == -EAGAIN)
		error = heap_finds_walk_begin(&reading->finds, &reading->view);
	if (!error)
		error = heap_finds_walk_end(&reading->finds, &reading->view);
	for (size_t i = 0; !error && heap_reader_at(i); i++) {
		if (reading->finds.states[i])
			error = read_reader(reading, heap_reader_at(i), reading->finds.states[i]);
	}
	sort_extents(reading->shares);
	return error;
}

/* Returns the reason; of several allocators, the last one replaces the C library's. */
static const char *why_unknown(const struct reading *reading)
{
	const struct allocator_reports *reports = &reading->shares->reports;
	const struct allocator_report *libc = allocator_report_of(reports, ALLOCATOR_LIBC);
	const struct allocator_report *other = allocator_report_of(reports, ALLOCATOR_OTHER);
	const char *why = other ? other->why : heap_readers_why_not(reading->view.maps);

	if (why || other)
		return why || !libc ? why : libc->why;
	if (libc)
		return libc->why;
	return reading->why_changing ? reading->why_changing : heap_reader_at(0)->why_not;
}

int heap_shares_read(const struct maps *maps, int pagemap, struct heap_shares *shares)
{
	_cleanup_(filter_free) struct filter heaps = {0};
	struct peek peek = {.source = maps->source, .pagemap = pagemap};
	struct reading reading = {.view = {.peek = &peek, .heaps = &heaps, .maps = maps},
				  .shares = shares};
	int error = filter_heaps_from_maps(maps, &heaps);

	if (!error)
		error = read_heaps(&reading);
	shares->why = why_unknown(&reading);
	heap_finds_free(&reading.finds);
	peek_free(&peek);
	return error;
}

/* Reading a stopped process. */

struct standing {
	pid_t pid;
	struct reading *reading;
	struct maps *maps;
	struct filter *heaps;
	struct deadline deadline;
	struct heap read[HEAP_READERS_MAX]; /* heaps read in time have a name, or runs */
	bool in_time[HEAP_READERS_MAX];
};

static int read_maps_again(struct standing *standing)
{
	struct maps fresh;
	int error = maps_read_until(standing->pid, &standing->deadline, &fresh);

	if (error)
		return error;
	maps_free(standing->maps);
	*standing->maps = fresh;
	filter_free(standing->heaps);
	*standing->heaps = (struct filter){0};
	return filter_heaps_from_maps(standing->maps, standing->heaps);
}

/* Reads the parts that must be consistent: the allocators' records, and a walk through their
 * blocks. */
static int read_standing(void *context, const struct stop *stop, struct deadline *deadline)
{
	struct standing *standing = context;
	struct heap_view *view = &standing->reading->view;
	struct heap_finds *finds = &standing->reading->finds;
	int error;

	standing->deadline = *deadline;
	view->peek->deadline = &standing->deadline;
	view->stop = stop;
	error = read_maps_again(standing);
	peek_forget(view->peek);
	for (size_t i = 0; !error && heap_reader_at(i); i++) {
		standing->read[i].reader = heap_reader_at(i);
		if (!finds->states[i])
			continue;
		error = heap_reader_at(i)->read(finds->states[i], view, &standing->read[i]);
		if (!error && deadline_has_passed(&standing->deadline))
			error = -ETIMEDOUT;
		standing->in_time[i] = !error;
	}
	view->peek->deadline = NULL;
	view->stop = NULL;
	return error;
}

/* Adds the parts that can be read after the process resumes; for a heap that took too long, all but
 * its records. */
static int add_standing(struct standing *standing, size_t i)
{
	struct reading *reading = standing->reading;
	struct heap *heap = &standing->read[i];
	void *state = reading->finds.states[i];
	int error;

	if (!standing->in_time[i])
		return read_reader(reading, heap_reader_at(i), state);
	error = settle_heap(reading, state, heap);
	return error || !heap->name[0] ? error
				       : add_heap(heap, reading->view.peek, reading->shares);
}

static int add_all_standing(struct standing *standing)
{
	int error = 0;

	peek_forget(standing->reading->view.peek);
	for (size_t i = 0; !error && heap_reader_at(i); i++) {
		if (standing->reading->finds.states[i])
			error = add_standing(standing, i);
	}
	sort_extents(standing->reading->shares);
	return error;
}

static uint64_t writable_bytes(const struct maps *maps)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < maps->list.count; i++) {
		const struct mapping *mapping = &maps->list.items[i];

		if (mapping->writable && !mapping->shared)
			sum += mapping->end - mapping->start;
	}
	return sum;
}

int heap_shares_read_stopped(pid_t pid, struct maps *maps, int pagemap, uint64_t max_pause_ns,
			     struct heap_shares *shares)
{
	_cleanup_(filter_free) struct filter heaps = {0};
	struct peek peek = {.source = maps->source, .pagemap = pagemap};
	struct reading reading = {.view = {.peek = &peek, .heaps = &heaps, .maps = maps},
				  .shares = shares};
	struct standing standing = {.pid = pid, .reading = &reading, .maps = maps, .heaps = &heaps};
	struct tracer tracer = {0};
	struct hold hold = {.pid = pid,
			    .max_pause_ns = hold_limit_ns(max_pause_ns, writable_bytes(maps)),
			    .tracer = &tracer,
			    .read = read_standing,
			    .context = &standing};
	int error = filter_heaps_from_maps(maps, &heaps);

	/* Searches the modules before the stop, because that is slow. A heap that changes is found
	 * as well. */
	if (!error)
		error = heap_finds_make(&reading.finds, &reading.view);
	if (!error || error == -EAGAIN)
		error = tracer_start(&tracer) ? -EAGAIN : hold_process(&hold);
	if (hold.stood)
		shares->pause_ns = hold.stop.ended_ns - hold.stop.began_ns;
	if (hold.stood && (!error || error == -ETIMEDOUT)) {
		int late = error;

		error = add_all_standing(&standing);
		if (!error && !shares->reports.list.count)
			error = late;
	}
	stop_free(&hold.stop);
	shares->why = why_unknown(&reading);
	for (size_t i = 0; i < HEAP_READERS_MAX; i++)
		heap_free(&standing.read[i]);
	heap_finds_free(&reading.finds);
	peek_free(&peek);
	return error;
}

void heap_shares_free(struct heap_shares *shares)
{
	allocator_reports_free(&shares->reports);
	vec_free(&shares->extents);
	vec_free(&shares->mapped);
}
