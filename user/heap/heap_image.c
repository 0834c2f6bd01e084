// SPDX-License-Identifier: GPL-2.0-or-later
#include "heap/heap_image.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

#include "arch/machine.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "heap/heap_image_builder.h"
#include "heap/heap_image_zones.h"
#include "proc/core.h"
#include "proc/process_memory.h"

/*
 * Soft-dirty bits: which pages a process wrote since a moment (Documentation/admin-guide/mm/
 * soft-dirty.rst). Starting resets them, which an incremental checkpoint of the same process (CRIU)
 * would notice; to the process each page costs one more minor fault.
 */

static void heap_image_forget_threads(struct heap_image *heap_image);

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

/* Without CONFIG_MEM_SOFT_DIRTY clearing succeeds, and no bit is ever set: so try it on a page. */
static int try_here(int pagemap, volatile char *page)
{
	uint64_t before, after;

	*page = 1;
	if (clear_bits(getpid()))
		return -EACCES;
	pagemap_read(pagemap, (uintptr_t)page, &before, 1);
	*page = 2;
	pagemap_read(pagemap, (uintptr_t)page, &after, 1);
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

/* 0: pagemap now tells what `pid` writes; -ENOTSUP: this kernel keeps no such bits; -EACCES. */
static int soft_dirty_start(pid_t pid)
{
	int error = try_kernel();

	return error ? error : clear_bits(pid);
}

/* The part of a heap image that is taken while the process runs. */

/* Data of a module beyond this is not searched for malloc's state. */
#define MAX_DATA_BYTES (64ull << 20)

/* While it runs, a heap can change under the walk: this often it is begun anew. */
#define WALK_TRIES 3

/* From here on it is worth knowing, before a stop, which pages change all the time. */
#define MANY_PAGES 32768

static void forget_maps(struct image_builder *builder)
{
	maps_free(&builder->heap_image->maps);
	pages_free(&builder->heap_image->pages);
	filter_free(&builder->filter);
	filter_free(&builder->heaps);
	cleanup_close(&builder->pagemap);
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
	error = ranges_from_maps(&heap_image->maps, &heap_image->pages,
				 &heap_image->writable_bytes);
	if (!error)
		error = pages_prepare(&heap_image->pages);
	if (!error)
		error = filter_from_maps(&heap_image->maps, &builder->filter);
	return error ? error : filter_heaps_from_maps(&heap_image->maps, &builder->heaps);
}

/* What leads to arenas becomes malloc_data. 0, -EAGAIN or -ENOMEM, as malloc_arenas_find(). */
static int find_in_data(struct image_builder *builder, uint64_t start, uint64_t end)
{
	struct heap_image *heap_image = builder->heap_image;
	size_t before = heap_image->arenas.list.count;
	int error = malloc_arenas_find(&builder->peek, &builder->heaps, start, end,
				       &heap_image->arenas);

	if (error == -EAGAIN || heap_image->arenas.list.count > before) {
		builder->malloc_data.start = start;
		builder->malloc_data.end = end;
	}
	if (!error && heap_image->arenas.list.count > before && !heap_image->heap_start)
		heap_image->heap_start =
			malloc_heap_start(&builder->peek, &builder->heaps, start, end);
	return error;
}

/* 0; -EAGAIN: malloc was at work in the meantime, where is in taking->malloc_data; -ENOMEM. */
static int find_arenas(struct image_builder *builder)
{
	struct heap_image *heap_image = builder->heap_image;
	int error = 0;

	for (size_t i = 0; !error && i < heap_image->maps.list.count; i++) {
		const struct mapping *mapping = &heap_image->maps.list.items[i];

		if (!mapping->inode || !mapping->writable || mapping->shared)
			continue;
		error = find_in_data(
			builder, mapping->start,
			MIN(maps_data_end(&heap_image->maps, i), mapping->start + MAX_DATA_BYTES));
	}
	return error;
}

int builder_read_arenas(struct image_builder *builder)
{
	struct heap_image *heap_image = builder->heap_image;
	int error = builder->arenas_left ? find_in_data(builder, builder->malloc_data.start,
							builder->malloc_data.end)
					 : malloc_arenas_refresh(&builder->peek, &builder->heaps,
								 &heap_image->arenas);

	if (!error || error == -ENOMEM || error == -ETIMEDOUT)
		return error;
	heap_image->broken_address = heap_image->arenas.list.count
					     ? heap_image->arenas.list.items[0].address
					     : builder->malloc_data.start;
	heap_image->broken_spans++;
	vec_free(&heap_image->arenas.list);
	builder->arenas_left = true;
	return 0;
}

/* An arena that grows, or that a thread changes just now, may take more than one look. */
static int open_heaps(struct image_builder *builder)
{
	int error = open_maps(builder);

	for (size_t try = 0; !error && try < WALK_TRIES; try++) {
		error = find_arenas(builder);
		if (error != -EAGAIN)
			return error;
		vec_free(&builder->heap_image->arenas.list);
		error = open_maps(builder);
	}
	builder->arenas_left = !error;
	return error;
}

int builder_find_spans(struct image_builder *builder, struct heap_spans *spans)
{
	struct heap_image *heap_image = builder->heap_image;
	int error = heap_spans_find(&builder->peek, &heap_image->arenas, &heap_image->maps,
				    heap_image->heap_start, spans, &heap_image->broken_address);

	if (error != -EBADMSG)
		return error;
	heap_image->broken_spans++;
	return 0;
}

static int find_foreign(struct image_builder *builder)
{
	struct heap_image *heap_image = builder->heap_image;
	int error =
		heap_find(&builder->peek, &builder->heaps, &heap_image->maps, &builder->foreign);

	builder->has_foreign = !error;
	if (error != -ENOENT)
		return error;
	heap_image->why_not_foreign = heap_why_not(&heap_image->maps);
	return 0;
}

/* Only if it is certain: a free block that counted as live would be called lost. */
int builder_read_foreign(struct image_builder *builder)
{
	struct heap_image *heap_image = builder->heap_image;
	struct heap *foreign = &heap_image->foreign;
	int error;

	heap_free(foreign);
	if (!builder->has_foreign)
		return 0;
	error = heap_read(&builder->peek, &builder->heaps, &builder->foreign, foreign);
	heap_image->why_not_foreign = NULL;
	if (!error && foreign->blocks_certain)
		return 0;
	heap_image->why_not_foreign =
		foreign->why ? foreign->why
			     : "what the allocator has for itself cannot be told from what the "
			       "program has";
	heap_free(foreign);
	return error == -ENOENT ? 0 : error;
}

static void feed_spans(void *context, uint64_t address, const uint64_t *words, size_t count)
{
	struct image_builder *builder = context;
	struct heap_spans *spans = &builder->walked;

	for (size_t i = 0; !builder->error && i < spans->list.count; i++) {
		struct heap_span *span = &spans->list.items[i];

		if (span->start < address + count * 8 && span->end > address)
			builder->error = heap_span_feed(span, address, words, count);
	}
}

/* Walks what has not been walked yet; what broke may just have changed while it was read. 0;
 * -ENOMEM. */
static int builder_finish_walks(struct image_builder *builder)
{
	int error = 0;

	for (size_t i = 0; !error && i < builder->walked.list.count; i++) {
		struct heap_span *span = &builder->walked.list.items[i];

		for (size_t try = 0; !error && try < WALK_TRIES; try++) {
			peek_forget(&builder->peek);
			if (span->broken && span->chunks.count) {
				/* Again from the last chunk that held. */
				span->next =
					span->start +
					chunk_distance(span->chunks.items[--span->chunks.count]);
				span->broken = span->done = false;
			}
			error = heap_span_finish(span, &builder->peek);
			if (!span->broken)
				break;
		}
	}
	return error;
}

struct page_scan builder_scan(const struct image_builder *builder)
{
	unsigned int threads = builder->options->threads;
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	return (struct page_scan){
		.source = builder->heap_image->maps.source,
		.pagemap = builder->pagemap,
		.filter = &builder->filter,
		.threads = threads ? threads : (unsigned int)MAX(cpus, 1),
		.soft_dirty = builder->heap_image->soft_dirty,
	};
}

/* Whether there will be a stop. */
static bool runs(const struct image_builder *builder)
{
	return !builder->options->no_stop && !builder->options->core;
}

/* The first reading, while it runs. */
static int read_once(struct image_builder *builder)
{
	struct heap_image *heap_image = builder->heap_image;
	struct page_scan scan;
	int error = open_heaps(builder);

	if (error)
		return error;
	heap_image->soft_dirty =
		runs(builder) && heap_image->pagemap_readable && !soft_dirty_start(heap_image->pid);
	error = find_foreign(builder);
	if (!error)
		error = builder_find_spans(builder, &builder->walked);
	scan = builder_scan(builder);
	scan.visit = feed_spans;
	scan.context = builder;
	if (!error)
		error = pages_read(&heap_image->pages, &scan);
	if (!error)
		error = builder->error;
	return error ? error : builder_finish_walks(builder);
}

/* Looks again while it still runs: what changes now is looked at first when it stands. */
static int read_twice(struct image_builder *builder)
{
	struct heap_image *heap_image = builder->heap_image;
	struct page_scan scan = builder_scan(builder);
	size_t checked;

	if (!runs(builder) || heap_image->soft_dirty || heap_image->pages.count < MANY_PAGES)
		return 0;
	scan.deadline_ns = UINT64_MAX;
	return pages_check(&heap_image->pages, &scan, &checked);
}

/* The first reading, while it runs; and a second one of what is large. Errors as heap_image_take().
 */
static int builder_read_running(struct image_builder *builder)
{
	int error = read_once(builder);

	return error ? error : read_twice(builder);
}

/* Forgets threads, zones and free chunks of a stop that was too short. */
static void builder_forget_stopped(struct image_builder *builder)
{
	struct heap_image *heap_image = builder->heap_image;

	heap_image_forget_threads(heap_image);
	heap_image->ended.count = 0;
	heap_image->zones.count = 0;
	free_lists_free(&heap_image->free_chunks);
	heap_image->free_chunks.broken = 0;
	builder->deadline = (struct deadline){0};
	builder->peek.is_present = NULL;
	peek_forget(&builder->peek);
}

int builder_find_free_chunks(struct image_builder *builder, const struct stop *stop)
{
	struct heap_image *heap_image = builder->heap_image;
	struct free_chunks *free_chunks = &heap_image->free_chunks;
	int error = free_lists_add_fastbins(free_chunks, &builder->peek, &heap_image->arenas,
					    &heap_image->spans);

	if (!stop && !error)
		error = free_lists_add_all_caches(free_chunks, &builder->peek, &heap_image->spans);
	for (size_t i = 0; stop && !error && i < stop->threads.count; i++)
		error = free_lists_add_cache(
			free_chunks, &builder->peek,
			machine_thread_pointer(&stop->threads.items[i].registers),
			&heap_image->spans);
	return error;
}

/* The stop was too short, and has used up the first walk, or there was none. */
static int walk_again(struct image_builder *builder)
{
	int error;

	heap_spans_free(&builder->walked);
	builder->heap_image->broken_spans = 0;
	error = builder->arenas_left ? builder_read_arenas(builder) : 0;
	if (!error)
		error = builder_find_spans(builder, &builder->walked);
	return error ? error : builder_finish_walks(builder);
}

/* What a stop would have settled. */
static int settle_running(struct image_builder *builder)
{
	struct heap_image *heap_image = builder->heap_image;
	int error;

	heap_spans_free(&heap_image->spans);
	builder_forget_stopped(builder);
	error = builder->walk_is_used || builder->arenas_left ? walk_again(builder) : 0;
	heap_image->spans = builder->walked;
	builder->walked = (struct heap_spans){0};
	if (!error)
		error = builder_find_free_chunks(builder, NULL);
	if (!error)
		error = builder_read_foreign(builder);
	return error ? error : zones_add_threads_unstopped(heap_image);
}

static void sum_up(struct heap_image *heap_image)
{
	for (size_t i = 0; i < heap_image->pages.count; i++) {
		const struct page *page = &heap_image->pages.pages[i];

		heap_image->read_bytes += page->flags & PAGE_WAS_READ ? MEMORY_PAGE : 0;
		heap_image->swapped_bytes += page->flags & PAGE_SWAPPED ? MEMORY_PAGE : 0;
		heap_image->pages_changed += (page->flags & PAGE_CHANGED) != 0;
	}
	for (size_t i = 0; i < heap_image->spans.list.count; i++) {
		const struct heap_span *span = &heap_image->spans.list.items[i];

		if (span->broken && !heap_image->broken_spans++)
			heap_image->broken_address = span->next;
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

	/* While little memory is in use; without one, builder_stop() refuses. */
	if (runs(builder))
		pause_guard_start(&builder->guard);
	error = builder_read_running(builder);
	if (error)
		return error;
	if (builder->options->core)
		error = builder_read_core(builder);
	else
		error = builder->options->no_stop ? -EAGAIN : builder_stop(builder);
	if (error == -EAGAIN)
		error = settle_running(builder);
	if (!error)
		error = zones_add_idle(builder->heap_image, builder->options);
	zones_name_threads(builder->heap_image);
	if (!error)
		error = zones_finish(builder->heap_image);
	if (!error)
		error = list_late(builder->heap_image);
	if (!error)
		sum_up(builder->heap_image);
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
		pause_guard_end(&builder->guard);
		peek_free(&builder->peek);
		filter_free(&builder->filter);
		filter_free(&builder->heaps);
		heap_spans_free(&builder->walked);
		cleanup_close(&builder->pagemap);
		free(builder);
	}
	if (error)
		heap_image_free(&made);
	else
		*heap_image = made;
	return error;
}

/* Also what the threads own. */
static void heap_image_forget_threads(struct heap_image *heap_image)
{
	for (size_t i = 0; i < heap_image->threads.count; i++) {
		free(heap_image->threads.items[i].stack);
		free(heap_image->threads.items[i].vector.blocks);
	}
	heap_image->threads.count = 0;
}

void heap_image_free(struct heap_image *heap_image)
{
	heap_image_forget_threads(heap_image);
	vec_free(&heap_image->threads);
	vec_free(&heap_image->ended);
	vec_free(&heap_image->zones);
	maps_free(&heap_image->maps);
	pages_free(&heap_image->pages);
	vec_free(&heap_image->arenas.list);
	vec_free(&heap_image->late);
	heap_spans_free(&heap_image->spans);
	free_lists_free(&heap_image->free_chunks);
	heap_free(&heap_image->foreign);
	*heap_image = (struct heap_image){0};
}
