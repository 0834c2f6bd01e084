// SPDX-License-Identifier: GPL-2.0-or-later
// tcmalloc under its own names. `go` runs every case once.
#include <new>

#include <gperftools/tcmalloc.h>

#include "workload.h"

enum { ALLOCATED, RESIZED, ALIGNED, NEW, FREED, SITES_ };

static struct truth truth;
static volatile size_t huge = (size_t)1 << 62;
static const std::align_val_t alignment{64};

static void *born(unsigned site, void *block, size_t size)
{
	if (!block)
		_exit(113);
	truth_born(&truth, site, size);
	return block;
}

static void gone(size_t size)
{
	truth_died(&truth, FREED, size);
}

extern "C" SITE void allocated()
{
	born(ALLOCATED, tc_malloc(11), 11);
	born(ALLOCATED, tc_calloc(3, 4), 12);
	born(ALLOCATED, tc_malloc_skip_new_handler(13), 13);
	truth.failed++;
	if (tc_malloc_skip_new_handler(huge))
		_exit(112);
}

extern "C" SITE void resized()
{
	void *block = born(RESIZED, tc_malloc(21), 21);

	block = tc_realloc(block, 210000);
	truth_died(&truth, RESIZED, 21);
	born(RESIZED, block, 210000);
}

extern "C" SITE void aligned()
{
	void *block = NULL;

	born(ALIGNED, tc_memalign(64, 31), 31);
	if (tc_posix_memalign(&block, 128, 32))
		_exit(112);
	born(ALIGNED, block, 32);
	born(ALIGNED, tc_valloc(33), 33);
	born(ALIGNED, tc_pvalloc(34), 34);
}

extern "C" SITE void new_forms()
{
	born(NEW, tc_new(41), 41);
	born(NEW, tc_newarray(42), 42);
	born(NEW, tc_new_nothrow(43, std::nothrow), 43);
	born(NEW, tc_newarray_nothrow(44, std::nothrow), 44);
}

extern "C" SITE void freed()
{
	tc_free(born(FREED, tc_malloc(51), 51));
	gone(51);
	tc_free_sized(born(FREED, tc_malloc(52), 52), 52);
	gone(52);
	tc_cfree(born(FREED, tc_malloc(53), 53));
	gone(53);
	tc_delete(born(FREED, tc_new(54), 54));
	gone(54);
	tc_delete_sized(born(FREED, tc_new(55), 55), 55);
	gone(55);
	tc_deletearray(born(FREED, tc_newarray(56), 56));
	gone(56);
	tc_delete_nothrow(born(FREED, tc_new_nothrow(57, std::nothrow), 57), std::nothrow);
	gone(57);
	tc_delete_aligned(born(FREED, tc_new_aligned(58, alignment), 58), alignment);
	gone(58);
	tc_deletearray_sized_aligned(born(FREED, tc_newarray_aligned(59, alignment), 59), 59,
				     alignment);
	gone(59);
}

static void go()
{
	static const char *const names[] = {"allocated", "resized", "aligned", "new_forms",
					    "freed"};

	static_assert(ARRAY_SIZE(names) == SITES_, "a name for every site");
	for (unsigned i = 0; i < SITES_; i++)
		truth.sites[i].function = names[i];
	allocated();
	resized();
	aligned();
	new_forms();
	freed();
}

int main()
{
	static const struct command commands[] = {{"go", go, false}};

	return workload_serve(commands, ARRAY_SIZE(commands), &truth);
}
