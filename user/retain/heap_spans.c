// SPDX-License-Identifier: GPL-2.0-or-later
/* Which memory the arenas cut into chunks. */
#include <errno.h>

#include "base/cleanup.h"
#include "retain/heap_walk.h"

static int add_span(struct heap_spans *spans, uint64_t start, uint64_t end, uint64_t top,
		    uint32_t arena, bool is_main)
{
	struct heap_span *span = vec_push(&spans->list);

	if (!span)
		return -ENOMEM;
	start = (start + 15) & ~15ull;
	*span = (struct heap_span){
		.start = start,
		.end = end,
		.top = top >= start && top < end ? top : 0,
		.main = is_main,
		.arena = arena,
		.next = start,
	};
	return 0;
}

/* [heap] is the kernel's word: the path of a file begins with a slash. */
static void brk_bounds(const struct maps *maps, uint64_t *start, uint64_t *end)
{
	*start = *end = 0;
	for (size_t i = 0; i < maps->list.count; i++) {
		const struct mapping *mapping = &maps->list.items[i];

		if (mapping->inode || strcmp(mapping->path, "[heap]") != 0)
			continue;
		if (!*end)
			*start = mapping->start;
		*end = mapping->end;
	}
}

/* Memory that the main arena mapped because the break could not be moved. */
static int add_mapped_main(const struct malloc_arena *arena, uint32_t index,
			   const struct maps *maps, struct heap_spans *spans)
{
	for (size_t i = 0; i < maps->list.count; i++) {
		const struct mapping *mapping = &maps->list.items[i];

		if (arena->top >= mapping->start && arena->top < mapping->end &&
		    mapping->writable && !mapping->inode)
			return add_span(spans, mapping->start, mapping->end, arena->top, index,
					true);
	}
	return 0;
}

static int add_main(const struct malloc_arena *arena, uint32_t index, const struct maps *maps,
		    uint64_t heap_start, struct heap_spans *spans)
{
	uint64_t start, end;
	int err = 0;

	brk_bounds(maps, &start, &end);
	if (!arena->system_mem)
		return 0;
	if (heap_start >= start && heap_start < end)
		start = heap_start;
	if (end)
		err = add_span(spans, start, end, arena->top, index, true);
	if (!err && (arena->top < start || arena->top >= end) &&
	    arena->top != arena->address + arena->layout->top)
		err = add_mapped_main(arena, index, maps, spans);
	return err;
}

/* heap_info: the arena, the heap before, the size. */
static int add_heaps(struct peek *peek, const struct malloc_arena *arena, uint32_t index,
		     struct heap_spans *spans, uint64_t *lost)
{
	uint64_t first = arena->address & ~(MALLOC_HEAP_BYTES - 1);
	uint64_t heap = arena->top & ~(MALLOC_HEAP_BYTES - 1);
	uint64_t head = arena->address - first, start;
	int err = 0;

	for (size_t i = 0; !err && heap; i++) {
		uint64_t info[3];

		if (i > 1 << 20 || peek_words(peek, heap, info, 3) || info[0] != arena->address ||
		    info[2] > MALLOC_HEAP_BYTES || head > MEMORY_PAGE) {
			*lost = heap;
			return -EBADMSG;
		}
		start = heap == first ? arena->address + arena->layout->size : heap + head;
		err = add_span(spans, start, heap + info[2], arena->top, index, false);
		heap = info[1];
	}
	return err;
}

static int compare_spans(const void *left_pointer, const void *right_pointer)
{
	const struct heap_span *left = left_pointer, *right = right_pointer;

	return left->start < right->start ? -1 : left->start > right->start;
}

int heap_spans_find(struct peek *peek, const struct malloc_arenas *arenas, const struct maps *maps,
		    uint64_t heap_start, struct heap_spans *spans, uint64_t *lost)
{
	int err = 0, broken = 0;

	for (size_t i = 0; !err && i < arenas->list.count; i++) {
		const struct malloc_arena *arena = &arenas->list.items[i];

		err = arena->main ? add_main(arena, (uint32_t)i, maps, heap_start, spans)
				  : add_heaps(peek, arena, (uint32_t)i, spans, lost);
		if (err == -EBADMSG) {
			broken = err;
			err = 0;
		}
	}
	if (spans->list.count)
		qsort(spans->list.items, spans->list.count, sizeof(*spans->list.items),
		      compare_spans);
	return err ? err : broken;
}

struct heap_span *heap_spans_at(const struct heap_spans *spans, uint64_t address)
{
	size_t low = 0, high = spans->list.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (spans->list.items[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < spans->list.count && spans->list.items[low].start <= address)
		return &spans->list.items[low];
	return NULL;
}

void heap_spans_free(struct heap_spans *spans)
{
	for (size_t i = 0; i < spans->list.count; i++)
		vec_free(&spans->list.items[i].chunks);
	vec_free(&spans->list);
}
