// SPDX-License-Identifier: GPL-2.0-or-later
/* Mappings as in real runtimes: finds the collector's heap among them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "heap/runtime/runtime.h"

#define LINES 12

struct layout {
	const char *what;
	const char *runtime; /* key; NULL: none */
	struct {
		const char *line;
		bool heap;
	} lines[LINES];
};

static const struct layout layouts[] = {
	{"no runtime",
	 NULL,
	 {{"00400000-00500000 r-xp 00000000 fe:00 7 /usr/bin/nodeish", false},
	  {"f8000000-fc000000 rw-p 00000000 00:00 0 ", false},
	  {"7f0000040000-7f0000080000 rw-p 00000000 00:00 0 ", false}}},
	{"a JVM with compressed pointers, and its classes behind the heap",
	 "hotspot",
	 {{"c0000000-c4000000 rw-p 00000000 00:00 0 ", true},
	  {"c4000000-100000000 ---p 00000000 00:00 0 ", false},
	  {"100000000-1001d0000 rw-p 00000000 00:00 0 ", false},
	  {"1001d0000-140000000 ---p 00000000 00:00 0 ", false},
	  {"55d000000000-55d000001000 rw-p 00000000 00:00 0 [heap]", false},
	  {"7f0000000000-7f0000021000 rw-p 00000000 00:00 0 ", false},
	  {"7f0000021000-7f0004000000 ---p 00000000 00:00 0 ", false},
	  {"7f1000000000-7f1000270000 rwxp 00000000 00:00 0 ", false},
	  {"7f2000000000-7f2000001000 r-xp 00000000 fe:00 9 /usr/lib/jvm/lib/server/libjvm.so",
	   false}}},
	{"a JVM without: the reservation of which most is in use",
	 "hotspot",
	 {{"100000000-1001d0000 rw-p 00000000 00:00 0 ", false},
	  {"1001d0000-140000000 ---p 00000000 00:00 0 ", false},
	  {"7e0000000000-7e0004000000 rw-p 00000000 00:00 0 ", true},
	  {"7e0004000000-7e0010000000 ---p 00000000 00:00 0 ", false},
	  {"7f0000000000-7f0000021000 rw-p 00000000 00:00 0 ", false},
	  {"7f2000000000-7f2000001000 r-xp 00000000 fe:00 9 /x/libjvm.so", false}}},
	{"a JVM whose collector maps a memfd",
	 "hotspot",
	 {{"40000000000-40008000000 rw-s 00000000 00:01 5 /memfd:java_heap (deleted)", true},
	  {"7f2000000000-7f2000001000 r-xp 00000000 fe:00 9 /x/libjvm.so", false}}},
	{"node: chunks at multiples of 256 KiB, but no arena of malloc and no stack",
	 "v8",
	 {{"00400000-00500000 r-xp 00000000 fe:00 7 /usr/bin/node", false},
	  {"6af81b40000-6af81b80000 rw-p 00000000 00:00 0 ", true},
	  {"3c8d39440000-3c8d39482000 rw-p 00000000 00:00 0 ", true},
	  {"7f4308000000-7f4308051000 rw-p 00000000 00:00 0 ", false},
	  {"7f4308051000-7f430c000000 ---p 00000000 00:00 0 ", false},
	  {"7f430dfc3000-7f430dfff000 rwxp 00000000 00:00 0 ", false},
	  {"7f432dffd000-7f432e7fd000 rw-p 00000000 00:00 0 ", false}}},
	{"Go: by where its arenas begin",
	 "go",
	 {{"00400000-0045a000 r-xp 00000000 fe:00 7 /srv/api", false},
	  {"c000000000-c002800000 rw-p 00000000 00:00 0 ", true},
	  {"c002800000-c004000000 ---p 00000000 00:00 0 ", false},
	  {"7f77cb46f000-7f77cd800000 rw-p 00000000 00:00 0 ", false}}},
	{"Go 1.25: by name",
	 "go",
	 {{"c000000000-c000400000 rw-p 00000000 00:00 0 [anon: Go: heap]", true},
	  {"7f77cb46f000-7f77cd800000 rw-p 00000000 00:00 0 [anon: Go: allspans array]", false}}},
	{"Mono",
	 "mono",
	 {{"00400000-00500000 r-xp 00000000 fe:00 7 /usr/bin/mono-sgen", false},
	  {"7f0001000000-7f0001400000 rw-p 00000000 00:00 0 ", true},
	  {"7f0004000000-7f0004021000 rw-p 00000000 00:00 0 ", false}}},
	{"Bun: JavaScriptCore",
	 "jsc",
	 {{"02a68000-06000000 r-xp 00000000 fe:00 7 /opt/bun/bin/bun", false},
	  {"44982000-449a3000 rw-p 00000000 00:00 0 [heap]", false},
	  {"39c9d600000-39cdd600000 rw-p 00000000 00:00 0 ", true},
	  {"7f1418000000-7f1418021000 rw-p 00000000 00:00 0 ", false}}},
	{".NET",
	 "dotnet",
	 {{"7e0000000000-7e0000800000 rw-p 00000000 00:00 0 ", true},
	  {"7e0000800000-7f0000000000 ---p 00000000 00:00 0 ", false},
	  {"7f1000000000-7f1000100000 rw-p 00000000 00:00 0 ", false},
	  {"7f2000000000-7f2000001000 r-xp 00000000 fe:00 9 /x/libcoreclr.so", false}}},
	{"GHC: by where its reservation begins",
	 "ghc",
	 {{"00400000-004c3000 r-xp 00000000 fe:00 7 /srv/pandoc", false},
	  {"4200000000-4200600000 rw-p 00000000 00:00 0 ", true},
	  {"4200600000-14200100000 ---p 00000000 00:00 0 ", false},
	  {"7f9fe5755000-7f9fe57ac000 rw-p 00000000 00:00 0 ", false}}},
	{"a name alone is no runtime: no file is mapped",
	 NULL,
	 {{"7f2000000000-7f2000001000 rw-p 00000000 00:00 0 [anon:libjvm.so]", false}}},
};

static size_t lines_parse(const struct layout *layout, char text[LINES][128],
			  struct mapping mappings[LINES])
{
	size_t count = 0;

	while (count < LINES && layout->lines[count].line) {
		strcpy(text[count], layout->lines[count].line);
		assert_int_equal(maps_parse_line(text[count], &mappings[count]), 0);
		count++;
	}
	return count;
}

static void expect_heap(const struct layout *layout)
{
	_cleanup_(runtime_heap_free) struct runtime_heap heap = {0};
	struct mapping mappings[LINES];
	char text[LINES][128];
	size_t count = lines_parse(layout, text, mappings);
	const char *key;

	assert_int_equal(runtime_heap_find(mappings, count, sizeof(*mappings), &heap), 0);
	key = heap.runtime ? heap.runtime->key : "none";
	if (strcmp(key, layout->runtime ? layout->runtime : "none") != 0)
		fail_msg("%s: is said to be %s", layout->what, key);
	for (size_t i = 0; i < count; i++) {
		if (runtime_heap_share(&heap, &mappings[i], NULL) != layout->lines[i].heap)
			fail_msg("%s: %s", layout->what, layout->lines[i].line);
	}
}

static void the_heap_of_every_runtime_is_distinguished_from_the_rest(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(layouts); i++)
		expect_heap(&layouts[i]);
}

/* Python's arenas lie in mappings that the kernel joins with blocks of malloc's. */
#define POOLS 64
#define POOL_BYTES (16u << 10)

static void pool_write(unsigned char *pool, uint32_t block, uint32_t used)
{
	const uint32_t offsets[] = {48 + used * block, POOL_BYTES - block};

	memcpy(pool + 40, offsets, sizeof(offsets));
}

static double python_share(const struct runtime_heap *heap, const unsigned char *region)
{
	struct peek peek = {.source = live_memory(getpid()), .pagemap = -1};
	struct mapping mapping = {.start = (uintptr_t)region,
				  .end = (uintptr_t)region + (uint64_t)POOLS * POOL_BYTES,
				  .readable = true,
				  .writable = true,
				  .path = ""};
	double share;

	peek_forget(&peek);
	share = runtime_heap_share(heap, &mapping, &peek);
	peek_free(&peek);
	return share;
}

static void pythons_heap_is_detected_by_its_pools(void **state)
{
	_cleanup_(runtime_heap_free) struct runtime_heap heap = {0};
	unsigned char *region = aligned_alloc(POOL_BYTES, (size_t)POOLS * POOL_BYTES);
	char line[] = "00400000-00500000 r-xp 00000000 fe:00 7 /usr/bin/python3.11";
	struct mapping program;

	(void)state;
	assert_non_null(region);
	assert_int_equal(maps_parse_line(line, &program), 0);
	assert_int_equal(runtime_heap_find(&program, 1, sizeof(program), &heap), 0);
	assert_string_equal(heap.runtime->key, "cpython");
	memset(region, 0x5a, (size_t)POOLS * POOL_BYTES);
	assert_true(python_share(&heap, region) == 0);
	memset(region, 0, (size_t)POOLS * POOL_BYTES);
	assert_true(python_share(&heap, region) == 0);
	for (uint32_t i = 0; i < POOLS / 2; i++)
		pool_write(region + (size_t)i * POOL_BYTES, 16 * (i + 1), i);
	assert_true(python_share(&heap, region) == 0.5);
	free(region);
}

static void every_runtime_has_a_tool(void **state)
{
	char tool[RUNTIME_TOOL_SIZE];
	const struct runtime *runtime;

	(void)state;
	for (size_t i = 0; (runtime = runtime_at(i)); i++) {
		assert_ptr_equal(runtime_find(runtime->key), runtime);
		assert_string_equal(runtime_name(runtime->key), runtime->name);
		assert_in_range(strlen(runtime_tool(runtime->key, 2147483647, tool)), 20,
				RUNTIME_TOOL_SIZE - 2);
		assert_null(strchr(tool, '%'));
	}
	assert_non_null(
		strstr(runtime_tool("hotspot", 4242, tool), "leakmon retain --census -p 4242"));
}

/* A recording may have been made by a newer leakmon. */
static void a_key_that_is_not_known_is_a_runtime_all_the_same(void **state)
{
	char tool[RUNTIME_TOOL_SIZE];

	(void)state;
	assert_null(runtime_find("beam"));
	assert_null(runtime_find(NULL));
	assert_string_equal(runtime_name("beam"), "runtime");
	assert_string_equal(runtime_tool("beam", 7, tool), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_heap_of_every_runtime_is_distinguished_from_the_rest),
		cmocka_unit_test(pythons_heap_is_detected_by_its_pools),
		cmocka_unit_test(every_runtime_has_a_tool),
		cmocka_unit_test(a_key_that_is_not_known_is_a_runtime_all_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
