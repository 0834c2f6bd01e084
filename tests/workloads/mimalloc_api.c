// SPDX-License-Identifier: GPL-2.0-or-later
/* mimalloc under its own names: each function once or more. `go` runs every case once. */
#include <mimalloc.h>

#include "workload.h"

enum { ALLOCATED, COUNTED, ALIGNED, NEW, HEAP, HEAP_COUNTED, RESIZED, HEAP_RESIZED, FREED, SITES_ };

static struct truth truth;

static void *born(unsigned site, void *block, size_t size)
{
	if (!OPAQUE(block))
		_exit(113);
	truth_born(&truth, site, size);
	return block;
}

static SITE void allocated(void)
{
	born(ALLOCATED, mi_malloc(11), 11);
	born(ALLOCATED, mi_zalloc(12), 12);
	born(ALLOCATED, mi_malloc_small(13), 13);
	born(ALLOCATED, mi_zalloc_small(14), 14);
	born(ALLOCATED, mi_malloc(3 << 20), 3 << 20);
	truth.failed++;
	if (mi_malloc(OPAQUE((size_t)1 << 62)))
		_exit(112);
}

static SITE void counted(void)
{
	born(COUNTED, mi_calloc(3, 7), 21);
	born(COUNTED, mi_mallocn(2, 11), 22);
	born(COUNTED, mi_calloc_aligned(1, 23, 64), 23);
	born(COUNTED, mi_calloc_aligned_at(1, 24, 64, 8), 24);
}

static SITE void aligned(void)
{
	void *block = NULL;

	born(ALIGNED, mi_malloc_aligned(31, 64), 31);
	born(ALIGNED, mi_malloc_aligned_at(32, 64, 8), 32);
	born(ALIGNED, mi_zalloc_aligned(33, 64), 33);
	born(ALIGNED, mi_zalloc_aligned_at(34, 64, 8), 34);
	born(ALIGNED, mi_memalign(64, 35), 35);
	born(ALIGNED, mi_aligned_alloc(64, 64), 64);
	born(ALIGNED, mi_valloc(36), 36);
	born(ALIGNED, mi_pvalloc(37), 37);
	if (mi_posix_memalign(&block, 64, 38))
		_exit(112);
	born(ALIGNED, block, 38);
}

static SITE void new_forms(void)
{
	mi_heap_t *heap = mi_heap_get_default();

	born(NEW, mi_new(41), 41);
	born(NEW, mi_new_aligned(42, 64), 42);
	born(NEW, mi_new_nothrow(43), 43);
	born(NEW, mi_new_aligned_nothrow(44, 64), 44);
	born(NEW, mi_new_n(9, 5), 45);
	born(NEW, mi_heap_alloc_new(heap, 46), 46);
	born(NEW, mi_heap_alloc_new_n(heap, 1, 47), 47);
	born(NEW, mi_new(70000), 70000);
}

static SITE void in_heap(void)
{
	mi_heap_t *heap = mi_heap_get_default();

	born(HEAP, mi_heap_malloc(heap, 51), 51);
	born(HEAP, mi_heap_zalloc(heap, 52), 52);
	born(HEAP, mi_heap_malloc_small(heap, 53), 53);
	born(HEAP, mi_heap_malloc_aligned(heap, 54, 64), 54);
	born(HEAP, mi_heap_malloc_aligned_at(heap, 55, 64, 8), 55);
	born(HEAP, mi_heap_zalloc_aligned(heap, 56, 64), 56);
	born(HEAP, mi_heap_zalloc_aligned_at(heap, 57, 64, 8), 57);
}

static SITE void in_heap_counted(void)
{
	mi_heap_t *heap = mi_heap_get_default();

	born(HEAP_COUNTED, mi_heap_calloc(heap, 3, 17), 51);
	born(HEAP_COUNTED, mi_heap_mallocn(heap, 2, 26), 52);
	born(HEAP_COUNTED, mi_heap_calloc_aligned(heap, 1, 53, 64), 53);
	born(HEAP_COUNTED, mi_heap_calloc_aligned_at(heap, 1, 54, 64, 8), 54);
}

/* The last block, which a resize replaced by one of `size`. */
static void *replaced(unsigned site, void *block, size_t old, size_t size)
{
	truth_died(&truth, site, old);
	return born(site, block, size);
}

static SITE void resized(void)
{
	void *block = born(RESIZED, mi_malloc(60), 60);

	block = replaced(RESIZED, mi_realloc(block, 6000), 60, 6000);
	block = replaced(RESIZED, mi_reallocn(block, 61, 100), 6000, 6100);
	block = replaced(RESIZED, mi_reallocf(block, 62), 6100, 62);
	block = replaced(RESIZED, mi_rezalloc(block, 63000), 62, 63000);
	block = replaced(RESIZED, mi_recalloc(block, 64, 1), 63000, 64);
	block = replaced(RESIZED, mi_reallocarray(block, 65, 1), 64, 65);
	block = replaced(RESIZED, mi_realloc_aligned(block, 6600, 64), 65, 6600);
	block = replaced(RESIZED, mi_realloc_aligned_at(block, 67, 64, 8), 6600, 67);
	block = replaced(RESIZED, mi_rezalloc_aligned(block, 6800, 64), 67, 6800);
	block = replaced(RESIZED, mi_recalloc_aligned(block, 69, 1, 64), 6800, 69);
	if (mi_expand(block, 68) != block)
		_exit(112);
	block = replaced(RESIZED, block, 69, 68);
	truth.failed += 2;
	if (mi_expand(block, 1 << 20) || mi_realloc(OPAQUE(block), OPAQUE((size_t)1 << 62)))
		_exit(112);
	/* A failure frees the block. */
	truth.failed++;
	block = born(RESIZED, mi_malloc(70), 70);
	truth_died(&truth, RESIZED, 70);
	if (mi_reallocf(OPAQUE(block), OPAQUE((size_t)1 << 62)))
		_exit(112);
}

static SITE void in_heap_resized(void)
{
	mi_heap_t *heap = mi_heap_get_default();
	void *block = born(HEAP_RESIZED, mi_heap_malloc(heap, 80), 80);

	block = replaced(HEAP_RESIZED, mi_heap_realloc(heap, block, 8000), 80, 8000);
	block = replaced(HEAP_RESIZED, mi_heap_reallocn(heap, block, 81, 100), 8000, 8100);
	block = replaced(HEAP_RESIZED, mi_heap_reallocf(heap, block, 82), 8100, 82);
	block = replaced(HEAP_RESIZED, mi_heap_rezalloc(heap, block, 83000), 82, 83000);
	block = replaced(HEAP_RESIZED, mi_heap_recalloc(heap, block, 84, 1), 83000, 84);
	block = replaced(HEAP_RESIZED, mi_heap_realloc_aligned(heap, block, 8500, 64), 84, 8500);
	replaced(HEAP_RESIZED, mi_heap_recalloc_aligned(heap, block, 86, 1, 64), 8500, 86);
}

static SITE void freed(void)
{
	mi_free(born(FREED, mi_malloc(91), 91));
	truth_died(&truth, FREED, 91);
	mi_cfree(born(FREED, mi_malloc(92), 92));
	truth_died(&truth, FREED, 92);
	mi_free_size(born(FREED, mi_malloc(93), 93), 93);
	truth_died(&truth, FREED, 93);
	mi_free_size_aligned(born(FREED, mi_malloc_aligned(94, 64), 94), 94, 64);
	truth_died(&truth, FREED, 94);
	mi_free_aligned(born(FREED, mi_malloc_aligned(95, 64), 95), 64);
	truth_died(&truth, FREED, 95);
	free(born(FREED, malloc(96), 96));
	truth_died(&truth, FREED, 96);
}

static const struct site_case cases[] = {
	[ALLOCATED] = {"allocated", allocated},
	[COUNTED] = {"counted", counted},
	[ALIGNED] = {"aligned", aligned},
	[NEW] = {"new_forms", new_forms},
	[HEAP] = {"in_heap", in_heap},
	[HEAP_COUNTED] = {"in_heap_counted", in_heap_counted},
	[RESIZED] = {"resized", resized},
	[HEAP_RESIZED] = {"in_heap_resized", in_heap_resized},
	[FREED] = {"freed", freed},
};
_Static_assert(ARRAY_SIZE(cases) == SITES_, "a case for every site");

int main(void)
{
	return workload_serve_cases(cases, ARRAY_SIZE(cases), &truth);
}
