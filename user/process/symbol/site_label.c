// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/symbol/site_label.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "process/symbol/demangle.h"

static bool is_of_runtime_library(const char *module)
{
	static const char *const names[] = {"libc.so.",	 "libc-2.",   "ld-linux",     "ld-musl",
					    "ld-2.",	 "libgcc_s.", "libstdc++.so", "libc++.so",
					    "libc++abi", "libm.so.",  "libpthread"};
	const char *base = module ? text_path_base(module) : "";

	return text_begins_with_any(base, names, ARRAY_SIZE(names));
}

static bool is_of_rust_library(const char *function)
{
	static const char *const beginnings[] = {"alloc::",  "core::",	"__rust_", "__rdl_",
						 "<alloc::", "<core::", "<std::",  "hashbrown::"};

	return text_begins_with_any(function, beginnings, ARRAY_SIZE(beginnings));
}

/* Between PyObject_Malloc and the code that creates an object (CPython, Objects/obmalloc.c). */
static bool is_of_python_allocator(const char *function)
{
	static const char *const beginnings[] = {"pymalloc_",
						 "_PyMem_",
						 "PyMem_",
						 "_PyObject_GC_",
						 "PyObject_GC_",
						 "_PyObject_Arena",
						 "allocate_from_new_pool"};

	return text_begins_with_any(function, beginnings, ARRAY_SIZE(beginnings)) ||
	       !strcmp(function, "new_arena") || !strcmp(function, "gc_alloc");
}

/* In a static program these are the program's own. */
static bool is_starter(const char *function)
{
	static const char *const names[] = {"runtime.goexit", "runtime.goexit.abi0",
					    "_start",	      "__libc_start_main",
					    "start_thread",   "__libc_start_call_main",
					    "clone",	      "__libc_start_main_impl",
					    "clone3",	      "__clone3"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (!strcmp(names[i], function))
			return true;
	}
	return false;
}

/* Finds the last part of a readable name's path, without parameters. Returns its length. */
static size_t last_part(const char *function, const char **begin)
{
	size_t length = strcspn(function, "(<");
	size_t start = length;

	while (start && function[start - 1] != ':')
		start--;
	*begin = function + start;
	return length - start;
}

static bool ends_in(const char *text, size_t length, const char *word)
{
	size_t size = strlen(word);

	return length >= size && !strncasecmp(text + length - size, word, size);
}

/*
 * Strips variants of a name: "g_malloc0_n", redis's "ztrymalloc_usable_internal", and GCC's
 * "xmalloc.constprop.0".
 */
static size_t base_length(const char *part, size_t length)
{
	static const char *const endings[] = {"_internal", "_usable", "_no_tcache", "_n"};
	static const char *const clones[] = {".constprop.", ".isra.", ".part.", ".lto_priv."};

	for (size_t i = 0; i < ARRAY_SIZE(clones); i++) {
		const char *clone = memmem(part, length, clones[i], strlen(clones[i]));

		length = clone ? (size_t)(clone - part) : length;
	}
	for (size_t i = 0; i < ARRAY_SIZE(endings); i++) {
		if (ends_in(part, length, endings[i]))
			length -= strlen(endings[i]);
	}
	while (length && (isdigit((unsigned char)part[length - 1]) || part[length - 1] == '_'))
		length--;
	return length;
}

static bool is_wrapper(const char *function)
{
	static const char *const words[] = {"malloc", "calloc", "realloc", "zalloc",  "strdup",
					    "palloc", "memdup", "strndup", "memalign"};
	static const char *const others[] = {"g_slice_alloc", "ngx_alloc", "AllocSetAlloc",
					     "MemoryContextAlloc", "xalloc"};
	const char *part;
	size_t length = last_part(function, &part);

	length = base_length(part, length);
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (ends_in(part, length, words[i]))
			return true;
	}
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		if (strlen(others[i]) == length && !strncmp(part, others[i], length))
			return true;
	}
	return false;
}

/*
 * Languages whose frames are known beside the native ones of their runtime: frames of the runtime
 * or the library are not the user's.
 */

static bool is_of_module(const struct frame *frame, const char *module)
{
	return frame->module && !strcmp(frame->module, module);
}

static bool is_python(const struct frame *frame)
{
	return is_of_module(frame, FRAME_PYTHON);
}

/* Files of Python itself: "<frozen importlib._bootstrap>", "/usr/lib/python3.11/json/…". */
static bool is_of_python_library(const struct frame *frame)
{
	const char *file = frame->file ? frame->file : "";

	return text_begins(file, "<frozen ") ||
	       (strstr(file, "/lib/python3") && !strstr(file, "-packages/"));
}

static bool is_of_interpreter(const struct frame *frame)
{
	static const char *const names[] = {"python3", "libpython3"};

	const char *base = frame->module ? text_path_base(frame->module) : "";

	return text_begins_with_any(base, names, ARRAY_SIZE(names)) || !strcmp(base, "java");
}

static bool is_java(const struct frame *frame)
{
	return is_of_module(frame, FRAME_JAVA);
}

/* Stubs of the VM have no file. */
static bool is_of_java_library(const struct frame *frame)
{
	static const char *const packages[] = {"java.", "javax.", "jdk.", "sun.", "com.sun."};

	return !frame->file || !frame->function ||
	       text_begins_with_any(frame->function, packages, ARRAY_SIZE(packages));
}

static bool is_of_vm(const struct frame *frame)
{
	static const char *const names[] = {"libjvm.so",    "libjava.so",  "libjli.so",
					    "libzip.so",    "libnio.so",   "libnet.so",
					    "libjimage.so", "libverify.so"};

	return frame->module &&
	       text_begins_with_any(text_path_base(frame->module), names, ARRAY_SIZE(names));
}

static bool is_javascript(const struct frame *frame)
{
	return is_of_module(frame, FRAME_JAVASCRIPT);
}

/* Node's own scripts, and V8's builtins, which have no file. */
static bool is_of_node_library(const struct frame *frame)
{
	return !frame->file || text_begins(frame->file, "node:");
}

static bool is_of_node(const struct frame *frame)
{
	const char *base = frame->module ? text_path_base(frame->module) : "";

	return text_begins(base, "libnode.so") || !strcmp(base, "node") || !strcmp(base, "nodejs");
}

static bool is_compiled(const struct frame *frame)
{
	return (is_of_module(frame, FRAME_JIT) || is_of_module(frame, FRAME_DOTNET)) &&
	       frame->function;
}

/* In a perf map .NET code has its assembly, "[System.Private.CoreLib] …". */
static bool is_of_dotnet_library(const struct frame *frame)
{
	static const char *const libraries[] = {"System.", "Microsoft.", "Internal.", "Interop.",
						"IL_STUB_"};

	if (is_of_module(frame, FRAME_DOTNET))
		return text_begins_with_any(frame->function, libraries, ARRAY_SIZE(libraries));
	return strstr(frame->function, "[System.") || strstr(frame->function, "[Microsoft.");
}

static bool is_of_dotnet(const struct frame *frame)
{
	static const char *const names[] = {"libcoreclr.so", "libclrjit.so", "libhostpolicy.so",
					    "libhostfxr.so", "libSystem.",   "System."};

	return frame->module &&
	       text_begins_with_any(text_path_base(frame->module), names, ARRAY_SIZE(names));
}

/* "camlServer__handle_270": the compiler's name for Server.handle (asmcomp/compilenv.ml). */
static bool is_ocaml(const struct frame *frame)
{
	return frame->function && text_begins(frame->function, "caml") &&
	       isupper((unsigned char)frame->function[4]);
}

static bool is_of_ocaml_library(const struct frame *frame)
{
	static const char *const modules[] = {"camlStdlib", "camlCamlinternal", "camlUnix",
					      "camlThread", "camlStd_exit"};

	return text_begins_with_any(frame->function, modules, ARRAY_SIZE(modules));
}

/* Its runtime and the stubs of its libraries are in the program itself. */
static bool is_of_ocaml(const struct frame *frame)
{
	static const char *const names[] = {"caml_", "unix_"};

	return frame->function && text_begins_with_any(frame->function, names, ARRAY_SIZE(names));
}

/* "main.serve": in C, a dot comes only before a compiler's suffix ("serve.part.0"). */
static bool is_go(const struct frame *frame)
{
	return frame->function &&
	       (text_begins(frame->function, "main.") || text_begins(frame->function, "runtime."));
}

/* "/usr/lib/go-1.19/src/net/http/server.go": packages from elsewhere have a host name there. */
static bool is_in_goroot(const char *file)
{
	const char *source = strstr(file, "/src/");
	const char *root = source;
	size_t package;

	while (root && root > file && root[-1] != '/')
		root--;
	if (!source || (!text_begins(root, "go/") && !text_begins(root, "go-")))
		return false;
	source += strlen("/src/");
	package = strcspn(source, "/");
	return source[package] && !memchr(source, '.', package);
}

static bool is_of_go_library(const struct frame *frame)
{
	static const char *const packages[] = {"runtime.", "runtime/", "syscall.", "internal/"};

	return text_begins_with_any(frame->function, packages, ARRAY_SIZE(packages)) ||
	       strstr(frame->function, "._Cfunc_") || strstr(frame->function, "._cgo_");
}

/* Code between C and Go (runtime/cgo), and packages that come with the compiler. */
static bool is_of_go(const struct frame *frame)
{
	static const char *const names[] = {"_cgo_",	"x_cgo_",    "crosscall",
					    "runtime/", "internal/", "syscall."};

	return frame->function &&
	       (text_begins_with_any(frame->function, names, ARRAY_SIZE(names)) ||
		(frame->file && is_in_goroot(frame->file)));
}

static const struct language {
	/* the frame is written in the language */
	bool (*has)(const struct frame *frame);
	/* such a frame comes with the language */
	bool (*is_library)(const struct frame *frame);
	/* a runtime's frame, in a stack with such frames */
	bool (*is_runtime)(const struct frame *frame);
} languages[] = {
	{is_python, is_of_python_library, is_of_interpreter},
	{is_java, is_of_java_library, is_of_vm},
	{is_javascript, is_of_node_library, is_of_node},
	{is_compiled, is_of_dotnet_library, is_of_dotnet},
	{is_ocaml, is_of_ocaml_library, is_of_ocaml},
	{is_go, is_of_go_library, is_of_go},
};

/* Returns NULL if it is in none of those. */
static const struct language *language_of(const struct frame *frame)
{
	for (size_t i = 0; i < ARRAY_SIZE(languages); i++) {
		if (languages[i].has(frame))
			return &languages[i];
	}
	return NULL;
}

/* The runtime's own code, if its callers are known. */
static bool is_of_runtime(const struct frames *frames, const struct frame *frame)
{
	for (size_t i = 0; i < ARRAY_SIZE(languages); i++) {
		if (!languages[i].is_runtime(frame))
			continue;
		for (size_t j = 0; j < frames->list.count; j++) {
			if (languages[i].has(&frames->list.items[j]))
				return true;
		}
	}
	return false;
}

bool site_label_is_users(const struct frames *frames, const struct frame *frame)
{
	const struct language *language = language_of(frame);

	if (language)
		return !language->is_library(frame);
	if (is_of_runtime_library(frame->module) || is_of_runtime(frames, frame))
		return false;
	return !frame->function ||
	       (!demangle_is_library(frame->function) && !is_of_rust_library(frame->function) &&
		!is_wrapper(frame->function) && !is_starter(frame->function) &&
		!is_of_python_allocator(frame->function));
}

/* A file of native code: neither a language's name nor "/memfd:…". */
static bool is_in_file(const struct frame *frame)
{
	return frame->module && frame->module[0] == '/' && !text_begins(frame->module, "/memfd:");
}

/* "libxml2.so.2.9.14", "plugin.so (deleted)", "canvas.node". */
static bool is_shared_library(const char *module)
{
	static const char *const endings[] = {".so", ".node", ".cmxs", ".dll"};
	const char *base = text_path_base(module), *found;

	for (size_t i = 0; i < ARRAY_SIZE(endings); i++) {
		size_t length = strlen(endings[i]);

		for (found = strstr(base, endings[i]); found;
		     found = strstr(found + 1, endings[i])) {
			if (!found[length] || strchr(". ", found[length]))
				return true;
		}
	}
	return false;
}

static bool is_programs(const struct frames *frames, const struct frame *frame)
{
	if (!site_label_is_users(frames, frame))
		return false;
	return (frame->function && language_of(frame)) ||
	       (is_in_file(frame) && !is_shared_library(frame->module));
}

/* Installed by a package manager: part of the program, but not written by its authors. */
static bool is_of_package(const struct frame *frame)
{
	static const char *const places[] = {"/node_modules/", "-packages/", "/pkg/mod/",
					     "/registry/src/"};

	for (size_t i = 0; frame->file && i < ARRAY_SIZE(places); i++) {
		if (strstr(frame->file, places[i]))
			return true;
	}
	return false;
}

/* "com.example" of "com.example.Cart.pack". */
static size_t java_package_length(const char *function)
{
	size_t dots[2] = {0};

	for (size_t i = 0; function[i] && function[i] != '('; i++) {
		if (function[i] == '.') {
			dots[0] = dots[1];
			dots[1] = i;
		}
	}
	return dots[0];
}

/* Java does not record where a class was installed: a library's caller is in another package. */
static bool is_of_other_package(const struct frame *frame, const struct frame *program)
{
	size_t length, other;

	if (!is_java(frame) || !is_java(program))
		return false;
	length = java_package_length(frame->function);
	other = java_package_length(program->function);
	return length != other || strncmp(frame->function, program->function, length) != 0;
}

/* Java's declaration of a function in C, which has no line. */
static bool is_native_method(const struct frame *frame)
{
	return is_java(frame) && !frame->line;
}

/*
 * Wrappers of a library for the program rank below the program's own code, in this order: packages,
 * then native methods with their own package.
 */
const struct frame *site_label_program(const struct frames *frames)
{
	const struct frame *packaged = NULL, *native = NULL;

	for (size_t i = 0; i < frames->list.count; i++) {
		const struct frame *frame = &frames->list.items[i];

		if (!is_programs(frames, frame))
			continue;
		if (is_native_method(frame))
			native = native ? native : frame;
		else if (is_of_package(frame) || (native && !is_of_other_package(frame, native)))
			packaged = packaged ? packaged : frame;
		else
			return frame;
	}
	return packaged ? packaged : native;
}

/*
 * Returns the function that a goroutine runs: runtime.goexit is its caller (runtime/proc.go,
 * newproc1). NULL: none, or the runtime's own.
 */
static const struct frame *goroutine_function(const struct frames *frames)
{
	for (size_t i = 1; i < frames->list.count; i++) {
		const struct frame *exit = &frames->list.items[i], *run = exit - 1;

		if (exit->function && text_begins(exit->function, "runtime.goexit"))
			return run->function && !text_begins(run->function, "runtime.") ? run
											: NULL;
	}
	return NULL;
}

const struct frame *site_label_frame(const struct frames *frames)
{
	const struct frame *goroutine = goroutine_function(frames);
	const struct frame *nameless = NULL, *named = NULL, *managed = NULL;

	for (size_t i = 0; i < frames->list.count; i++) {
		const struct frame *frame = &frames->list.items[i];
		bool is_users = site_label_is_users(frames, frame);

		if (is_users && (frame->function || is_programs(frames, frame)))
			return frame;
		if (is_users && !nameless)
			nameless = frame;
		if (!managed && language_of(frame))
			managed = frame;
		if (!named && frame->function)
			named = frame;
	}
	if (goroutine)
		return goroutine;
	if (managed)
		return managed;
	if (nameless && nameless->module)
		return nameless;
	return named || !frames->list.count ? named : frames->list.items;
}

/* Returns the code of another library, without symbols, that the label called; NULL: none. */
static const struct frame *nameless_before(const struct frames *frames, const struct frame *label)
{
	for (const struct frame *frame = frames->list.items; frame < label; frame++) {
		if (!frame->function && frame->module && site_label_is_users(frames, frame) &&
		    (!label->module || strcmp(frame->module, label->module) != 0))
			return frame;
	}
	return NULL;
}

struct step_list {
	const struct frame *next; /* after the last one */
	struct label_step *steps;
	size_t count, most;
};

static void step_add(struct step_list *list, const struct frame *frame, bool placed)
{
	if (list->count == list->most)
		return;
	list->steps[list->count] = (struct label_step){
		.frame = frame, .skips = list->count && frame != list->next, .placed = placed};
	list->count++;
	list->next = frame + 1;
}

/*
 * Returns whether a frame explains how the program reached its first frame: not the `main` in C
 * beneath code of another language.
 */
static bool is_caller(const struct frames *frames, const struct frame *frame,
		      const struct frame *program)
{
	return is_programs(frames, frame) && (language_of(frame) || !language_of(program));
}

/*
 * Adds `most` of the program's frames, from its first one on; the last is of another package, if
 * any is.
 */
static void add_program(const struct frames *frames, const struct frame *program, size_t most,
			struct step_list *list)
{
	const struct frame *end = frames->list.items + frames->list.count, *other = program + 1;
	size_t room = list->count + most;

	while (other < end &&
	       !(is_caller(frames, other, program) && is_of_other_package(other, program)))
		other++;
	step_add(list, program, true);
	room -= other < end;
	for (const struct frame *frame = program + 1; frame < other && list->count < room;
	     frame++) {
		if (is_caller(frames, frame, program))
			step_add(list, frame, false);
	}
	if (other < end)
		step_add(list, other, true);
}

size_t site_label_steps(const struct frames *frames, enum label_room room,
			struct label_step steps[LABEL_STEPS_MAX])
{
	/* Of libraries, and of the program. */
	static const struct {
		size_t inner, outer;
	} rooms[] = {[LABEL_SHORT] = {1, 2}, [LABEL_LONG] = {3, 4}};
	const struct frame *label = site_label_frame(frames), *program = site_label_program(frames);
	const struct frame *end = program ? program : frames->list.items + frames->list.count;
	const struct frame *nameless = label ? nameless_before(frames, label) : NULL;
	struct step_list list = {.steps = steps, .most = LABEL_STEPS_MAX};
	size_t inner = rooms[room].inner + !program;
	bool any;

	_Static_assert(ARRAY_SIZE(rooms) == LABEL_ROOM_MAX_, "each room");
	if (!label)
		return 0;
	if (nameless)
		step_add(&list, nameless, false);
	any = !site_label_is_users(frames, label);
	inner += list.count;
	for (const struct frame *frame = label; frame < end && list.count < inner; frame++) {
		if (frame == label ||
		    (frame->function &&
		     (any ? !is_starter(frame->function) : site_label_is_users(frames, frame))))
			step_add(&list, frame, frame == label);
	}
	if (program)
		add_program(frames, program, rooms[room].outer, &list);
	return list.count;
}

const char *site_label_function(const struct frames *frames)
{
	const struct frame *frame = site_label_frame(frames);

	return frame ? frame->function : NULL;
}

/* Returns the length of template arguments that begin here, brackets included; 0: none. */
static size_t arguments_length(const char *name, size_t at)
{
	size_t depth = 0;

	if (!at || !(isalnum((unsigned char)name[at - 1]) || strchr("_)]", name[at - 1])))
		return 0;
	if (at >= 8 && text_begins(name + at - 8, "operator"))
		return 0; /* operator<, operator<< */
	for (size_t i = at; name[i]; i++) {
		if (name[i] == '<')
			depth++;
		else if (name[i] == '>' && name[i - 1] != '-' && !--depth)
			return i + 1 - at;
	}
	return 0;
}

char *site_label_collapse(const char *function)
{
	size_t length = 0;
	char *text = malloc(strlen(function) + 1);

	for (size_t at = 0; text && function[at];) {
		size_t skipped = function[at] == '<' ? arguments_length(function, at) : 0;

		if (skipped) {
			memcpy(text + length, "<>", 2);
			length += 2;
			at += skipped;
		} else {
			text[length++] = function[at++];
		}
	}
	if (text)
		text[length] = '\0';
	return text;
}
