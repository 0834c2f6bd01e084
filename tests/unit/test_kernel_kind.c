// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/family.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"

static void pages_that_objects_are_cut_from_are_distinguished_from_the_others(void **state)
{
	static const struct {
		const char *allocator, *functions[5];
		enum site_kind kind;
	} cases[] = {
		{"alloc_pages_mpol", {"allocate_slab", "___slab_alloc", "x"}, KIND_SLAB_PAGES},
		{"__alloc_pages", {"alloc_slab_page.constprop.0", "new_slab"}, KIND_SLAB_PAGES},
		{"___kmalloc_large_node", {"alloc_skb", "x"}, KIND_SLAB_PAGES},
		{"__get_free_pages", {"pte_alloc_one", "x"}, KIND_PAGES},
		{NULL, {NULL, "x"}, KIND_PAGES},
		/* A page table needed while a slab is made does not count. */
		{NULL, {"a", "b", "c", "d", "allocate_slab"}, KIND_PAGES},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct frame list[5] = {0};
		struct frames frames = {.list = {.items = list, .count = 5}};

		for (size_t j = 0; j < 5; j++)
			list[j].function = cases[i].functions[j];
		assert_int_equal(kernel_page_kind(&frames, cases[i].allocator), cases[i].kind);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pages_that_objects_are_cut_from_are_distinguished_from_the_others),
	};

	return cmocka_run_group_tests_name("kernel_kind", tests, NULL, NULL);
}
