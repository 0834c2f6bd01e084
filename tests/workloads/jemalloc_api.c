// SPDX-License-Identifier: GPL-2.0-or-later
/* The functions that only jemalloc has, in every way to call them. `go` runs every case once. */
#include <jemalloc/jemalloc.h>

#include "workload.h"

enum { MALLOCX, RALLOCX, RALLOCX_FAIL, XALLOCX, XALLOCX_REFUSED, FREED, ASKED, SITES_ };

static struct truth truth;

static void born(unsigned site, void *block, size_t size)
{
	if (!OPAQUE(block))
		_exit(113);
	truth_born(&truth, site, size);
}

static void moved(unsigned site, void *block, size_t old, size_t size)
{
	truth_died(&truth, site, old);
	born(site, block, size);
}

static SITE void case_mallocx(void)
{
	born(MALLOCX, mallocx(11, 0), 11);
	born(MALLOCX, mallocx(12, MALLOCX_ALIGN(256) | MALLOCX_ZERO), 12);
	born(MALLOCX, mallocx(300000, MALLOCX_TCACHE_NONE), 300000);
	truth.failed++;
	if (mallocx(OPAQUE((size_t)1 << 62), 0))
		_exit(112);
}

static SITE void case_rallocx(void)
{
	void *block = mallocx(21, 0);

	born(RALLOCX, block, 21);
	moved(RALLOCX, rallocx(block, 210000, MALLOCX_ZERO), 21, 210000);
}

static SITE void case_rallocx_fail(void)
{
	void *block = mallocx(31, 0);

	born(RALLOCX_FAIL, block, 31);
	truth.failed++;
	if (rallocx(OPAQUE(block), OPAQUE((size_t)1 << 62), 0))
		_exit(112);
}

/* A large block shrinks in place. */
static SITE void case_xallocx(void)
{
	void *block = mallocx(8 << 20, 0);

	born(XALLOCX, block, 8 << 20);
	if (xallocx(OPAQUE(block), 4 << 20, 0, 0) < 4 << 20)
		_exit(112);
	moved(XALLOCX, block, 8 << 20, 4 << 20);
}

/* A small one cannot grow over its neighbour: everything stays as it was. */
static SITE void case_xallocx_refused(void)
{
	void *block = mallocx(41, 0);

	born(XALLOCX_REFUSED, block, 41);
	truth.failed++;
	if (xallocx(OPAQUE(block), 41000, 0, 0) >= 41000)
		_exit(112);
}

static SITE void case_freed(void)
{
	void *first = mallocx(51, 0), *second = mallocx(52, 0), *third = calloc(53, 1);

	born(FREED, first, 51);
	born(FREED, second, 52);
	born(FREED, third, 53);
	dallocx(OPAQUE(first), 0);
	truth_died(&truth, FREED, 51);
	sdallocx(OPAQUE(second), 52, 0);
	truth_died(&truth, FREED, 52);
	free(OPAQUE(third));
	truth_died(&truth, FREED, 53);
}

/* Queries are not events. */
static SITE void case_asked(void)
{
	void *block = mallocx(61, 0);

	born(ASKED, block, 61);
	if (nallocx(61, 0) < 61 || sallocx(block, 0) < 61 || malloc_usable_size(block) < 61)
		_exit(112);
}

static const struct site_case cases[] = {
	[MALLOCX] = {"case_mallocx", case_mallocx},
	[RALLOCX] = {"case_rallocx", case_rallocx},
	[RALLOCX_FAIL] = {"case_rallocx_fail", case_rallocx_fail},
	[XALLOCX] = {"case_xallocx", case_xallocx},
	[XALLOCX_REFUSED] = {"case_xallocx_refused", case_xallocx_refused},
	[FREED] = {"case_freed", case_freed},
	[ASKED] = {"case_asked", case_asked},
};
_Static_assert(ARRAY_SIZE(cases) == SITES_, "a case for every site");

int main(void)
{
	return workload_serve_cases(cases, ARRAY_SIZE(cases), &truth);
}
