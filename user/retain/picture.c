// SPDX-License-Identifier: GPL-2.0-or-later
#include "retain/picture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "retain/memory.h"
#include "retain/picture_taking.h"
#include "retain/picture_zones.h"

/*
 * Soft-dirty bits: which pages a process wrote since a moment (Documentation/admin-guide/mm/
 * soft-dirty.rst). Starting resets them, which an incremental checkpoint of the same process (CRIU)
 * would notice; to the process each page costs one more minor fault.
 */

static void picture_forget_threads(struct picture *picture);

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
	_cleanup_close_ int pagemap = pagemap_open(getpid());
	void *page;
	int err;

	if (pagemap < 0)
		return -EACCES;
	page = mmap(NULL, MEMORY_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		return -ENOMEM;
	err = try_here(pagemap, page);
	munmap(page, MEMORY_PAGE);
	return err;
}

/* 0: pagemap now tells what `pid` writes; -ENOTSUP: this kernel keeps no such bits; -EACCES. */
static int soft_dirty_start(pid_t pid)
{
	int err = try_kernel();

	return err ? err : clear_bits(pid);
}

/* The part of a picture that is taken while the process runs. */

/* Data of a module beyond this is not searched for malloc's state. */
#define MAX_DATA_BYTES (64ull << 20)

/* While it runs, a heap can change under the walk: this often it is begun anew. */
#define WALK_TRIES 3

/* From here on it is worth knowing, before a stop, which pages change all the time. */
#define MANY_PAGES 32768

static void forget_maps(struct taking *taking)
{
	maps_free(&taking->picture->maps);
	pages_free(&taking->picture->pages);
	filter_free(&taking->filter);
	filter_free(&taking->heaps);
	cleanup_close(&taking->pagemap);
}

static int open_maps(struct taking *taking)
{
	struct picture *picture = taking->picture;
	int err;

	forget_maps(taking);
	err = maps_read(picture->pid, MAPS_ALL, &picture->maps);
	if (err)
		return err;
	taking->pagemap = pagemap_open(picture->maps.task);
	picture->pagemap_readable = taking->pagemap >= 0;
	taking->peek.task = picture->maps.task;
	taking->peek.pagemap = taking->pagemap;
	peek_forget(&taking->peek);
	err = ranges_from_maps(&picture->maps, &picture->pages, &picture->writable_bytes);
	if (!err)
		err = pages_prepare(&picture->pages);
	if (!err)
		err = filter_from_maps(&picture->maps, &taking->filter);
	return err ? err : filter_heaps_from_maps(&picture->maps, &taking->heaps);
}

/* A module's data with the zeroed rest that follows it, which has no file behind it. */
static uint64_t data_end(const struct maps *maps, size_t i)
{
	const struct mapping *mapping = &maps->list.items[i];
	const struct mapping *next = mapping + 1;

	if (i + 1 < maps->list.count && next->start == mapping->end && next->writable &&
	    !next->inode && !next->path[0])
		return next->end;
	return mapping->end;
}

/* What leads to arenas becomes malloc_data. 0, -EAGAIN or -ENOMEM, as malloc_arenas_find(). */
static int find_in_data(struct taking *taking, uint64_t start, uint64_t end)
{
	struct picture *picture = taking->picture;
	size_t before = picture->arenas.list.count;
	int err = malloc_arenas_find(&taking->peek, &taking->heaps, start, end, &picture->arenas);

	if (err == -EAGAIN || picture->arenas.list.count > before) {
		taking->malloc_data.start = start;
		taking->malloc_data.end = end;
	}
	if (!err && picture->arenas.list.count > before && !picture->heap_start)
		picture->heap_start = malloc_heap_start(&taking->peek, &taking->heaps, start, end);
	return err;
}

/* 0; -EAGAIN: malloc was at work in the meantime, where is in taking->malloc_data; -ENOMEM. */
static int find_arenas(struct taking *taking)
{
	struct picture *picture = taking->picture;
	int err = 0;

	for (size_t i = 0; !err && i < picture->maps.list.count; i++) {
		const struct mapping *mapping = &picture->maps.list.items[i];

		if (!mapping->inode || !mapping->writable || mapping->shared)
			continue;
		err = find_in_data(
			taking, mapping->start,
			MIN(data_end(&picture->maps, i), mapping->start + MAX_DATA_BYTES));
	}
	return err;
}

int taking_read_arenas(struct taking *taking)
{
	struct picture *picture = taking->picture;
	int err = taking->arenas_left
			  ? find_in_data(taking, taking->malloc_data.start, taking->malloc_data.end)
			  : malloc_arenas_refresh(&taking->peek, &taking->heaps, &picture->arenas);

	if (!err || err == -ENOMEM || err == -ETIMEDOUT)
		return err;
	picture->broken_address = picture->arenas.list.count ? picture->arenas.list.items[0].address
							     : taking->malloc_data.start;
	picture->broken_spans++;
	vec_free(&picture->arenas.list);
	taking->arenas_left = true;
	return 0;
}

/* An arena that grows, or that a thread changes just now, may take more than one look. */
static int open_heaps(struct taking *taking)
{
	int err = open_maps(taking);

	for (size_t try = 0; !err && try < WALK_TRIES; try++) {
		err = find_arenas(taking);
		if (err != -EAGAIN)
			return err;
		vec_free(&taking->picture->arenas.list);
		err = open_maps(taking);
	}
	taking->arenas_left = !err;
	return err;
}

int taking_find_spans(struct taking *taking, struct heap_spans *spans)
{
	struct picture *picture = taking->picture;
	int err = heap_spans_find(&taking->peek, &picture->arenas, &picture->maps,
				  picture->heap_start, spans, &picture->broken_address);

	if (err != -EBADMSG)
		return err;
	picture->broken_spans++;
	return 0;
}

static void feed_spans(void *context, uint64_t address, const uint64_t *words, size_t count)
{
	struct taking *taking = context;
	struct heap_spans *spans = &taking->walked;

	for (size_t i = 0; !taking->err && i < spans->list.count; i++) {
		struct heap_span *span = &spans->list.items[i];

		if (span->start < address + count * 8 && span->end > address)
			taking->err = heap_span_feed(span, address, words, count);
	}
}

/* Walks what has not been walked yet; what broke may just have changed while it was read. 0;
 * -ENOMEM. */
static int taking_finish_walks(struct taking *taking)
{
	int err = 0;

	for (size_t i = 0; !err && i < taking->walked.list.count; i++) {
		struct heap_span *span = &taking->walked.list.items[i];

		for (size_t try = 0; !err && try < WALK_TRIES; try++) {
			peek_forget(&taking->peek);
			if (span->broken && span->chunks.count) {
				/* Again from the last chunk that held. */
				span->next =
					span->start +
					chunk_distance(span->chunks.items[--span->chunks.count]);
				span->broken = span->done = false;
			}
			err = heap_span_finish(span, &taking->peek);
			if (!span->broken)
				break;
		}
	}
	return err;
}

struct page_scan taking_scan(const struct taking *taking)
{
	unsigned int threads = taking->options->threads;
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	return (struct page_scan){
		.task = taking->picture->maps.task,
		.pagemap = taking->pagemap,
		.filter = &taking->filter,
		.threads = threads ? threads : (unsigned int)MAX(cpus, 1),
		.soft_dirty = taking->picture->soft_dirty,
	};
}

/* The first reading, while it runs. */
static int read_once(struct taking *taking)
{
	struct picture *picture = taking->picture;
	struct page_scan scan;
	int err = open_heaps(taking);

	if (err)
		return err;
	picture->soft_dirty = !taking->options->no_stop && picture->pagemap_readable &&
			      !soft_dirty_start(picture->pid);
	err = taking_find_spans(taking, &taking->walked);
	scan = taking_scan(taking);
	scan.visit = feed_spans;
	scan.context = taking;
	if (!err)
		err = pages_read(&picture->pages, &scan);
	if (!err)
		err = taking->err;
	return err ? err : taking_finish_walks(taking);
}

/* Looks again while it still runs: what changes now is looked at first when it stands. */
static int read_twice(struct taking *taking)
{
	struct picture *picture = taking->picture;
	struct page_scan scan = taking_scan(taking);
	size_t checked;

	if (taking->options->no_stop || picture->soft_dirty || picture->pages.count < MANY_PAGES)
		return 0;
	scan.deadline_ns = UINT64_MAX;
	return pages_check(&picture->pages, &scan, &checked);
}

/* The first reading, while it runs; and a second one of what is large. Errors as picture_take(). */
static int taking_read_running(struct taking *taking)
{
	int err = read_once(taking);

	return err ? err : read_twice(taking);
}

/* Forgets threads, zones and free chunks of a stop that was too short. */
static void taking_forget_standing(struct taking *taking)
{
	struct picture *picture = taking->picture;

	picture_forget_threads(picture);
	picture->zones.count = 0;
	free_lists_free(&picture->free_chunks);
	picture->free_chunks.broken = 0;
	taking->deadline = (struct deadline){0};
	taking->peek.is_present = NULL;
	peek_forget(&taking->peek);
}

int taking_find_free_chunks(struct taking *taking, const struct stop *stop)
{
	struct picture *picture = taking->picture;
	struct free_chunks *free_chunks = &picture->free_chunks;
	int err = free_lists_add_fastbins(free_chunks, &taking->peek, &picture->arenas,
					  &picture->spans);

	if (!stop && !err)
		err = free_lists_add_all_caches(free_chunks, &taking->peek, &picture->spans);
	for (size_t i = 0; stop && !err && i < stop->threads.count; i++)
		err = free_lists_add_cache(free_chunks, &taking->peek,
					   stop->threads.items[i].registers.fs_base,
					   &picture->spans);
	return err;
}

/* The stop was too short, and has used up the first walk, or there was none. */
static int walk_again(struct taking *taking)
{
	int err;

	heap_spans_free(&taking->walked);
	taking->picture->broken_spans = 0;
	err = taking->arenas_left ? taking_read_arenas(taking) : 0;
	if (!err)
		err = taking_find_spans(taking, &taking->walked);
	return err ? err : taking_finish_walks(taking);
}

/* What a stop would have settled. */
static int settle_running(struct taking *taking)
{
	struct picture *picture = taking->picture;
	int err;

	heap_spans_free(&picture->spans);
	taking_forget_standing(taking);
	err = taking->walk_is_used || taking->arenas_left ? walk_again(taking) : 0;
	picture->spans = taking->walked;
	taking->walked = (struct heap_spans){0};
	if (!err)
		err = taking_find_free_chunks(taking, NULL);
	return err ? err : zones_add_threads_unstopped(picture);
}

static void sum_up(struct picture *picture)
{
	for (size_t i = 0; i < picture->pages.count; i++) {
		const struct page *page = &picture->pages.pages[i];

		picture->read_bytes += page->flags & PAGE_WAS_READ ? MEMORY_PAGE : 0;
		picture->swapped_bytes += page->flags & PAGE_SWAPPED ? MEMORY_PAGE : 0;
		picture->pages_changed += (page->flags & PAGE_CHANGED) != 0;
	}
	for (size_t i = 0; i < picture->spans.list.count; i++) {
		const struct heap_span *span = &picture->spans.list.items[i];

		if (span->broken && !picture->broken_spans++)
			picture->broken_address = span->next;
	}
	picture->read_ns = monotonic_ns() - picture->started_ns;
}

static int list_late(struct picture *picture)
{
	for (size_t i = 0; i < picture->pages.ranges.count; i++) {
		const struct page_range *range = &picture->pages.ranges.items[i];
		const struct page *page = picture->pages.pages + range->first;
		uint64_t *late;

		for (uint64_t at = range->start; !range->unseen && at < range->end;
		     at += MEMORY_PAGE, page++) {
			if (!(page->flags & PAGE_LATE))
				continue;
			late = vec_push(&picture->late);
			if (!late)
				return -ENOMEM;
			*late = at;
		}
	}
	return 0;
}

static int take(struct taking *taking)
{
	int err;

	/* While little memory is in use; without one, taking_stop() refuses. */
	if (!taking->options->no_stop)
		pause_guard_start(&taking->guard);
	err = taking_read_running(taking);
	if (err)
		return err;
	err = taking->options->no_stop ? -EAGAIN : taking_stop(taking);
	if (err == -EAGAIN)
		err = settle_running(taking);
	if (!err)
		err = zones_add_idle(taking->picture, taking->options);
	zones_name_threads(taking->picture);
	if (!err)
		err = zones_finish(taking->picture);
	if (!err)
		err = list_late(taking->picture);
	if (!err)
		sum_up(taking->picture);
	return err;
}

int picture_take(pid_t pid, const struct picture_options *options, struct picture *picture)
{
	struct picture made = {.pid = pid, .started_ns = monotonic_ns()};
	struct taking *taking = calloc(1, sizeof(*taking));
	int err = -ENOMEM;

	if (taking) {
		*taking = (struct taking){.picture = &made, .options = options, .pagemap = -1};
		taking->peek.deadline = &taking->deadline;
		err = take(taking);
		pause_guard_end(&taking->guard);
		peek_free(&taking->peek);
		filter_free(&taking->filter);
		filter_free(&taking->heaps);
		heap_spans_free(&taking->walked);
		cleanup_close(&taking->pagemap);
		free(taking);
	}
	if (err)
		picture_free(&made);
	else
		*picture = made;
	return err;
}

/* Also what the threads own. */
static void picture_forget_threads(struct picture *picture)
{
	for (size_t i = 0; i < picture->threads.count; i++) {
		free(picture->threads.items[i].stack);
		free(picture->threads.items[i].vector.blocks);
	}
	picture->threads.count = 0;
}

void picture_free(struct picture *picture)
{
	picture_forget_threads(picture);
	vec_free(&picture->threads);
	vec_free(&picture->zones);
	maps_free(&picture->maps);
	pages_free(&picture->pages);
	vec_free(&picture->arenas.list);
	vec_free(&picture->late);
	heap_spans_free(&picture->spans);
	free_lists_free(&picture->free_chunks);
	*picture = (struct picture){0};
}
