// SPDX-License-Identifier: GPL-2.0-or-later
/* The part of a picture that is taken while the process runs. */
#include <errno.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "retain/picture_ranges.h"
#include "retain/picture_taking.h"
#include "retain/soft_dirty.h"

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

int taking_finish_walks(struct taking *taking)
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

int taking_read_running(struct taking *taking)
{
	int err = read_once(taking);

	return err ? err : read_twice(taking);
}
