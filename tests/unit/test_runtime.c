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
#include "heap/runtime/go/reader.h"
#include "heap/runtime/hotspot/reader.h"
#include "heap/runtime/runtime.h"
#include "output/json/json.h"
#include "output/text/text.h"
#include "report/figures.h"
#include "report/runtime_figures.h"

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

/* Every name in braces is a figure, or a list of them. */
static void assert_figures(const struct figures *figures, const struct figure_words *words,
			   size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const char *at = words[i].text ? strchr(words[i].text, '{') : NULL;

		for (; at; at = strchr(at + 1, '{')) {
			if (!figures_find(figures, at + 1, strcspn(at + 1, ":}")))
				fail_msg("no figure is called as in: %s", at);
			assert_non_null(strchr(at, '}'));
		}
		if (words[i].known &&
		    !figures_find(figures, words[i].known, strlen(words[i].known)))
			fail_msg("no figure is called %s", words[i].known);
		if (words[i].list) {
			const struct list_words *list = words[i].list;
			const struct figure *figure =
				figures_find(figures, list->name, strlen(list->name));

			assert_non_null(figure);
			assert_int_equal(figure->type, FIGURE_LIST);
			assert_figures(figure->items, list->words, list->count);
		}
	}
}

static void assert_view(const struct runtime_view *view)
{
	assert_true(view->count && view->key && !view->name == !view->unknown);
	assert_non_null(figures_find(view->figures, "version", 7));
	assert_non_null(figures_find(view->figures, "cannot_tell", 11));
	assert_figures(view->figures, view->words, view->count);
	assert_figures(view->figures, &view->head, 1);
}

static void words_of_a_runtime_name_its_figures(void **state)
{
	const struct runtime *runtime;
	size_t views = 0;

	(void)state;
	for (size_t i = 0; (runtime = runtime_at(i)); i++) {
		if (runtime->memory)
			assert_view(runtime->memory->view), views++;
		if (runtime->threads)
			assert_view(runtime->threads->view), views++;
	}
	assert_true(views >= 7);
}

/* Memory figures of a runtime as text and as JSON. */
static void expect_written(const char *runtime, void *figures, const char *text, const char *json)
{
	const struct text_form form = {0};
	const struct runtime_figures all = {runtime_find(runtime)->memory->view, figures};
	_cleanup_free_ char *written = NULL;
	size_t size;
	FILE *out = open_memstream(&written, &size);
	struct json_writer writer = {.out = out};

	assert_non_null(out);
	text_runtime_write(out, &form, &all);
	json_open(&writer, NULL, '{');
	json_runtime_write(&writer, &all);
	json_close(&writer, '}');
	assert_int_equal(fclose(out), 0);
	if (strncmp(written, text, strlen(text)) != 0 || strcmp(written + strlen(text), json) != 0)
		fail_msg("%s", written);
}

static void figures_of_runtimes_are_written_to_the_byte(void **state)
{
	struct go_memory go = {.version = "1.22.1",
			       .live = 10 << 20,
			       .goal = 20 << 20,
			       .percent = -1,
			       .limit = 64 << 20,
			       .collections = 3,
			       .collected_ns = 5000000000};
	struct go_memory unknown = {.version = "1.2", .why = "its version is not known"};
	struct java_loaders loaders[] = {{"shop.Loader", 2, 30, true, 2 << 20, 1 << 20},
					 {"empty.Loader", 1, 1, true, 0, 0}};
	struct java_memory java = {.version = "17",
				   .collector = "G1",
				   .maximum = 1 << 30,
				   .has_metaspace = true,
				   .direct = {true, 3, 4096}};

	(void)state;
	java.loaders.items = loaders;
	java.loaders.count = ARRAY_SIZE(loaders);
	expect_written(
		"go", &go,
		"\tGo 1.22.1: 10.0 MiB live after the last collection (5 s ago), 0 B "
		"allocated since; 0 B in spans, 0 B in free ones, 0 B given back\n"
		"\tit may reach 20.0 MiB before the next collection ends (GOGC=off, "
		"GOMEMLIMIT=64.0 MiB)\n",
		"{\"go\":{\"version\":\"1.22.1\",\"cannot_tell\":null,\"live_bytes\":10485760,"
		"\"allocated_since_bytes\":0,\"in_use_bytes\":0,\"free_bytes\":0,"
		"\"released_bytes\":0,\"stack_bytes\":null,\"own_bytes\":null,"
		"\"goal_bytes\":20971520,\"gogc\":-1,\"gomemlimit_bytes\":67108864,"
		"\"collections\":3,\"collected_ms\":5000,\"within_goal\":false}}");
	expect_written("go", &unknown,
		       "\tGo 1.2: its heap's figures are not known: its version is not known\n",
		       "{\"go\":{\"version\":\"1.2\",\"cannot_tell\":\"its version is not known\","
		       "\"live_bytes\":null,\"allocated_since_bytes\":null,\"in_use_bytes\":null,"
		       "\"free_bytes\":null,\"released_bytes\":null,\"stack_bytes\":null,"
		       "\"own_bytes\":null,\"goal_bytes\":null,\"gogc\":null,"
		       "\"gomemlimit_bytes\":null,\"collections\":null,\"collected_ms\":null,"
		       "\"within_goal\":false}}");
	expect_written(
		"hotspot", &java,
		"\tJVM 17, G1: 0 B used, 0 B committed (limit 1.00 GiB)\n"
		"\toff its heap: code cache: 0 B (limit 0 B), 0 threads with 0 B for stacks, "
		"direct buffers: 4.00 KiB in 3\n"
		"\tmetaspace: 0 B, 0 B of it used, for 0 classes\n"
		"\t      2.00 MiB in 30 classes: shop.Loader × 2\n",
		"{\"java\":{\"version\":\"17\",\"cannot_tell\":null,\"collector\":\"G1\","
		"\"used_bytes\":0,\"committed_bytes\":0,\"limit_bytes\":1073741824,"
		"\"kept_bytes\":0,\"collections\":null,\"full_collections\":null,"
		"\"metaspace_bytes\":0,\"metaspace_used_bytes\":0,\"class_space_bytes\":0,"
		"\"classes\":0,\"loaders\":[{\"name\":\"shop.Loader\",\"loaders\":2,"
		"\"classes\":30,\"metaspace_bytes\":2097152,\"metaspace_used_bytes\":1048576},"
		"{\"name\":\"empty.Loader\",\"loaders\":1,\"classes\":1,"
		"\"metaspace_bytes\":0,\"metaspace_used_bytes\":0}],"
		"\"code_cache_bytes\":null,\"code_cache_limit_bytes\":null,\"threads\":0,"
		"\"thread_stack_bytes\":0,\"direct_buffers\":{\"count\":3,\"bytes\":4096},"
		"\"direct_buffers_limit_bytes\":null,\"mapped_buffers\":null}}");
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
		cmocka_unit_test(words_of_a_runtime_name_its_figures),
		cmocka_unit_test(figures_of_runtimes_are_written_to_the_byte),
		cmocka_unit_test(a_key_that_is_not_known_is_a_runtime_all_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
