// SPDX-License-Identifier: GPL-2.0-or-later
#include "heap/allocators/heap_image.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/search.h"
#include "binary/arch/machine.h"
#include "heap/allocators/heap_image_stop.h"
#include "heap/allocators/heap_image_zones.h"
#include "process/proc/core.h"
#include "process/proc/memory_room.h"
#include "process/proc/process_memory.h"

/*
 * Soft-dirty bits: the pages that a process wrote since a moment
 * (Documentation/admin-guide/mm/soft-dirty.rst). Starting resets them, which an incremental
 * checkpoint of the same process (CRIU) would notice; for the process each page costs one more
 * minor fault.
 */

static int clear_bits(pid_t pid)
{
	_cleanup_close_ int fd = -1;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/clear_refs", pid);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, "4", 1) != 1)
		return -errno;
	return 0;
}

/* Without CONFIG_MEM_SOFT_DIRTY clearing succeeds, but no bit is ever set: tested on a page. */
static int try_here(int pagemap, volatile char *page)
{
	uint64_t before, after;

	*page = 1;
	if (clear_bits(getpid()))
		return -EACCES;
	pagemap_read(live_memory(getpid()), pagemap, (uintptr_t)page, &before, 1);
	*page = 2;
	pagemap_read(live_memory(getpid()), pagemap, (uintptr_t)page, &after, 1);
	return !pagemap_is_soft_dirty(before) && pagemap_is_soft_dirty(after) ? 0 : -ENOTSUP;
}

static int try_kernel(void)
{
	_cleanup_close_ int pagemap = pagemap_open(live_memory(getpid()));
	void *page;
	int error;

	if (pagemap < 0)
		return -EACCES;
	page = mmap(NULL, MEMORY_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		return -ENOMEM;
	error = try_here(pagemap, page);
	munmap(page, MEMORY_PAGE);
	return error;
}

/*
 * Starts tracking. Returns 0: pagemap now shows the writes of `pid`; -ENOTSUP: not in this kernel;
 * -EACCES.
 */
static int soft_dirty_start(pid_t pid)
{
	int error = try_kernel();

	return error ? error : clear_bits(pid);
}

/* -------- reading while the process runs */

/* Minimum size for finding out, before a stop, which pages change all the time. */
#define MANY_PAGES 32768

/* Room kept for a growing process. */
#define KEPT_BYTES_MORE (16ull << 20)

static void forget_maps(struct image_builder *builder)
{
	maps_free(&builder->heap_image->maps);
	pages_free(&builder->heap_image->pages);
	filter_free(&builder->filter);
	filter_free(&builder->heaps);
	cleanup_close(&builder->pagemap);
}

/* Returns whether there will be a stop. */
static bool runs(const struct image_builder *builder)
{
	return !builder->options->no_stop && !builder->options->core;
}

/* Returns its present pages, an allowance for growth until the stop, limited by leakmon's room. */
static uint64_t pages_at_most(const struct heap_image *heap_image)
{
	uint64_t bytes = heap_image->writable_bytes + heap_image->writable_bytes / 4;
	uint64_t room = MIN(memory_room(), memory_available()) / 4;

	return MIN(bytes + KEPT_BYTES_MORE, room) / MEMORY_PAGE;
}

static int open_maps(struct image_builder *builder)
{
	struct heap_image *heap_image = builder->heap_image;
	int error;

	forget_maps(builder);
	error = builder->options->core
			? core_maps(builder->options->core, MAPS_ALL, &heap_image->maps)
			: maps_read(heap_image->pid, MAPS_ALL, &heap_image->maps);
	if (error)
		return error;
	builder->pagemap = pagemap_open(heap_image->maps.source);
	heap_image->pagemap_readable = builder->pagemap >= 0;
	builder->peek.source = heap_image->maps.source;
	builder->peek.pagemap = builder->pagemap;
	peek_forget(&builder->peek);
	error = ranges_from_maps(&heap_image->maps, builder->pagemap, &heap_image->pages,
				 &heap_image->writable_bytes);
	if (!error)
		error = pages_prepare(&heap_image->pages);
	if (!error && builder->options->keep && runs(builder))
		pages_keep(&heap_image->pages, pages_at_most(heap_image));
	if (!error)
		error = filter_from_maps(&heap_image->maps, &builder->filter);
	return error ? error : filter_heaps_from_maps(&heap_image->maps, &builder->heaps);
}

static bool has_other(const struct heap_finds *finds)
{
	for (size_t i = 0; heap_reader_at(i); i++) {
		if (finds->states[i] && !heap_reader_at(i)->libc)
			return true;
	}
	return false;
}

/* A growing heap, or one just being changed, may take more than one attempt. */
static int open_heaps(struct image_builder *builder)
{
	struct heap_view view = builder_view(builder, NULL);
	int error = open_maps(builder), found = -EAGAIN;

	for (size_t try = 0; !error && found == -EAGAIN && try < HEAP_FIND_TRIES; try++) {
		found = heap_finds_make(&builder->finds, &view);
		if (found)
			error = found == -EAGAIN ? open_maps(builder) : found;
	}
	builder->why_not = has_other(&builder->finds) ? NULL : heap_readers_why_not(view.maps);
	return error;
}

static void feed_walks(void *context, uint64_t address, const uint64_t *words, size_t count)
{
	struct image_builder *builder = context;

	if (!builder->error)
		builder->error = heap_finds_walk_feed(&builder->finds, address, words, count);
}

/* Reads the process for the first time, without a stop. Returns 0 or -errno. */
static int read_once(struct image_builder *builder)
{
	struct heap_image *heap_image = builder->heap_image;
	struct heap_view view = builder_view(builder, NULL);
	struct page_scan scan;
	int error = open_heaps(builder);

	if (error)
		return error;
	heap_image->soft_dirty =
		runs(builder) && heap_image->pagemap_readable && !soft_dirty_start(heap_image->pid);
	error = heap_finds_walk_begin(&builder->finds, &view);
	scan = builder_scan(builder);
	scan.visit = feed_walks;
	scan.context = builder;
	if (!error)
		error = pages_read(&heap_image->pages, &scan);
	if (!error)
		error = builder->error;
	return error ? error : heap_finds_walk_end(&builder->finds, &view);
}

/* The second reading, still while it runs: pages changing now are read first at the stop. */
static int read_twice(struct image_builder *builder)
{
	struct heap_image *heap_image = builder->heap_image;
	struct page_scan scan = builder_scan(builder);
	size_t checked;

	if (!runs(builder) || heap_image->soft_dirty ||
	    (!heap_image->pages.copies && heap_image->pages.count < MANY_PAGES))
		return 0;
	scan.deadline_ns = UINT64_MAX;
	return pages_check(&heap_image->pages, &scan, &checked);
}

/*
 * Makes the first reading, while it runs; and a second one of large memory. Returns errors as
 * heap_image_take().
 */
static int builder_read_running(struct image_builder *builder)
{
	int error = read_once(builder);

	return error ? error : read_twice(builder);
}

/* Empties the list of threads, and frees their data. */
static void forget_threads(struct heap_image *heap_image)
{
	for (size_t i = 0; i < heap_image->threads.count; i++) {
		free(heap_image->threads.items[i].stack);
		free(heap_image->threads.items[i].vector.blocks);
	}
	heap_image->threads.count = 0;
}

/* Completes an image without a stop: drops the data of a stop that was too short. */
static int read_unstopped(struct image_builder *builder)
{
	struct heap_image *heap_image = builder->heap_image;
	int error;

	forget_threads(heap_image);
	heap_image->ended.count = 0;
	heap_image->zones.count = 0;
	builder->deadline = (struct deadline){0};
	builder->peek.is_present = NULL;
	peek_forget(&builder->peek);
	error = builder_read_heaps(builder, NULL);
	return error ? error : zones_add_threads_unstopped(heap_image);
}

/* Completes the reading of the heaps, deferred from the stop. */
static int settle_heaps(struct image_builder *builder)
{
	struct heaps *heaps = &builder->heap_image->heaps;
	int error = 0;

	for (size_t i = 0, at = 0; !error && at < heaps->list.count; i++) {
		struct heap *heap = &heaps->list.items[at];

		if (heap->reader != heap_reader_at(i))
			continue;
		if (heap->reader->settle)
			error = heap->reader->settle(builder->finds.states[i], heap);
		at++;
	}
	return error;
}

/* Blocks with their own mappings: rejects data that only resembles a header. */

static int compare_mapped(const void *left_pointer, const void *right_pointer)
{
	const struct mapped_block *left = left_pointer, *right = right_pointer;

	return left->start < right->start ? -1 : left->start > right->start;
}

/* Returns whether all parts split off by mprotect(2) are of one kind. */
static bool is_one_block(const struct heap_image *heap_image, const struct mapped_block *block)
{
	size_t at = SORTED_BEFORE(zone, heap_image->zones.items, heap_image->zones.count,
				  zone->end <= block->start);

	for (; at < heap_image->zones.count && heap_image->zones.items[at].start < block->end;
	     at++) {
		if (heap_image->zones.items[at].kind != ZONE_TLS)
			return false;
	}
	return true;
}

static bool is_plausible(const struct heap_image *heap_image, const struct mapped_block *block)
{
	const struct zone *zone = heap_image_zone(heap_image, block->start);
	const struct page_range *range = pages_range_of(&heap_image->pages, block->start);
	uint64_t size = block->end - block->start;

	/* The kernel merges mappings: thread-locals may have gained neighbours. */
	if (!range ||
	    (zone && zone->kind != ZONE_TLS && !zone_may_end_at(heap_image, zone, block->page)))
		return false;
	return size <= range->end - block->start ||
	       (size <= range->reach - MIN(range->reach, block->start) &&
		is_one_block(heap_image, block));
}

/*
 * An aligned block may leave two headers: that of the whole mapping at its front, and later the
 * valid one. Both end at the same address.
 */
static size_t last_of_mapping(const struct mapped_block *mapped, size_t count, size_t at)
{
	size_t last = at;

	for (size_t i = at + 1; i < count && mapped[i].start < mapped[at].end; i++) {
		if (mapped[i].end == mapped[at].end)
			last = i;
	}
	return last;
}

static struct heap *heap_of(struct heaps *heaps, const struct heap_reader *reader)
{
	for (size_t i = 0; i < heaps->list.count; i++) {
		if (heaps->list.items[i].reader == reader)
			return &heaps->list.items[i];
	}
	return NULL;
}

/* Candidates that cannot be blocks hide others: the number of further searches. */
#define CHOICES_MAX 8

/* *chosen has room for `count`. Returns the number of blocks that do not overlap. */
static size_t choose_mapped(struct heap_image *heap_image, const struct mapped_block *mapped,
			    size_t count, struct mapped_block *chosen)
{
	uint64_t end = 0;
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		struct heap *heap = heap_of(&heap_image->heaps, mapped[i].reader);

		if (!heap || !heap->name[0] || mapped[i].start < end ||
		    !is_plausible(heap_image, &mapped[i]))
			continue;
		i = last_of_mapping(mapped, count, i);
		end = mapped[i].end;
		if (!heap_overlaps(heap, mapped[i].page, end))
			chosen[kept++] = mapped[i];
	}
	return kept;
}

static bool begins_range(const struct heap_image *heap_image, const struct mapped_block *block)
{
	const struct page_range *range = pages_range_of(&heap_image->pages, block->page);

	return range && range->start == block->page;
}

static bool ends_range(const struct heap_image *heap_image, uint64_t end)
{
	const struct page_range *range = pages_range_of(&heap_image->pages, end - 1);

	return range && range->end == end;
}

/*
 * Marks blocks that, with their neighbours, fill a mapping from its start, or to its end. The
 * kernel merges mappings, so others may be blocks, too.
 */
static void mark_sure(const struct heap_image *heap_image, struct mapped_block *blocks,
		      size_t count)
{
	for (size_t i = 0; i < count; i++)
		blocks[i].sure = begins_range(heap_image, &blocks[i]) ||
				 (i && blocks[i - 1].sure &&
				  align_up(blocks[i - 1].end, MEMORY_PAGE) == blocks[i].page);
	for (size_t i = count; i-- > 0;) {
		uint64_t end = align_up(blocks[i].end, MEMORY_PAGE);

		blocks[i].sure |=
			ends_range(heap_image, end) ||
			(i + 1 < count && blocks[i + 1].sure && blocks[i + 1].page == end);
	}
}

/*
 * Returns whether blocks of the reader exceed the allocator's count: then some are false. The count
 * of glibc 2.43 lacks a header for each block that mremap(2) has moved.
 */
static bool are_too_many(struct heap_image *heap_image, const struct mapped_block *blocks,
			 size_t count, const struct heap_reader *reader)
{
	const struct heap *heap = heap_of(&heap_image->heaps, reader);
	uint64_t bytes = 0;

	for (size_t i = 0; i < count; i++)
		bytes += blocks[i].reader == reader ? blocks[i].end - blocks[i].start : 0;
	return heap->mapped_known && bytes > heap->mapped_bytes + MEMORY_PAGE;
}

/*
 * Removes from `mapped` the uncertain ones among the blocks, both ascending. Returns the remaining
 * number.
 */
static size_t drop_unsure(struct mapped_block *mapped, size_t count,
			  const struct mapped_block *blocks, size_t blocks_count,
			  const struct heap_reader *reader)
{
	size_t kept = 0, at = 0;

	for (size_t i = 0; i < count; i++) {
		while (at < blocks_count && blocks[at].start < mapped[i].start)
			at++;
		if (at == blocks_count || blocks[at].start != mapped[i].start || blocks[at].sure ||
		    blocks[at].reader != reader)
			mapped[kept++] = mapped[i];
	}
	return kept;
}

/* Returns the first reader with too many blocks, or NULL. */
static const struct heap_reader *contradicted(struct heap_image *heap_image,
					      const struct mapped_block *blocks, size_t count)
{
	for (size_t i = 0; i < heap_image->heaps.list.count; i++) {
		const struct heap_reader *reader = heap_image->heaps.list.items[i].reader;

		if (are_too_many(heap_image, blocks, count, reader))
			return reader;
	}
	return NULL;
}

/* Data that resembles a header is common: HotSpot's method profiles are full of it. */
static size_t find_mapped_blocks(struct heap_image *heap_image, struct mapped_block *mapped,
				 size_t count, struct mapped_block *blocks)
{
	for (size_t i = 0;; i++) {
		size_t kept = choose_mapped(heap_image, mapped, count, blocks), left;
		const struct heap_reader *reader = contradicted(heap_image, blocks, kept);

		if (!reader)
			return kept;
		mark_sure(heap_image, blocks, kept);
		if (i == CHOICES_MAX)
			return drop_unsure(blocks, kept, blocks, kept, reader);
		left = drop_unsure(mapped, count, blocks, kept, reader);
		if (left == count)
			return kept;
		count = left;
	}
}

int heap_image_add_mapped(struct heap_image *heap_image)
{
	struct mapped_block *mapped = heap_image->pages.mapped.items;
	size_t count = heap_image->pages.mapped.count;
	_cleanup_free_ struct mapped_block *blocks = malloc((count + 1) * sizeof(*blocks));

	if (!blocks)
		return -ENOMEM;
	if (count)
		qsort(mapped, count, sizeof(*mapped), compare_mapped);
	count = find_mapped_blocks(heap_image, mapped, count, blocks);
	for (size_t i = 0; i < count; i++) {
		zones_end_at(heap_image, blocks[i].page);
		mapped[i] = blocks[i];
		if (heap_add_mapped(heap_of(&heap_image->heaps, blocks[i].reader), &blocks[i]))
			return -ENOMEM;
	}
	heap_image->pages.mapped.count = count;
	for (size_t i = 0; i < heap_image->heaps.list.count; i++)
		heap_sort(&heap_image->heaps.list.items[i]);
	return 0;
}

static void sum_up(struct heap_image *heap_image)
{
	for (size_t i = 0; i < heap_image->pages.count; i++) {
		const struct page *page = &heap_image->pages.pages[i];

		heap_image->read_bytes += page->flags & PAGE_WAS_READ ? MEMORY_PAGE : 0;
		heap_image->swapped_bytes += page->flags & PAGE_SWAPPED ? MEMORY_PAGE : 0;
		heap_image->pages_changed += (page->flags & PAGE_CHANGED) != 0;
	}
	for (size_t i = 0; i < heap_image->heaps.list.count; i++) {
		const struct heap *heap = &heap_image->heaps.list.items[i];

		if (!heap_image->broken_spans) {
			heap_image->broken_address = heap->broken_at;
			heap_image->why_broken = heap->why_broken;
		}
		heap_image->broken_spans += heap->broken_walks;
		heap_image->broken_lists += heap->figures[ALLOCATOR_BROKEN_LISTS];
		heap_image->arenas += heap->reader->libc ? heap->figures[ALLOCATOR_ARENAS] : 0;
	}
	heap_image->read_ns = monotonic_ns() - heap_image->started_ns;
}

static int list_late(struct heap_image *heap_image)
{
	for (size_t i = 0; i < heap_image->pages.ranges.count; i++) {
		const struct page_range *range = &heap_image->pages.ranges.items[i];
		const struct page *page = heap_image->pages.pages + range->first;
		uint64_t *late;

		for (uint64_t at = range->start; !range->unseen && at < range->end;
		     at += MEMORY_PAGE, page++) {
			if (!(page->flags & PAGE_LATE))
				continue;
			late = vec_push(&heap_image->late);
			if (!late)
				return -ENOMEM;
			*late = at;
		}
	}
	return 0;
}

static int take(struct image_builder *builder)
{
	int error;

	/* While little memory is in use; without a tracer, builder_stop() refuses. */
	if (runs(builder))
		tracer_start(&builder->tracer);
	error = builder_read_running(builder);
	if (error)
		return error;
	if (builder->options->core)
		error = builder_read_core(builder);
	else
		error = builder->options->no_stop ? -EAGAIN : builder_stop(builder);
	if (error == -EAGAIN)
		error = read_unstopped(builder);
	if (!error)
		error = settle_heaps(builder);
	if (!error)
		error = zones_add_idle(builder->heap_image, builder->options);
	zones_name_threads(builder->heap_image);
	if (!error)
		error = zones_finish(builder->heap_image);
	if (!error)
		error = heap_image_add_mapped(builder->heap_image);
	if (!error)
		error = list_late(builder->heap_image);
	if (!error)
		sum_up(builder->heap_image);
	SWAP(builder->heap_image->pointers, builder->filter);
	return error;
}

int heap_image_take(pid_t pid, const struct heap_image_options *options,
		    struct heap_image *heap_image)
{
	struct heap_image made = {.pid = pid, .started_ns = monotonic_ns()};
	struct image_builder *builder = calloc(1, sizeof(*builder));
	int error = -ENOMEM;

	if (builder) {
		*builder = (struct image_builder){
			.heap_image = &made, .options = options, .pagemap = -1};
		builder->peek.deadline = &builder->deadline;
		error = take(builder);
		tracer_end(&builder->tracer);
		peek_free(&builder->peek);
		filter_free(&builder->filter);
		filter_free(&builder->heaps);
		heap_finds_free(&builder->finds);
		cleanup_close(&builder->pagemap);
		free(builder);
	}
	if (error)
		heap_image_free(&made);
	else
		*heap_image = made;
	return error;
}

const char *heap_image_allocator(const struct heap_image *heap_image)
{
	for (size_t i = heap_image->heaps.list.count; i-- > 0;) {
		const struct heap *heap = &heap_image->heaps.list.items[i];

		if (heap->name[0] && heap->runs.count)
			return heap->name;
	}
	return NULL;
}

void heap_image_free(struct heap_image *heap_image)
{
	forget_threads(heap_image);
	vec_free(&heap_image->threads);
	vec_free(&heap_image->ended);
	vec_free(&heap_image->zones);
	maps_free(&heap_image->maps);
	pages_free(&heap_image->pages);
	filter_free(&heap_image->pointers);
	vec_free(&heap_image->late);
	heaps_free(&heap_image->heaps);
	*heap_image = (struct heap_image){0};
}
