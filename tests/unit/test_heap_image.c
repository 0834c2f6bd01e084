// SPDX-License-Identifier: GPL-2.0-or-later
/* Blocks with separate mappings, and data that look like them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "heap/allocators/heap_image.h"
#include "heap/allocators/heap_reader.h"

#define PAGE(n) (0x100000 + (uint64_t)(n)*MEMORY_PAGE)
#define CANDIDATES_MAX 6

/* In pages: two mappings, [0, 100) and [200, 300). */
struct span {
	unsigned int start, end;
};

static void build(struct heap_image *heap_image, const struct span *candidates, size_t count,
		  uint64_t mapped_bytes, bool mapped_known)
{
	static const struct span ranges[] = {{0, 100}, {200, 300}};
	struct heap *heap = vec_push(&heap_image->heaps.list);

	assert_non_null(heap);
	*heap = (struct heap){.reader = heap_reader_at(0),
			      .name = "glibc",
			      .mapped_known = mapped_known,
			      .mapped_bytes = mapped_bytes};
	for (size_t i = 0; i < ARRAY_SIZE(ranges); i++) {
		struct page_range *range = vec_push(&heap_image->pages.ranges);

		assert_non_null(range);
		*range = (struct page_range){.start = PAGE(ranges[i].start),
					     .end = PAGE(ranges[i].end),
					     .reach = PAGE(ranges[i].end)};
	}
	for (size_t i = 0; i < count; i++) {
		struct mapped_block *block = vec_push(&heap_image->pages.mapped);

		assert_non_null(block);
		*block = (struct mapped_block){.page = PAGE(candidates[i].start),
					       .start = PAGE(candidates[i].start),
					       .end = PAGE(candidates[i].end),
					       .address = PAGE(candidates[i].start) + 16,
					       .reader = heap_reader_at(0)};
	}
}

static void data_that_looks_like_a_block_is_none_where_malloc_counts_fewer(void **state)
{
	static const struct {
		struct span candidates[CANDIDATES_MAX];
		size_t count;
		unsigned int counted; /* pages */
		bool unknown;
		struct span blocks[CANDIDATES_MAX];
		size_t kept;
	} cases[] = {
		/* As many as malloc counts: wherever they lie. */
		{{{10, 20}, {0, 5}}, 2, 15, false, {{0, 5}, {10, 20}}, 2},
		/* More: those at the start of a mapping, at its end, and next to them. */
		{{{0, 5}, {5, 9}, {20, 90}, {210, 220}, {270, 290}, {290, 300}},
		 6,
		 39,
		 false,
		 {{0, 5}, {5, 9}, {270, 290}, {290, 300}},
		 4},
		/* The block that hid others is gone. */
		{{{50, 98}, {90, 95}, {95, 100}}, 3, 10, false, {{90, 95}, {95, 100}}, 2},
		/* None is counted. */
		{{{10, 20}, {30, 40}}, 2, 0, false, {{0, 0}}, 0},
		{{{10, 20}, {30, 40}}, 2, 0, true, {{10, 20}, {30, 40}}, 2},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct heap_image heap_image = {0};
		const struct heap *heap;

		build(&heap_image, cases[i].candidates, cases[i].count,
		      (uint64_t)cases[i].counted * MEMORY_PAGE, !cases[i].unknown);
		assert_int_equal(heap_image_add_mapped(&heap_image), 0);
		heap = &heap_image.heaps.list.items[0];
		assert_int_equal(heap->runs.count, cases[i].kept);
		assert_int_equal(heap_image.pages.mapped.count, cases[i].kept);
		for (size_t j = 0; j < cases[i].kept; j++) {
			assert_int_equal(heap->runs.items[j].start, PAGE(cases[i].blocks[j].start));
			assert_int_equal(heap->runs.items[j].end, PAGE(cases[i].blocks[j].end));
		}
		heap_image_free(&heap_image);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(data_that_looks_like_a_block_is_none_where_malloc_counts_fewer),
	};

	return cmocka_run_group_tests_name("heap_image", tests, NULL, NULL);
}
