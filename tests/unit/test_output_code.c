// SPDX-License-Identifier: GPL-2.0-or-later
/* A call stack on one line: the allocating function, and the first line of the program itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "output/text/text.h"

#define DEPTH 16
#define XML "/usr/lib/libxml2.so.2.9.14"
#define ETREE "/usr/lib/python3/dist-packages/lxml/etree.cpython-311-x86_64-linux-gnu.so"
#define VM "/usr/lib/jvm/lib/server/libjvm.so"
#define PYTHON "/usr/bin/python3.11"

struct stack {
	struct frame frames[DEPTH];
	const char *shorter, *longer;
};

static void frames_fill(const struct frame *from, struct frames *frames)
{
	for (size_t i = 0; i < DEPTH && (from[i].function || from[i].module || from[i].why); i++)
		*(struct frame *)vec_push(&frames->list) = from[i];
}

static void expect_lines(const struct stack *stacks, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const char *lines[] = {stacks[i].shorter, stacks[i].longer};
		struct frames frames = {0};

		frames_fill(stacks[i].frames, &frames);
		for (unsigned room = 0; room < LABEL_ROOM_MAX_; room++) {
			_cleanup_free_ char *text = NULL;
			size_t size;
			FILE *out = open_memstream(&text, &size);

			text_code_print(out, &frames, room);
			fclose(out);
			assert_string_equal(text, lines[room]);
		}
		vec_free(&frames.list);
	}
}

static void a_native_program_shows_its_label_and_its_callers(void **state)
{
	static const struct stack stacks[] = {
		{{{.function = "session_new", .module = "/srv/app", .file = "src/s.c", .line = 9},
		  {.function = "accept_one", .module = "/srv/app"},
		  {.function = "loop", .module = "/srv/app"},
		  {.function = "serve", .module = "/srv/app"},
		  {.function = "main", .module = "/srv/app"}},
		 "session_new s.c:9 ← accept_one",
		 "session_new s.c:9 ← accept_one ← loop ← serve"},
		/* A library between, and its caller's line. */
		{{{.function = "g_hash_table_insert", .module = "/lib/libglib-2.0.so.0"},
		  {.function = "keep", .module = "/srv/app", .file = "keep.c", .line = 3},
		  {.function = "g_main_loop_run", .module = "/lib/libglib-2.0.so.0"},
		  {.function = "main", .module = "/srv/app"}},
		 "g_hash_table_insert ← keep keep.c:3 ← … ← main",
		 "g_hash_table_insert ← keep keep.c:3 ← … ← main"},
		/* No symbols in the library: which one it is, and the next name. */
		{{{.module = "/lib/libtalloc.so.2.4.0", .module_offset = 0x5e3e},
		  {.module = "/lib/libtalloc.so.2.4.0", .module_offset = 0x6000},
		  {.function = "reply_build", .module = "/srv/app", .file = "r.c", .line = 12},
		  {.function = "main", .module = "/srv/app"}},
		 "[libtalloc.so.2.4.0+0x5e3e] ← … ← reply_build r.c:12 ← main",
		 "[libtalloc.so.2.4.0+0x5e3e] ← … ← reply_build r.c:12 ← main"},
		/* No symbols in the program: the allocation is still the program's. */
		{{{.function = "g_strsplit", .module = "/lib/libglib-2.0.so.0"},
		  {.module = "/srv/app", .module_offset = 0x12},
		  {.function = "main", .module = "/srv/app"}},
		 "g_strsplit ← [app+0x12] ← main",
		 "g_strsplit ← [app+0x12] ← main"},
		/* No names at all; no program in the readable part of the stack. */
		{{{.module = "/lib/libtalloc.so.2", .module_offset = 0x5e3e},
		  {.why = "callers that were not read"}},
		 "[libtalloc.so.2+0x5e3e]",
		 "[libtalloc.so.2+0x5e3e]"},
		{{{.function = "xmlDictLookup", .module = XML},
		  {.module = XML, .module_offset = 1},
		  {.function = "xmlParseElement", .module = XML},
		  {.function = "xmlParseDocument", .module = XML}},
		 "xmlDictLookup ← … ← xmlParseElement",
		 "xmlDictLookup ← … ← xmlParseElement ← xmlParseDocument"},
		{{{.why = "anonymous code"}}, "?", "?"},
		{{{0}}, "an unknown stack", "an unknown stack"},
	};

	(void)state;
	expect_lines(stacks, ARRAY_SIZE(stacks));
}

static void the_line_of_a_managed_program_appears_behind_its_runtime(void **state)
{
	static const struct stack stacks[] = {
		{{{.module = XML, .module_offset = 0x12f55f},
		  {.function = "xmlDictLookup", .module = XML},
		  {.module = XML, .module_offset = 2},
		  {.function = "xmlParseElement", .module = XML},
		  {.function = "xmlParseDocument", .module = XML},
		  {.function = "xmlParseMore", .module = XML},
		  {.module = ETREE, .module_offset = 3},
		  {.function = "_PyObject_MakeTpCall", .module = PYTHON},
		  {.function = "fromstring",
		   .module = FRAME_PYTHON,
		   .file = "/usr/lib/python3/dist-packages/lxml/html.py",
		   .line = 2},
		  {.function = "parse_message",
		   .module = FRAME_PYTHON,
		   .file = "/srv/load.py",
		   .line = 8},
		  {.function = "<module>",
		   .module = FRAME_PYTHON,
		   .file = "/srv/load.py",
		   .line = 10},
		  {.function = "Py_BytesMain", .module = PYTHON}},
		 "xmlDictLookup ← … ← parse_message load.py:8 ← <module>",
		 "xmlDictLookup ← … ← xmlParseElement ← xmlParseDocument ← … ← parse_message "
		 "load.py:8 ← <module>"},
		{{{.function = "deflateInit2_", .module = "/lib/libz.so.1"},
		  {.function = "Java_java_util_zip_Deflater_init", .module = "/jvm/lib/libzip.so"},
		  {.function = "java.util.zip.Deflater.init",
		   .module = FRAME_JAVA,
		   .file = "Deflater.java"},
		  {.function = "shop.Cart.pack",
		   .module = FRAME_JAVA,
		   .file = "Cart.java",
		   .line = 9},
		  {.function = "shop.Cart.close", .module = FRAME_JAVA, .file = "Cart.java"},
		  {.function = "JavaMain", .module = VM}},
		 "deflateInit2_ ← … ← shop.Cart.pack Cart.java:9 ← shop.Cart.close",
		 "deflateInit2_ ← … ← shop.Cart.pack Cart.java:9 ← shop.Cart.close"},
		/* A jar's classes, until another package calls them. */
		{{{.function = "ZSTD_createDStream", .module = "/tmp/libzstd-jni-1.5.so"},
		  {.function = "com.luben.zstd.Stream.create",
		   .module = FRAME_JAVA,
		   .file = "Stream.java",
		   .line = 70},
		  {.function = "com.luben.zstd.Stream.<init>",
		   .module = FRAME_JAVA,
		   .file = "Stream.java",
		   .line = 60},
		  {.function = "com.luben.zstd.Input.<init>",
		   .module = FRAME_JAVA,
		   .file = "Input.java",
		   .line = 50},
		  {.function = "com.luben.zstd.Input.of",
		   .module = FRAME_JAVA,
		   .file = "Input.java",
		   .line = 40},
		  {.function = "Streams.compress",
		   .module = FRAME_JAVA,
		   .file = "Streams.java",
		   .line = 9}},
		 "ZSTD_createDStream ← com.luben.zstd.Stream.create Stream.java:70 ← … ← "
		 "Streams.compress Streams.java:9",
		 "ZSTD_createDStream ← com.luben.zstd.Stream.create Stream.java:70 ← "
		 "com.luben.zstd.Stream.<init> ← com.luben.zstd.Input.<init> ← … ← "
		 "Streams.compress Streams.java:9"},
		/* Native methods of a library, and of the program. */
		{{{.function = "ZSTD_createCStream", .module = "/lib/libzstd.so.1"},
		  {.function = "com.luben.zstd.Stream.create",
		   .module = FRAME_JAVA,
		   .file = "Stream.java"},
		  {.function = "com.luben.zstd.Stream.<init>",
		   .module = FRAME_JAVA,
		   .file = "Stream.java",
		   .line = 60},
		  {.function = "java.io.FilterOutputStream.write",
		   .module = FRAME_JAVA,
		   .file = "FilterOutputStream.java",
		   .line = 108},
		  {.function = "Streams.compress",
		   .module = FRAME_JAVA,
		   .file = "Streams.java",
		   .line = 9},
		  {.function = "Streams.main",
		   .module = FRAME_JAVA,
		   .file = "Streams.java",
		   .line = 14},
		  {.function = "main", .module = "/usr/lib/jvm/bin/java"}},
		 "ZSTD_createCStream ← … ← Streams.compress Streams.java:9 ← Streams.main",
		 "ZSTD_createCStream ← com.luben.zstd.Stream.create ← "
		 "com.luben.zstd.Stream.<init> ← … ← Streams.compress Streams.java:9 ← "
		 "Streams.main"},
		{{{.function = "pack", .module = "/srv/libshop.so"},
		  {.function = "shop.Cart.pack0", .module = FRAME_JAVA, .file = "Cart.java"},
		  {.function = "shop.Cart.pack",
		   .module = FRAME_JAVA,
		   .file = "Cart.java",
		   .line = 9}},
		 "pack ← … ← shop.Cart.pack Cart.java:9",
		 "pack ← shop.Cart.pack0 ← shop.Cart.pack Cart.java:9"},
		{{{.function = "pack", .module = "/srv/libshop.so"},
		  {.function = "shop.Cart.pack0", .module = FRAME_JAVA, .file = "Cart.java"}},
		 "pack ← shop.Cart.pack0 Cart.java",
		 "pack ← shop.Cart.pack0 Cart.java"},
		/* The add-on has no symbols; a package, and Node's own scripts. */
		{{{.module = "/srv/node_modules/canvas/canvas.linux-x64-gnu.node",
		   .module_offset = 0x1a2b},
		  {.function = "napi_call_function", .module = "/usr/bin/node"},
		  {.function = "encode",
		   .module = FRAME_JAVASCRIPT,
		   .file = "/srv/node_modules/canvas/index.js",
		   .line = 7},
		  {.function = "draw",
		   .module = FRAME_JAVASCRIPT,
		   .file = "/srv/app.js",
		   .line = 5},
		  {.function = "emit",
		   .module = FRAME_JAVASCRIPT,
		   .file = "node:events",
		   .line = 0}},
		 "[canvas.linux-x64-gnu.node+0x1a2b] ← … ← encode canvas/index.js:7 ← draw "
		 "app.js:5",
		 "[canvas.linux-x64-gnu.node+0x1a2b] ← … ← encode canvas/index.js:7 ← draw "
		 "app.js:5"},
		{{{.function = "connect", .module = FRAME_JAVASCRIPT, .file = "node:net"},
		  {.function = "processTicks",
		   .module = FRAME_JAVASCRIPT,
		   .file = "node:internal/x"}},
		 "connect node:net ← processTicks",
		 "connect node:net ← processTicks"},
		/* Runtimes that are in the program's own file. */
		{{{.function = "caml_stat_alloc", .module = "/srv/o"},
		  {.function = "caml_ml_open_descriptor_out", .module = "/srv/o"},
		  {.function = "camlStdlib__open_270", .module = "/srv/o", .file = "stdlib.ml"},
		  {.function = "camlServer__send_219",
		   .module = "/srv/o",
		   .file = "/srv/server.ml",
		   .line = 5},
		  {.function = "camlServer__entry", .module = "/srv/o"},
		  {.function = "caml_main", .module = "/srv/o"},
		  {.function = "main", .module = "/srv/o"}},
		 "camlServer__send_219 server.ml:5 ← camlServer__entry",
		 "camlServer__send_219 server.ml:5 ← camlServer__entry"},
		{{{.function = "_cgo_20e98325c253_Cfunc__Cmalloc", .module = "/srv/g"},
		  {.function = "runtime.asmcgocall.abi0", .module = "/srv/g"},
		  {.function = "runtime.cgocall", .module = "/srv/g"},
		  {.function = "main._Cfunc_CString", .module = "/srv/g"},
		  {.function = "main.bind", .module = "/srv/g", .file = "/srv/g.go", .line = 15},
		  {.function = "net/http.serve",
		   .module = "/srv/g",
		   .file = "/usr/lib/go-1.19/src/net/http/server.go"},
		  {.function = "main.main", .module = "/srv/g", .file = "/srv/g.go", .line = 25}},
		 "main.bind g.go:15 ← … ← main.main",
		 "main.bind g.go:15 ← … ← main.main"},
		{{{.function = "operator new", .module = "/usr/lib/libcoreclr.so"},
		  {.function = "void [System.Private.CoreLib] System.Buffer::Alloc()",
		   .module = FRAME_JIT},
		  {.function = "void [app] Shop.Cart::Pack()", .module = FRAME_JIT},
		  {.function = "coreclr_execute_assembly", .module = "/usr/lib/libcoreclr.so"},
		  {.function = "main", .module = "/srv/app"}},
		 "void [app] Shop.Cart::Pack()",
		 "void [app] Shop.Cart::Pack()"},
	};

	(void)state;
	expect_lines(stacks, ARRAY_SIZE(stacks));
}

static void verbose_leaves_nothing_out_and_nothing_raw(void **state)
{
	static const struct frame from[DEPTH] = {
		{.function = "malloc_wrapper_malloc", .module = "/srv/app"},
		{.function = "keep\033[2J", .module = "/srv/app", .file = "keep\n.c", .line = 3},
		{.module = "/lib/libx.so.1", .module_offset = 0x10},
		{.function = "main", .module = "/srv/app", .file = "main.c", .line = 4},
		{.function = "__libc_start_main", .module = "/lib/libc.so.6", .file = "start.c"},
	};
	static const struct {
		struct text_form form;
		const char *line;
	} cases[] = {
		{{.verbose = true},
		 "keep\\x1b[2J keep\\x0a.c:3 ← [libx.so.1+0x10] ← main main.c:4 ← "
		 "__libc_start_main"},
		{{0}, "keep\\x1b[2J keep\\x0a.c:3 ← … ← main"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_free_ char *text = NULL;
		struct frames frames = {0};
		size_t size;
		FILE *out = open_memstream(&text, &size);

		frames_fill(from, &frames);
		text_code_write(out, &cases[i].form, &frames);
		fclose(out);
		vec_free(&frames.list);
		assert_string_equal(text, cases[i].line);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_native_program_shows_its_label_and_its_callers),
		cmocka_unit_test(the_line_of_a_managed_program_appears_behind_its_runtime),
		cmocka_unit_test(verbose_leaves_nothing_out_and_nothing_raw),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
