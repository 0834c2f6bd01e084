// SPDX-License-Identifier: GPL-2.0-or-later
#include "retain/picture.h"

#include <errno.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "retain/picture_taking.h"
#include "retain/picture_zones.h"

void taking_forget_standing(struct taking *taking)
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

void picture_forget_threads(struct picture *picture)
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
