/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libFuzzer harness of a reader of an allocator's heap: a small handmade heap, in which the input
 * changes words. The result must be consistent, also at a stop, with the second half of the changes
 * applied after a walk. A fuzzer includes the reader's fixture (tests/unit/NAME_fixture.h), defines
 * put_forged(), which makes the heap, and includes this.
 *
 * Input: changes of 12 bytes each, see forged_words.h. Seeds: not needed.
 */
#ifndef LEAKMON_FUZZ_FORGED_BLOCKS_H
#define LEAKMON_FUZZ_FORGED_BLOCKS_H

#include <time.h>

#include "heap/allocators/pages.h"
#include "process/pause/stop.h"
#include "unit/forged_words.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Nothing here changes: no retry needs to wait. */
int nanosleep(const struct timespec *requested, struct timespec *left)
{
	(void)requested;
	(void)left;
	return 0;
}

/* The memory, and a copy in its original state. */
struct forged_heap {
	struct made_memory *memory;
	struct forged_words words;
	VEC(uint32_t) places;
	uint64_t *kept;
	struct page_table pages;
};

static struct made_memory *forged_make(void)
{
	struct fixture *fixture;
	void *state;

	if (setup(&state))
		abort();
	fixture = state;
	put_forged(fixture);
	return &fixture->memory;
}

static void forged_keep(struct forged_heap *forged)
{
	struct made_memory *memory = forged->memory;

	forged->kept = mmap(NULL, memory->bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (forged->kept == MAP_FAILED)
		abort();
	for (uint64_t i = 0; i < memory->bytes / 8; i++) {
		uint32_t *place = at(memory->start)[i] ? vec_push(&forged->places) : NULL;

		if (!place)
			continue;
		*place = (uint32_t)i;
		forged->kept[i] = at(memory->start)[i];
	}
	forged->words = (struct forged_words){.base = memory->start,
					      .size = memory->bytes,
					      .places = forged->places.items,
					      .place_count = (uint32_t)forged->places.count};
}

/* All of it was read, and nothing has changed since. */
static void forged_page_table(struct forged_heap *forged)
{
	const struct made_memory *memory = forged->memory;
	struct page_range *range = vec_push(&forged->pages.ranges);

	if (!range)
		abort();
	*range = (struct page_range){.start = memory->start, .end = memory->start + memory->bytes};
	if (pages_prepare(&forged->pages))
		abort();
	for (size_t i = 0; i < forged->pages.count; i++)
		forged->pages.pages[i].flags = PAGE_WAS_READ;
}

/* The pages that changes are about have changed, or have not. */
static void forged_mark(struct forged_heap *forged, const uint8_t *data, size_t size, bool changed)
{
	struct forged_change change;
	uint64_t address;

	for (size_t at = 0;
	     forged_words_next(&forged->words, data, size, &at, &change, &address);) {
		size_t page = (address - forged->words.base) / MEMORY_PAGE;

		forged->pages.pages[page].flags =
			(uint16_t)(changed ? PAGE_WAS_READ | PAGE_CHANGED : PAGE_WAS_READ);
	}
}

static void forged_restore(const struct forged_heap *forged, const uint8_t *data, size_t size)
{
	struct forged_change change;
	uint64_t address;

	for (size_t at = 0; forged_words_next(&forged->words, data, size, &at, &change, &address);)
		forged_put(address, forged->kept[(address - forged->words.base) / 8]);
}

static void check_run(const struct heap *heap, const struct heap_run *run)
{
	uint64_t before = run->start;

	for (uint32_t i = 0; i < run->count; i++) {
		struct heap_block block = heap_block(heap, run, i);

		if (block.start < before || block.end <= block.start ||
		    block.end > run->end + heap->overlap || block.address < block.start ||
		    block.size > block.end + heap->overlap - block.address)
			abort();
		before = block.end - heap->overlap;
	}
}

static void check_heap(const struct heap *heap)
{
	for (size_t i = 0; i < heap->runs.count; i++) {
		const struct heap_run *run = &heap->runs.items[i];

		if (run->start >= run->end || run->use >= RUN_USE_MAX_ ||
		    (i && run->start < run[-1].end))
			abort();
		check_run(heap, run);
	}
	if (memchr(heap->name, '\0', sizeof(heap->name)) == NULL)
		abort();
}

/* 0; errors as find() and read(). */
static int read_forged(struct made_memory *memory, struct heap *heap)
{
	const struct heap_reader *reader = memory->reader;
	const struct heap_view view = made_view(memory);
	int error = made_find(memory);

	if (!error && reader->walk_begin)
		error = reader->walk_begin(memory->state, &view);
	if (!error && reader->walk_end)
		error = reader->walk_end(memory->state, &view);
	if (!error)
		error = reader->read(memory->state, &view, heap);
	if (!error && reader->settle)
		error = reader->settle(memory->state, heap);
	if (error)
		return error;
	check_heap(heap);
	return reader->account ? reader->account(memory->state, &view, heap) : 0;
}

/* A walk, then the rest of the changes, and a reading that mends it: as read_forged(). */
static int read_stopped(struct forged_heap *forged, const uint8_t *data, size_t size,
			struct heap *heap)
{
	struct made_memory *memory = forged->memory;
	const struct heap_reader *reader = memory->reader;
	const struct stop stop = {0};
	struct heap_view view = made_view(memory);
	int error = made_find(memory);

	if (!error)
		error = reader->walk_begin(memory->state, &view);
	if (!error)
		error = reader->walk_end(memory->state, &view);
	if (error)
		return error;
	forged_words_change(&forged->words, data, size);
	forged_mark(forged, data, size, true);
	peek_forget(&memory->peek);
	view.stop = &stop;
	view.pages = &forged->pages;
	error = reader->read(memory->state, &view, heap);
	if (!error && reader->settle)
		error = reader->settle(memory->state, heap);
	forged_mark(forged, data, size, false);
	return error;
}

static void fuzz_stopped(struct forged_heap *forged, const uint8_t *data, size_t size)
{
	size_t before = size / 2 - size / 2 % sizeof(struct forged_change);
	struct heap heap = {.reader = forged->memory->reader};

	forged_words_change(&forged->words, data, before);
	if (!read_stopped(forged, data + before, size - before, &heap))
		check_heap(&heap);
	heap_free(&heap);
	forged_restore(forged, data + before, size - before);
	forged_restore(forged, data, before);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct forged_heap forged;
	struct heap heap = {0};

	if (!forged.memory) {
		forged.memory = forged_make();
		forged_keep(&forged);
		forged_page_table(&forged);
	}
	heap.reader = forged.memory->reader;
	forged_words_change(&forged.words, data, size);
	if (!read_forged(forged.memory, &heap))
		check_heap(&heap);
	heap_free(&heap);
	forged_restore(&forged, data, size);
	if (forged.memory->reader->walk_begin)
		fuzz_stopped(&forged, data, size);
	return 0;
}

#endif
