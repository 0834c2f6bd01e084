// SPDX-License-Identifier: GPL-2.0-or-later
/* Pools of libraries, each known by one field. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "heap/allocators/data_modules.h"
#include "heap/retain/heap_graph.h"
#include "heap/retain/pool_kinds.h"

static void the_head_of_a_pool_has_its_end(void **state)
{
	static const struct {
		uint64_t place, value, size;
		bool is_end;
	} rows[] = {
		{0, 4064, 4072, true},	 /* obstack: malloc has rounded up */
		{0, 4072, 4072, true},	 /* one past the end */
		{1, 16384, 16392, true}, /* nginx */
		{4, 8192, 8200, true},	 /* APR */
		{2, 4064, 4072, false},	 /* no kind has it there */
		{0, 4056, 4072, false},	 /* before the end */
		{0, 4073, 4072, false},	 /* after it */
		{0, (uint64_t)-8, 4072, false}, {0, 64, 72, false}, /* too small for a pool */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(pool_kinds_is_end(rows[i].place, rows[i].value, rows[i].size),
				 rows[i].is_end);
}

static uint32_t loaded(const char *path)
{
	struct data_module items[] = {{.path = "/lib/libc.so.6"}, {.path = path}};
	struct data_modules modules = {.list = {items, 2, 2}};

	return pool_kinds_loaded(&modules);
}

static void links_are_looked_for_where_their_library_is_loaded(void **state)
{
	(void)state;
	assert_int_not_equal(loaded("/usr/lib/libtalloc.so.2.4.0"), 0);
	assert_int_not_equal(loaded("/usr/lib/libdbus-1.so.3"), 0);
	assert_int_equal(loaded("/usr/lib/libtalloc.so.2") & loaded("/lib/libdbus-1.so.3"), 0);
	assert_int_equal(loaded("/usr/lib/libtallocate.so"), 0);
	assert_int_equal(loaded("/usr/lib/libdbus-1.so/libx.so"), 0);
}

/* A parent 0 with children 1 and 2, each of which a block 3 of the program's points to, too. */
static void links_of_talloc_lead_back(void **state)
{
	static uint32_t first[] = {0, 2, 4, 5, 8};
	static uint32_t targets[] = {1, 2, 2, 0, 1, 1, 2, 0};
	static uint32_t places[] = {4, 12, 1, 3, 2, 1, 2, 4};
	static const bool is_link[] = {true, false, true, true, true, false, false, false};
	struct heap_graph graph = {.blocks = 4,
				   .places = places,
				   .graph = {4, first, targets},
				   .pool_libraries = loaded("libtalloc.so.2")};

	(void)state;
	for (uint32_t block = 0; block < 4; block++) {
		for (uint32_t i = first[block]; i < first[block + 1]; i++)
			assert_int_equal(pool_kinds_is_link(&graph, block, i), is_link[i]);
	}
	/* Not the start. */
	places[0] |= EDGE_INSIDE;
	assert_false(pool_kinds_is_link(&graph, 0, 0));
	places[0] = 4;
	graph.pool_libraries = 0;
	assert_false(pool_kinds_is_link(&graph, 0, 0));
}

/* The head 0 of a pool of D-Bus's, whose memory is 1; a block 2 of the same size leads to no
 * pool. */
static void a_head_of_dbus_leads_to_a_pool(void **state)
{
	static uint32_t first[] = {0, 2, 2, 4};
	static uint32_t targets[] = {1, 1, 0, 0};
	static uint32_t places[] = {2 | EDGE_INSIDE, 3, 2, 3};
	static uint64_t sizes[] = {40, 792, 40};
	static uint8_t own_words[] = {0, POOL_WORDS, 0};
	struct heap_graph graph = {.blocks = 3,
				   .sizes = sizes,
				   .places = places,
				   .own_words = own_words,
				   .graph = {3, first, targets},
				   .pool_libraries = loaded("libdbus-1.so.3")};

	(void)state;
	assert_true(pool_kinds_is_link(&graph, 0, 0));
	assert_true(pool_kinds_is_link(&graph, 0, 1));
	assert_false(pool_kinds_is_link(&graph, 2, 2));
	assert_false(pool_kinds_is_link(&graph, 2, 3));
	sizes[0] = 48;
	assert_false(pool_kinds_is_link(&graph, 0, 1));
	sizes[0] = 40;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_head_of_a_pool_has_its_end),
		cmocka_unit_test(links_are_looked_for_where_their_library_is_loaded),
		cmocka_unit_test(links_of_talloc_lead_back),
		cmocka_unit_test(a_head_of_dbus_leads_to_a_pool),
	};

	return cmocka_run_group_tests_name("pool_kinds", tests, NULL, NULL);
}
