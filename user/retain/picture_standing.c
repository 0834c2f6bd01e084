// SPDX-License-Identifier: GPL-2.0-or-later
/* What is read while the process stands: everything here keeps to the deadline of the pause. */
#include <errno.h>

#include "base/cleanup.h"
#include "retain/picture_ranges.h"
#include "retain/picture_taking.h"
#include "retain/picture_zones.h"
#include "retain/thread_blocks.h"

/* Of the longest pause, for comparing pages: walking heaps that change takes about as long. */
#define PATIENCE_PERCENT 40

/* The mappings as they are now, and what is made of them. */
struct view {
	struct maps maps;
	struct page_table pages;
	struct filter heaps;
	uint64_t writable_bytes;
	bool same; /* as before: then pages and heaps are as well */
};

static void view_free(struct view *view)
{
	maps_free(&view->maps);
	pages_free(&view->pages);
	filter_free(&view->heaps);
}

static bool same_ranges(const struct page_table *table, const struct page_table *older)
{
	if (table->ranges.count != older->ranges.count)
		return false;
	for (size_t i = 0; i < table->ranges.count; i++) {
		const struct page_range *range = &table->ranges.items[i];
		const struct page_range *old = &older->ranges.items[i];

		if (range->start != old->start || range->end != old->end ||
		    range->file != old->file || range->mapping != old->mapping)
			return false;
	}
	return true;
}

static int build_view(struct taking *taking, struct view *view)
{
	int err = maps_read_until(taking->picture->pid, &taking->deadline, &view->maps);

	if (!err)
		err = ranges_from_maps(&view->maps, &view->pages, &view->writable_bytes);
	if (!err && deadline_has_passed(&taking->deadline))
		err = -ETIMEDOUT;
	view->same = !err && same_ranges(&view->pages, &taking->picture->pages);
	if (err || view->same)
		return err;
	err = pages_prepare(&view->pages);
	if (!err)
		err = filter_heaps_from_maps(&view->maps, &view->heaps);
	return !err && deadline_has_passed(&taking->deadline) ? -ETIMEDOUT : err;
}

/* The mappings and their pages as they are now; what is known of them stays known. */
static int look_again(struct taking *taking)
{
	struct picture *picture = taking->picture;
	_cleanup_(view_free) struct view view = {0};
	int err = build_view(taking, &view);

	if (err)
		return err;
	SWAP(picture->maps, view.maps);
	picture->writable_bytes = view.writable_bytes;
	if (view.same)
		return 0;
	pages_inherit(&view.pages, &picture->pages);
	SWAP(picture->pages, view.pages);
	SWAP(taking->heaps, view.heaps);
	return 0;
}

static struct heap_span *same_span(struct heap_spans *spans, const struct heap_span *wanted)
{
	struct heap_span *span = heap_spans_at(spans, wanted->start);

	return span && span->start == wanted->start ? span : NULL;
}

static int mend_spans(struct taking *taking)
{
	struct picture *picture = taking->picture;
	int err = taking_find_spans(taking, &picture->spans);

	for (size_t i = 0; !err && i < picture->spans.list.count; i++) {
		struct heap_span *span = &picture->spans.list.items[i];
		struct heap_span *older = same_span(&taking->walked, span);

		err = older ? heap_span_mend(span, older, &picture->pages, &taking->peek)
			    : heap_span_finish(span, &taking->peek);
	}
	return err;
}

static bool is_surely_present(const void *known, uint64_t page)
{
	return page_is_surely_present(known, page);
}

static int read_heaps(struct taking *taking, const struct stop *stop)
{
	struct picture *picture = taking->picture;
	int err;

	peek_forget(&taking->peek);
	taking->peek.known = &picture->pages;
	taking->peek.is_present = is_surely_present;
	err = taking_read_arenas(taking);
	if (err)
		return err;
	taking->walk_is_used = true;
	err = mend_spans(taking);
	if (!err)
		err = taking_find_free_chunks(taking, stop);
	/* Words that came too late look like a heap that contradicts itself. */
	return !err && deadline_has_passed(&taking->deadline) ? -ETIMEDOUT : err;
}

static int read_threads(struct taking *taking, const struct stop *stop)
{
	struct picture *picture = taking->picture;
	int err = zones_add_threads(picture, stop, &taking->deadline);

	if (!err)
		err = thread_vectors_read(picture, &taking->peek);
	return err ? err
		   : stacks_copy(picture, taking->pagemap, &taking->deadline,
				 &picture->stacks_missing);
}

int taking_read_standing(struct taking *taking, const struct stop *stop)
{
	struct picture *picture = taking->picture;
	struct pause_times *times = &taking->times;
	struct page_scan scan;
	int err;

	times->stopped_ns = monotonic_ns();
	err = look_again(taking);
	if (err)
		return err;
	scan = taking_scan(taking);
	scan.deadline_ns = taking->deadline.at_ns;
	if (!picture->soft_dirty)
		scan.patience_ns = stop->began_ns + picture->max_pause_ns * PATIENCE_PERCENT / 100;
	times->listed_ns = monotonic_ns();
	err = pages_check(&picture->pages, &scan, &picture->pages_checked);
	times->checked_ns = monotonic_ns();
	if (!err)
		err = read_heaps(taking, stop);
	times->walked_ns = monotonic_ns();
	if (!err)
		err = read_threads(taking, stop);
	times->ended_ns = monotonic_ns();
	return err;
}
