// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Each allocation function and each of its ways to succeed, to move, to free and to fail: one
 * function per case, so that a wrong count identifies its case. `go` runs every case once.
 *
 * With PORTABLE (portable.c), only the functions that all allocators have with the same meaning.
 */
#include <malloc.h>
#include <pthread.h>

#include "workload.h"

enum {
	MALLOC,
	MALLOC_ZERO,
	CALLOC,
	REALLOC_NULL,
	REALLOC_GROW,
	REALLOC_SHRINK,
	REALLOC_FAIL,
	REALLOC_EARLY,
	REALLOCARRAY,
	REALLOCARRAY_GROW,
	MEMALIGN,
	ALIGNED_ALLOC,
	POSIX_MEMALIGN,
	VALLOC,
#ifndef PORTABLE
	PVALLOC,
#endif
	HUGE,
	FREED,
	OTHER_THREAD,
	SITES_
};
_Static_assert(SITES_ <= MAX_SITES, "truth has room");

static struct truth truth;
static void *early[2];
static void *_Atomic handed_over;
static pthread_barrier_t start, finish;

static void born(unsigned site, void *block, size_t size)
{
	if (!OPAQUE(block))
		_exit(113);
	truth_born(&truth, site, size);
}

/* A realloc that succeeded: the old block is freed, the new one allocated. */
static void moved(unsigned site, void *block, size_t old, size_t size)
{
	truth_died(&truth, site, old);
	born(site, block, size);
}

static void failed(bool refused)
{
	if (!OPAQUE(refused))
		_exit(112);
	truth.failed++;
}

static SITE void case_malloc(void)
{
	born(MALLOC, malloc(11), 11);
}

static SITE void case_malloc_zero(void)
{
	born(MALLOC_ZERO, malloc(0), 0);
}

static SITE void case_calloc(void)
{
	born(CALLOC, calloc(3, 7), 21);
	failed(!calloc(OPAQUE((size_t)1 << 62), 8));
}

static SITE void case_realloc_null(void)
{
	born(REALLOC_NULL, realloc(OPAQUE((void *)NULL), 31), 31);
}

static SITE void case_realloc_grow(void)
{
	void *block = malloc(41);

	born(REALLOC_GROW, block, 41);
	moved(REALLOC_GROW, realloc(block, 410000), 41, 410000);
}

static SITE void case_realloc_shrink(void)
{
	void *block = malloc(5100);

	born(REALLOC_SHRINK, block, 5100);
	moved(REALLOC_SHRINK, realloc(block, 51), 5100, 51);
}

/* The old block survives a failure, and can be freed afterwards. */
static SITE void case_realloc_fail(void)
{
	void *kept = malloc(61), *freed = malloc(62);

	born(REALLOC_FAIL, kept, 61);
	born(REALLOC_FAIL, freed, 62);
	failed(!OPAQUE(realloc(OPAQUE(kept), OPAQUE((size_t)1 << 63))));
	failed(!OPAQUE(realloc(OPAQUE(freed), OPAQUE((size_t)1 << 63))));
	free(OPAQUE(freed));
	truth_died(&truth, REALLOC_FAIL, 62);
}

/* Blocks from before `ready`: their free is untracked, their replacement is tracked. Runs once. */
static SITE void case_realloc_early(void)
{
	truth.untracked_frees += early[0] ? 2 : 0;
	born(REALLOC_EARLY, realloc(early[0], 71), 71);
	free(early[1]);
	early[0] = early[1] = NULL;
}

static SITE void case_reallocarray(void)
{
	born(REALLOCARRAY, reallocarray(OPAQUE((void *)NULL), 3, 27), 81);
	failed(!reallocarray(OPAQUE((void *)NULL), OPAQUE((size_t)1 << 62), 8));
}

static SITE void case_reallocarray_grow(void)
{
	void *block = malloc(91);

	born(REALLOCARRAY_GROW, block, 91);
	failed(!OPAQUE(reallocarray(OPAQUE(block), OPAQUE((size_t)1 << 62), 8)));
	moved(REALLOCARRAY_GROW, OPAQUE(reallocarray(OPAQUE(block), 7, 1300)), 91, 9100);
}

static SITE void case_memalign(void)
{
	born(MEMALIGN, memalign(64, 101), 101);
}

static SITE void case_aligned_alloc(void)
{
	born(ALIGNED_ALLOC, aligned_alloc(32, 128), 128);
}

static SITE void case_posix_memalign(void)
{
	void *block = NULL;

	if (OPAQUE(posix_memalign(&block, 128, 121)))
		_exit(113);
	born(POSIX_MEMALIGN, block, 121);
	failed(OPAQUE(posix_memalign(&block, OPAQUE((size_t)3), 121)) == EINVAL);
	failed(OPAQUE(posix_memalign(&block, 64, OPAQUE((size_t)1 << 63))) == ENOMEM);
}

static SITE void case_valloc(void)
{
	born(VALLOC, valloc(131), 131);
}

#ifndef PORTABLE
static SITE void case_pvalloc(void)
{
	born(PVALLOC, pvalloc(141), 141);
}
#endif

/* Large enough for a separate mapping. */
static SITE void case_huge(void)
{
	born(HUGE, malloc(64 << 20), 64 << 20);
	failed(!malloc(OPAQUE((size_t)1 << 63)));
}

static SITE void case_freed(void)
{
	void *block = malloc(151);

	born(FREED, block, 151);
	free(OPAQUE(block));
	truth_died(&truth, FREED, 151);
	block = calloc(1, 152);
	born(FREED, block, 152);
#ifdef PORTABLE
	free(OPAQUE(block)); /* to some, realloc to 0 is a block */
#else
	if (OPAQUE(realloc(OPAQUE(block), 0)))
		_exit(114);
#endif
	truth_died(&truth, FREED, 152);
	free(OPAQUE((void *)NULL));
}

/* Allocated here, freed by another thread. */
static SITE void case_other_thread(void)
{
	handed_over = malloc(161);
	born(OTHER_THREAD, handed_over, 161);
	pthread_barrier_wait(&start);
	pthread_barrier_wait(&finish);
	truth_died(&truth, OTHER_THREAD, 161);
}

static void *other_thread(void *unused)
{
	for (;;) {
		pthread_barrier_wait(&start);
		free(handed_over);
		pthread_barrier_wait(&finish);
	}
	return unused;
}

#define CASE(site, function) [site] = {#function, function}
static const struct site_case cases[] = {
	CASE(MALLOC, case_malloc),
	CASE(MALLOC_ZERO, case_malloc_zero),
	CASE(CALLOC, case_calloc),
	CASE(REALLOC_NULL, case_realloc_null),
	CASE(REALLOC_GROW, case_realloc_grow),
	CASE(REALLOC_SHRINK, case_realloc_shrink),
	CASE(REALLOC_FAIL, case_realloc_fail),
	CASE(REALLOC_EARLY, case_realloc_early),
	CASE(REALLOCARRAY, case_reallocarray),
	CASE(REALLOCARRAY_GROW, case_reallocarray_grow),
	CASE(MEMALIGN, case_memalign),
	CASE(ALIGNED_ALLOC, case_aligned_alloc),
	CASE(POSIX_MEMALIGN, case_posix_memalign),
	CASE(VALLOC, case_valloc),
#ifndef PORTABLE
	CASE(PVALLOC, case_pvalloc),
#endif
	CASE(HUGE, case_huge),
	CASE(FREED, case_freed),
	CASE(OTHER_THREAD, case_other_thread),
};
_Static_assert(ARRAY_SIZE(cases) == SITES_, "a case for every site");

int main(void)
{
	pthread_t thread;

	early[0] = OPAQUE(malloc(1000));
	early[1] = OPAQUE(malloc(1001));
	pthread_barrier_init(&start, NULL, 2);
	pthread_barrier_init(&finish, NULL, 2);
	if (pthread_create(&thread, NULL, other_thread, NULL))
		return 1;
	return workload_serve_cases(cases, ARRAY_SIZE(cases), &truth);
}
