// SPDX-License-Identifier: GPL-2.0-or-later
/* Taking over an older walk of a heap, but for what has changed since. */
#include <errno.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "retain/heap_walk.h"

#define HUGE_PAGE (2ul << 20)

/* Where a mended walk is in the older one, and in the pages. */
struct mending {
	struct heap_span *span;
	const struct heap_span *older;
	const struct page_table *table;
	struct deadline *deadline; /* NULL: none */
	size_t at;		   /* in older->chunks */
	uint64_t page;		   /* the page looked at last */
	bool page_is_clean;
	uint64_t ahead; /* pages before it were read, if they had changed */
};

static bool is_clean(struct mending *mending, uint64_t address)
{
	uint64_t page = address & ~(MEMORY_PAGE - 1);

	if (page != mending->page) {
		const struct page *found = pages_find(mending->table, page);

		deadline_step(mending->deadline);
		mending->page = page;
		mending->page_is_clean =
			found && found->flags & PAGE_WAS_READ && !(found->flags & PAGE_CHANGED);
	}
	return mending->page_is_clean;
}

/* The older walk's record of the chunk at span->next, if its header is what it was then. */
static const uint32_t *still_known(struct mending *mending)
{
	const struct heap_span *older = mending->older, *span = mending->span;
	uint64_t distance = span->next - span->start;

	while (mending->at < older->chunks.count &&
	       chunk_distance(older->chunks.items[mending->at]) < distance)
		mending->at++;
	if (mending->at + 1 >= older->chunks.count ||
	    chunk_distance(older->chunks.items[mending->at]) != distance ||
	    !is_clean(mending, span->next))
		return NULL;
	return &older->chunks.items[mending->at];
}

/* The first page from `address` on that is not what it was; at most `end`. */
static uint64_t next_changed(struct mending *mending, uint64_t address, uint64_t end)
{
	for (address &= ~(MEMORY_PAGE - 1); address < end; address += MEMORY_PAGE) {
		if (!is_clean(mending, address))
			return address;
	}
	return end;
}

static size_t first_from(const struct heap_span *span, size_t low, uint64_t distance)
{
	size_t high = span->chunks.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (chunk_distance(span->chunks.items[middle]) < distance)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/*
 * Takes over all chunks from span->next up to the next page that changed, if the older walk knows
 * this place: their headers are what they were, so they follow each other as they did.
 */
static int take_over(struct mending *mending)
{
	struct heap_span *span = mending->span;
	const struct heap_span *older = mending->older;
	uint64_t limit = MIN(span->top ? span->top : span->end, span->end), stop;
	size_t from = mending->at, to, wanted;
	uint32_t *grown;

	stop = next_changed(mending, span->next, limit);
	to = first_from(older, from, stop - span->start);
	/* The last one ended the older walk: what follows it is not known. */
	to = MIN(to, older->chunks.count - 1);
	/* The heap ends before: it was cut meanwhile, and not between two chunks. */
	if (to <= from) {
		span->broken = span->done = true;
		return 0;
	}
	wanted = span->chunks.count + (to - from);
	if (wanted > span->chunks.capacity) {
		grown = reallocarray(span->chunks.items, wanted + 1024, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		span->chunks.items = grown;
		span->chunks.capacity = wanted + 1024;
	}
	memcpy(span->chunks.items + span->chunks.count, older->chunks.items + from,
	       (to - from) * sizeof(*grown));
	span->chunks.count = wanted;
	mending->at = to;
	span->next = span->start + chunk_distance(older->chunks.items[to]);
	return 0;
}

/* The next pages that changed are read together: one by one they would take most of a stop. */
static void look_ahead(struct mending *mending, struct peek *peek)
{
	uint64_t pages[PEEK_AHEAD], at = mending->span->next & ~(MEMORY_PAGE - 1);
	size_t count = 0, seen = 0;

	for (; at < mending->span->end && count < PEEK_AHEAD && seen < PEEK_PAGES;
	     at += MEMORY_PAGE, seen++) {
		const struct page *page = pages_find(mending->table, at);

		if (page && page->flags & PAGE_WAS_READ && page->flags & PAGE_CHANGED)
			pages[count++] = at;
	}
	mending->ahead = at;
	if (count)
		peek_ahead(peek, pages, count);
}

static int mend_one(struct mending *mending, struct peek *peek)
{
	struct heap_span *span = mending->span;
	const uint32_t *known = span->next == span->top ? NULL : still_known(mending);
	uint64_t header[2];
	int missing;

	if (known)
		return take_over(mending);
	if (span->next >= mending->ahead)
		look_ahead(mending, peek);
	missing = peek_words(peek, span->next, header, 2);
	if (missing == -ETIMEDOUT)
		return missing;
	if (missing) {
		span->broken = span->done = true;
		return 0;
	}
	return heap_span_step(span, header[1]);
}

/* Nothing of it has changed: the older walk is the walk. */
static bool take_whole(struct mending *mending, struct heap_span *older)
{
	struct heap_span *span = mending->span;
	uint64_t end = older->next + 16; /* behind the header that ended it */

	if (!older->done || older->broken || older->top != span->top || older->end != span->end ||
	    next_changed(mending, span->start, end) != end)
		return false;
	memcpy(&span->chunks, &older->chunks, sizeof(span->chunks));
	memset(&older->chunks, 0, sizeof(older->chunks));
	span->next = older->next;
	span->done = true;
	return true;
}

/*
 * Room for as many chunks as there were, at once: growing step by step, and a fault for each page,
 * would cost more of a stop than all the copying.
 */
static int make_room(struct heap_span *span, size_t count)
{
	size_t bytes = (count * sizeof(*span->chunks.items) / HUGE_PAGE + 1) * HUGE_PAGE;

	if (count < HUGE_PAGE / sizeof(*span->chunks.items))
		return 0;
	span->chunks.items = aligned_alloc(HUGE_PAGE, bytes);
	if (!span->chunks.items)
		return -ENOMEM;
	span->chunks.capacity = bytes / sizeof(*span->chunks.items);
	madvise(span->chunks.items, bytes, MADV_HUGEPAGE); /* slower without, and no less right */
	return 0;
}

int heap_span_mend(struct heap_span *span, struct heap_span *older, const struct page_table *table,
		   struct peek *peek)
{
	struct mending mending = {.span = span,
				  .older = older,
				  .table = table,
				  .deadline = peek->deadline,
				  .page = UINT64_MAX};
	int err = 0;

	if (take_whole(&mending, older))
		return 0;
	err = make_room(span, older->chunks.count);
	while (!err && !span->done)
		err = deadline_step(mending.deadline) ? -ETIMEDOUT : mend_one(&mending, peek);
	vec_free(&older->chunks);
	return err;
}
