// SPDX-License-Identifier: GPL-2.0-or-later
/* Mappings as runtimes have them, and which of them are the collector's heap. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "proc/managed_heap.h"

#define LINES 12

struct layout {
	const char *what;
	enum managed_runtime runtime;
	struct {
		const char *line;
		bool heap;
	} lines[LINES];
};

static const struct layout layouts[] = {
	{"no runtime",
	 MANAGED_NONE,
	 {{"00400000-00500000 r-xp 00000000 fe:00 7 /usr/bin/nodeish", false},
	  {"f8000000-fc000000 rw-p 00000000 00:00 0 ", false},
	  {"7f0000040000-7f0000080000 rw-p 00000000 00:00 0 ", false}}},
	{"a JVM with compressed pointers, and its classes behind the heap",
	 MANAGED_HOTSPOT,
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
	 MANAGED_HOTSPOT,
	 {{"100000000-1001d0000 rw-p 00000000 00:00 0 ", false},
	  {"1001d0000-140000000 ---p 00000000 00:00 0 ", false},
	  {"7e0000000000-7e0004000000 rw-p 00000000 00:00 0 ", true},
	  {"7e0004000000-7e0010000000 ---p 00000000 00:00 0 ", false},
	  {"7f0000000000-7f0000021000 rw-p 00000000 00:00 0 ", false},
	  {"7f2000000000-7f2000001000 r-xp 00000000 fe:00 9 /x/libjvm.so", false}}},
	{"a JVM whose collector maps a memfd",
	 MANAGED_HOTSPOT,
	 {{"40000000000-40008000000 rw-s 00000000 00:01 5 /memfd:java_heap (deleted)", true},
	  {"7f2000000000-7f2000001000 r-xp 00000000 fe:00 9 /x/libjvm.so", false}}},
	{"node: chunks at multiples of 256 KiB, but no arena of malloc and no stack",
	 MANAGED_V8,
	 {{"00400000-00500000 r-xp 00000000 fe:00 7 /usr/bin/node", false},
	  {"6af81b40000-6af81b80000 rw-p 00000000 00:00 0 ", true},
	  {"3c8d39440000-3c8d39482000 rw-p 00000000 00:00 0 ", true},
	  {"7f4308000000-7f4308051000 rw-p 00000000 00:00 0 ", false},
	  {"7f4308051000-7f430c000000 ---p 00000000 00:00 0 ", false},
	  {"7f430dfc3000-7f430dfff000 rwxp 00000000 00:00 0 ", false},
	  {"7f432dffd000-7f432e7fd000 rw-p 00000000 00:00 0 ", false}}},
	{"Go: by where its arenas begin",
	 MANAGED_GO,
	 {{"00400000-0045a000 r-xp 00000000 fe:00 7 /srv/api", false},
	  {"c000000000-c002800000 rw-p 00000000 00:00 0 ", true},
	  {"c002800000-c004000000 ---p 00000000 00:00 0 ", false},
	  {"7f77cb46f000-7f77cd800000 rw-p 00000000 00:00 0 ", false}}},
	{"Go 1.25: by name",
	 MANAGED_GO,
	 {{"c000000000-c000400000 rw-p 00000000 00:00 0 [anon: Go: heap]", true},
	  {"7f77cb46f000-7f77cd800000 rw-p 00000000 00:00 0 [anon: Go: allspans array]", false}}},
	{"Mono",
	 MANAGED_MONO,
	 {{"00400000-00500000 r-xp 00000000 fe:00 7 /usr/bin/mono-sgen", false},
	  {"7f0001000000-7f0001400000 rw-p 00000000 00:00 0 ", true},
	  {"7f0004000000-7f0004021000 rw-p 00000000 00:00 0 ", false}}},
	{".NET",
	 MANAGED_DOTNET,
	 {{"7e0000000000-7e0000800000 rw-p 00000000 00:00 0 ", true},
	  {"7e0000800000-7f0000000000 ---p 00000000 00:00 0 ", false},
	  {"7f1000000000-7f1000100000 rw-p 00000000 00:00 0 ", false},
	  {"7f2000000000-7f2000001000 r-xp 00000000 fe:00 9 /x/libcoreclr.so", false}}},
	{"a name alone is no runtime: no file is mapped",
	 MANAGED_NONE,
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

static void the_heap_of_every_runtime_is_told_from_the_rest(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(layouts); i++) {
		struct managed_search search = {0};
		struct mapping mappings[LINES];
		char text[LINES][128];
		size_t count = lines_parse(&layouts[i], text, mappings);
		struct managed_heap heap;

		for (size_t j = 0; j < count; j++)
			managed_search_add(&search, &mappings[j]);
		heap = managed_search_end(&search);
		if (heap.runtime != layouts[i].runtime)
			fail_msg("%s: is said to be %d", layouts[i].what, heap.runtime);
		for (size_t j = 0; j < count; j++) {
			if (managed_heap_has(&heap, &mappings[j]) != layouts[i].lines[j].heap)
				fail_msg("%s: %s", layouts[i].what, layouts[i].lines[j].line);
		}
	}
}

static void every_runtime_has_a_tool(void **state)
{
	char tool[MANAGED_TOOL_SIZE];

	(void)state;
	assert_string_equal(managed_runtime_tool(MANAGED_NONE, 7, tool), "");
	assert_null(managed_runtime_key(MANAGED_NONE));
	for (enum managed_runtime i = MANAGED_NONE + 1; i < MANAGED_MAX_; i++) {
		assert_non_null(managed_runtime_name(i));
		assert_non_null(managed_runtime_key(i));
		assert_in_range(strlen(managed_runtime_tool(i, 2147483647, tool)), 20,
				MANAGED_TOOL_SIZE - 2);
		assert_null(strchr(tool, '%'));
	}
	assert_non_null(strstr(managed_runtime_tool(MANAGED_HOTSPOT, 4242, tool),
			       "jcmd 4242 GC.class_histogram"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_heap_of_every_runtime_is_told_from_the_rest),
		cmocka_unit_test(every_runtime_has_a_tool),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
