// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/symbol/demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/text.h"

#define MAX_MANGLED 4096
#define MAX_READABLE 16384
#define OPTIONS (DMGL_PARAMS | DMGL_ANSI | DMGL_RET_DROP)

struct output {
	size_t length;
	jmp_buf too_long;
	char text[MAX_READABLE + 1];
};

typedef int (*demangler)(const char *, int, demangle_callbackref, void *);

static void append(const char *text, size_t length, void *opaque)
{
	struct output *output = opaque;

	/*
	 * The demangler cannot be stopped, and a hostile name of some hundred bytes makes it write
	 * for years. It keeps its state on the stack, so a longjmp leaks nothing.
	 */
	if (length > MAX_READABLE - output->length)
		longjmp(output->too_long, 1);
	memcpy(output->text + output->length, text, length);
	output->length += length;
}

static bool try_demangler(demangler function, const char *name, struct output *output)
{
	output->length = 0;
	if (setjmp(output->too_long))
		return false;
	if (!function(name, OPTIONS, append, output))
		return false;
	output->text[output->length] = '\0';
	return output->length > 0;
}

char *demangle(const char *name)
{
	struct output output;

	if (name[0] != '_' || strnlen(name, MAX_MANGLED + 1) > MAX_MANGLED)
		return NULL;
	/* Rust first: its legacy names are also valid C++ names, with a hash at the end. */
	if (try_demangler(rust_demangle_callback, name, &output) ||
	    try_demangler(cplus_demangle_v3_callback, name, &output))
		return strdup(output.text);
	return NULL;
}

bool demangle_is_library(const char *function)
{
	static const char *const beginnings[] = {"std::", "__gnu_cxx::", "operator new"};

	return text_begins_with_any(function, beginnings, ARRAY_SIZE(beginnings));
}
