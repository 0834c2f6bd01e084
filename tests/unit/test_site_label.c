// SPDX-License-Identifier: GPL-2.0-or-later
/* One rule for the name of a site: the program's own first function. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "process/symbol/site_label.h"

#define DEPTH 4

static void the_first_function_of_the_user_is_the_label(void **state)
{
	static const struct {
		struct frame frames[DEPTH];
		const char *label;
	} cases[] = {
		{{{.function = "leak", .module = "/app"}, {.function = "main"}}, "leak"},
		{{{.function = "xmalloc"}, {.function = "load"}}, "load"},
		{{{.function = "xmalloc.constprop.0.isra.0"}, {.function = "load"}}, "load"},
		{{{.function = "ztrymalloc_usable_internal"},
		  {.function = "zmalloc_usable"},
		  {.function = "createStringObject"}},
		 "createStringObject"},
		{{{.function = "g_malloc0_n"}, {.function = "g_strdup"}, {.function = "load"}},
		 "load"},
		{{{.function = "PyMem_Malloc"}, {.function = "list_resize"}}, "list_resize"},
		{{{.function = "app::my_calloc(unsigned long)"}, {.function = "load"}}, "load"},
		{{{.function = "operator new(unsigned long)"},
		  {.function = "std::vector<int, std::allocator<int>>::push_back(int&&)"},
		  {.function = "Cache::add(int)"}},
		 "Cache::add(int)"},
		{{{.function = "alloc::raw_vec::RawVec<T,A>::grow_one"},
		  {.function = "<alloc::vec::Vec<T> as core::clone::Clone>::clone"},
		  {.function = "app::load"}},
		 "app::load"},
		{{{.function = "getdelim", .module = "/lib/libc.so.6"}, {.function = "read_lines"}},
		 "read_lines"},
		/* Its own allocator was written by the user. */
		{{{.function = "allocate_session"}, {.function = "serve"}}, "allocate_session"},
		{{{.function = "malloc_stats_of_app"}, {.function = "serve"}},
		 "malloc_stats_of_app"},
		/* Python's own code, where it is known. */
		{{{.function = "PyList_Append", .module = "/usr/bin/python3.11"},
		  {.function = "dumps",
		   .module = FRAME_PYTHON,
		   .file = "/usr/lib/python3.11/json/__init__.py"},
		  {.function = "get", .module = FRAME_PYTHON, .file = "/srv/app.py"}},
		 "get"},
		{{{.function = "PyList_Append", .module = "/usr/bin/python3.11"},
		  {.function = "get",
		   .module = FRAME_PYTHON,
		   .file = "/srv/lib/python3.11/site-packages/app.py"}},
		 "get"},
		{{{.function = "PyList_Append", .module = "/usr/bin/python3.11"},
		  {.function = "_load",
		   .module = FRAME_PYTHON,
		   .file = "<frozen importlib._bootstrap>"}},
		 "_load"},
		{{{.function = "PyList_Append", .module = "/usr/bin/python3.11"}}, "PyList_Append"},
		/* The same for Java, with the VM's own libraries. */
		{{{.function = "os::malloc", .module = "/usr/lib/jvm/lib/server/libjvm.so"},
		  {.function = "java.util.zip.Deflater.init",
		   .module = FRAME_JAVA,
		   .file = "Deflater.java"},
		  {.function = "shop.Cart.pack", .module = FRAME_JAVA, .file = "Cart.java"}},
		 "shop.Cart.pack"},
		{{{.function = "os::malloc", .module = "/usr/lib/jvm/lib/server/libjvm.so"},
		  {.function = "java.lang.Thread.run", .module = FRAME_JAVA, .file = "Thread.java"},
		  {.function = "call_stub", .module = FRAME_JAVA}},
		 "java.lang.Thread.run"},
		{{{.function = "VMThread::run", .module = "/usr/lib/jvm/lib/server/libjvm.so"}},
		 "VMThread::run"},
		/* The same for JavaScript, with Node's own code and scripts; not add-ons. */
		{{{.function = "node::Start", .module = "/usr/bin/node"},
		  {.function = "emit", .module = FRAME_JAVASCRIPT, .file = "node:events"},
		  {.function = "serve", .module = FRAME_JAVASCRIPT, .file = "/srv/app.js"}},
		 "serve"},
		{{{.function = "uv_run", .module = "/usr/lib/x86_64-linux-gnu/libnode.so.108"},
		  {.function = "emit", .module = FRAME_JAVASCRIPT, .file = "node:events"},
		  {.function = "forEach", .module = FRAME_JAVASCRIPT}},
		 "emit"},
		{{{.function = "resize", .module = "/srv/sharp.node"},
		  {.function = "serve", .module = FRAME_JAVASCRIPT, .file = "/srv/app.js"}},
		 "resize"},
		{{{.function = "uv_run", .module = "/usr/bin/node"}}, "uv_run"},
		/* The same for .NET, whose libraries may have no names. */
		{{{.function = "SystemNative_Malloc", .module = "/app/libSystem.Native.so"},
		  {.function = "IL_STUB_PInvoke", .module = FRAME_DOTNET},
		  {.function = "System.Runtime.InteropServices.Marshal.AllocHGlobal",
		   .module = FRAME_DOTNET},
		  {.function = "Program.Leak", .module = FRAME_DOTNET}},
		 "Program.Leak"},
		{{{.function = "Interop.Sys.Malloc", .module = FRAME_DOTNET},
		  {.function = "Program.Leak", .module = FRAME_DOTNET},
		  {.function = "Program.Main", .module = FRAME_DOTNET}},
		 "Program.Leak"},
		{{{.module = "/app/System.Private.CoreLib.dll", .module_offset = 7},
		  {.function = "Shop.Cart.Pack", .module = FRAME_DOTNET}},
		 "Shop.Cart.Pack"},
		{{{.function = "System.IO.File.Open", .module = FRAME_DOTNET},
		  {.function = "coreclr_execute_assembly", .module = "/app/libcoreclr.so"}},
		 "System.IO.File.Open"},
		/* Nothing else is there. */
		{{{.function = "xmalloc"}, {.function = "std::__1::f"}}, "xmalloc"},
		/* No symbols in a library: the next name, also of the program. */
		{{{.module = "/lib/libcrypto.so.1.1", .module_offset = 7},
		  {.module = "/lib/libssl.so.1.1", .module_offset = 7},
		  {.function = "handshake", .module = "/app"}},
		 "handshake"},
		{{{.module = "/srv/canvas.node", .module_offset = 7},
		  {.function = "SSL_new", .module = "/lib/libssl.so.1.1"},
		  {.function = "handshake", .module = "/app"}},
		 "SSL_new"},
		{{{.module = "/lib/libcrypto.so.1.1", .module_offset = 7},
		  {.module = "/app", .module_offset = 7},
		  {.function = "main", .module = "/app"}},
		 NULL},
		/* A runtime in the program's own file. */
		{{{.function = "caml_stat_alloc", .module = "/app"},
		  {.function = "camlServer__send_219", .module = "/app"}},
		 "camlServer__send_219"},
		{{{.function = "caml_stat_alloc", .module = "/app"},
		  {.function = "main", .module = "/app"}},
		 "caml_stat_alloc"},
		/* No name, but the user's module. */
		{{{.function = "xmalloc"}, {.module = "/app", .module_offset = 7}}, NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct frames frames = {0};

		for (size_t j = 0; j < DEPTH; j++) {
			const struct frame *frame = &cases[i].frames[j];

			if (frame->function || frame->module)
				*(struct frame *)vec_push(&frames.list) = *frame;
		}
		if (cases[i].label)
			assert_string_equal(site_label_function(&frames), cases[i].label);
		else
			assert_null(site_label_function(&frames));
		vec_free(&frames.list);
	}
}

/* -1: none. */
static void the_program_is_told_from_its_libraries(void **state)
{
	static const struct {
		struct frame frames[DEPTH];
		int program;
	} cases[] = {
		{{{.function = "leak", .module = "/app"}, {.function = "main", .module = "/app"}},
		 0},
		{{{.function = "xmalloc", .module = "/app"},
		  {.function = "main", .module = "/app"}},
		 1},
		{{{.function = "f", .module = "/lib/libx.so"},
		  {.function = "f", .module = "/lib/libx.so.1.2"},
		  {.function = "f", .module = "/lib/libx.so (deleted)"},
		  {.function = "main", .module = "/srv/app.something"}},
		 3},
		{{{.function = "f", .module = "/lib/plugin.node"},
		  {.function = "f", .module = "/lib/plugin.cmxs"},
		  {.function = "f", .module = "/memfd:app"},
		  {.function = "f", .module = "[vdso]"}},
		 -1},
		/* A program that is named like half a library. */
		{{{.function = "f", .module = "/bin/run.sonar"}}, 0},
		/* Names that its own code has not got. */
		{{{.module = "/lib/libx.so"}, {.module = "/app"}}, 1},
		{{{.module = FRAME_PYTHON},
		  {.function = "f", .module = FRAME_PYTHON, .file = "a.py"}},
		 1},
		/* Packages count where nothing else does. */
		{{{.function = "f", .module = FRAME_JAVASCRIPT, .file = "/node_modules/mem/i.js"},
		  {.function = "g", .module = FRAME_JAVASCRIPT, .file = "/srv/a.js"}},
		 1},
		{{{.function = "f", .module = FRAME_JAVASCRIPT, .file = "node:net"},
		  {.function = "g", .module = FRAME_JAVASCRIPT, .file = "/node_modules/mem/i.js"}},
		 1},
		{{{.function = "github.com/x/y.F",
		   .module = "/app",
		   .file = "/root/go/pkg/mod/github.com/x/y@v1.0.0/f.go"},
		  {.function = "main.main", .module = "/app", .file = "/srv/main.go"}},
		 1},
		{{{.function = "net/http.(*conn).serve",
		   .module = "/app",
		   .file = "/usr/lib/go-1.19/src/net/http/server.go"},
		  {.function = "github.com/x/y.F",
		   .module = "/app",
		   .file = "/go/src/github.com/f.go"},
		  {.function = "main.main", .module = "/app", .file = "/srv/main.go"}},
		 1},
		{{{.function = "kmalloc", .module = "vmlinux"}}, -1},
		{{{.function = "f"}}, -1},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct frames frames = {0};
		const struct frame *program;

		for (size_t j = 0; j < DEPTH; j++) {
			const struct frame *frame = &cases[i].frames[j];

			if (frame->function || frame->module)
				*(struct frame *)vec_push(&frames.list) = *frame;
		}
		program = site_label_program(&frames);
		if ((program ? program - frames.list.items : -1) != cases[i].program)
			fail_msg("case %zu", i);
		vec_free(&frames.list);
	}
}

#define GOROOT "/usr/lib/go-1.19/src/"

/* A goroutine of net/http runs library code alone: its label is the function that it was started
 * with. */
static void a_goroutine_without_code_of_the_program_is_named_by_what_it_runs(void **state)
{
	static const struct {
		struct frame frames[DEPTH];
		size_t label;
	} cases[] = {
		{{{.function = "syscall.Socket", .file = GOROOT "syscall/syscall_unix.go"},
		  {.function = "net.socket", .file = GOROOT "net/sock_posix.go"},
		  {.function = "net/http.(*Transport).dialConnFor",
		   .file = GOROOT "net/http/transport.go"},
		  {.function = "runtime.goexit.abi0", .file = GOROOT "runtime/asm_amd64.s"}},
		 2},
		{{{.function = "net.socket", .file = GOROOT "net/sock_posix.go"},
		  {.function = "main.dial", .file = "/srv/main.go"},
		  {.function = "runtime.goexit", .file = GOROOT "runtime/asm_amd64.s"}},
		 1},
		{{{.function = "runtime.sysMap", .file = GOROOT "runtime/mem.go"},
		  {.function = "runtime.bgsweep", .file = GOROOT "runtime/mgcsweep.go"},
		  {.function = "runtime.goexit", .file = GOROOT "runtime/asm_amd64.s"}},
		 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct frames frames = {0};

		for (size_t j = 0; j < DEPTH && cases[i].frames[j].function; j++) {
			struct frame *frame = vec_push(&frames.list);

			*frame = cases[i].frames[j];
			frame->module = "/app";
		}
		assert_ptr_equal(site_label_frame(&frames), &frames.list.items[cases[i].label]);
		vec_free(&frames.list);
	}
}

static void no_frame_has_no_label(void **state)
{
	const struct frames none = {0};

	(void)state;
	assert_null(site_label_frame(&none));
	assert_null(site_label_function(&none));
}

static void template_arguments_collapse(void **state)
{
	static const struct {
		const char *name, *collapsed;
	} cases[] = {
		{"leak", "leak"},
		{"Cache<std::map<int, std::string>>::add(int)", "Cache<>::add(int)"},
		{"f<int>(std::vector<int, std::allocator<int>>&)", "f<>(std::vector<>&)"},
		{"operator<(A<int> const&, int)", "operator<(A<> const&, int)"},
		{"A<B>::operator<<(int)", "A<>::operator<<(int)"},
		{"A<B>::operator->() const", "A<>::operator->() const"},
		{"A::operator()<int>(int)", "A::operator()<>(int)"},
		{"f<&(A::operator->)>(int)", "f<>(int)"},
		{"<alloc::vec::Vec<T> as Drop>::drop", "<alloc::vec::Vec<> as Drop>::drop"},
		{"a<", "a<"},
		{"a<b", "a<b"},
		{"a<>", "a<>"},
		{"", ""},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char *collapsed = site_label_collapse(cases[i].name);

		assert_string_equal(collapsed, cases[i].collapsed);
		free(collapsed);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_function_of_the_user_is_the_label),
		cmocka_unit_test(the_program_is_told_from_its_libraries),
		cmocka_unit_test(a_goroutine_without_code_of_the_program_is_named_by_what_it_runs),
		cmocka_unit_test(no_frame_has_no_label),
		cmocka_unit_test(template_arguments_collapse),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
