// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/site_label.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "symbol/demangle.h"

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

/* Between PyObject_Malloc and the code that makes an object (CPython, Objects/obmalloc.c). */
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
	static const char *const names[] = {
		"_start", "__libc_start_main",	    "start_thread", "__libc_start_call_main",
		"clone",  "__libc_start_main_impl", "clone3",	    "__clone3"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (!strcmp(names[i], function))
			return true;
	}
	return false;
}

/* For a readable name, the last part of its path without parameters. Returns its length. */
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

/* Without what only varies a name: "g_malloc0_n", redis's "ztrymalloc_usable_internal". */
static size_t base_length(const char *part, size_t length)
{
	static const char *const endings[] = {"_internal", "_usable", "_no_tcache", "_n"};

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

static bool is_python(const struct frame *frame)
{
	return frame->module && !strcmp(frame->module, FRAME_PYTHON);
}

/* Files of Python itself: "<frozen importlib._bootstrap>", "/usr/lib/python3.11/json/…". */
static bool is_of_python_library(const struct frame *frame)
{
	const char *file = frame->file ? frame->file : "";

	return text_begins(file, "<frozen ") ||
	       (strstr(file, "/lib/python3") && !strstr(file, "-packages/"));
}

/* The interpreter's own, where its callers are known. */
static bool is_of_interpreter(const struct frames *frames, const struct frame *frame)
{
	static const char *const names[] = {"python3", "libpython3"};
	const char *base = frame->module ? text_path_base(frame->module) : "";

	if (!text_begins_with_any(base, names, ARRAY_SIZE(names)))
		return false;
	for (size_t i = 0; i < frames->list.count; i++) {
		if (is_python(&frames->list.items[i]))
			return true;
	}
	return false;
}

static bool is_java(const struct frame *frame)
{
	return frame->module && !strcmp(frame->module, FRAME_JAVA);
}

/* Stubs of the VM's have no file. */
static bool is_of_java_library(const struct frame *frame)
{
	static const char *const packages[] = {"java.", "javax.", "jdk.", "sun.", "com.sun."};

	return !frame->file || !frame->function ||
	       text_begins_with_any(frame->function, packages, ARRAY_SIZE(packages));
}

/* The VM's own, where its callers are known. */
static bool is_of_vm(const struct frames *frames, const struct frame *frame)
{
	static const char *const names[] = {"libjvm.so",    "libjava.so",  "libjli.so",
					    "libzip.so",    "libnio.so",   "libnet.so",
					    "libjimage.so", "libverify.so"};
	const char *base = frame->module ? text_path_base(frame->module) : "";

	if (!text_begins_with_any(base, names, ARRAY_SIZE(names)))
		return false;
	for (size_t i = 0; i < frames->list.count; i++) {
		if (is_java(&frames->list.items[i]))
			return true;
	}
	return false;
}

static bool is_javascript(const struct frame *frame)
{
	return frame->module && !strcmp(frame->module, FRAME_JAVASCRIPT);
}

/* Scripts of Node's, and V8's builtins, which have none. */
static bool is_of_node_library(const struct frame *frame)
{
	return !frame->file || text_begins(frame->file, "node:");
}

/* Node's own, where its callers are known. */
static bool is_of_node(const struct frames *frames, const struct frame *frame)
{
	static const char *const names[] = {"node", "nodejs"};
	const char *base = frame->module ? text_path_base(frame->module) : "";
	bool is_node = text_begins(base, "libnode.so");

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		is_node |= !strcmp(base, names[i]);
	for (size_t i = 0; is_node && i < frames->list.count; i++) {
		if (is_javascript(&frames->list.items[i]))
			return true;
	}
	return false;
}

bool site_label_is_users(const struct frames *frames, const struct frame *frame)
{
	if (is_python(frame))
		return !is_of_python_library(frame);
	if (is_java(frame))
		return !is_of_java_library(frame);
	if (is_javascript(frame))
		return !is_of_node_library(frame);
	if (is_of_runtime_library(frame->module) || is_of_interpreter(frames, frame) ||
	    is_of_vm(frames, frame) || is_of_node(frames, frame))
		return false;
	return !frame->function ||
	       (!demangle_is_library(frame->function) && !is_of_rust_library(frame->function) &&
		!is_wrapper(frame->function) && !is_starter(frame->function) &&
		!is_of_python_allocator(frame->function));
}

const struct frame *site_label_frame(const struct frames *frames)
{
	const struct frame *named = NULL, *managed = NULL;

	for (size_t i = 0; i < frames->list.count; i++) {
		const struct frame *frame = &frames->list.items[i];

		if (site_label_is_users(frames, frame))
			return frame;
		if (!managed && (is_python(frame) || is_java(frame) || is_javascript(frame)))
			managed = frame;
		if (!named && frame->function)
			named = frame;
	}
	if (managed)
		return managed;
	return named || !frames->list.count ? named : frames->list.items;
}

const char *site_label_function(const struct frames *frames)
{
	const struct frame *frame = site_label_frame(frames);

	return frame ? frame->function : NULL;
}

/* The length of template arguments that begin here, brackets included; 0: they are none. */
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
