// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyze/mapping_purpose.h"

#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"

struct purpose {
	const char *name;
	bool prefix; /* whatever follows */
	enum site_kind kind;
};

static const struct purpose purposes[] = {
	{"pthread_create", true, KIND_THREAD_STACK}, /* with or without a symbol version */
	{"__pthread_create", true, KIND_THREAD_STACK},
	{"malloc", false, KIND_ARENA},
	{"calloc", false, KIND_ARENA},
	{"realloc", false, KIND_ARENA},
	{"free", false, KIND_ARENA},
	{"__libc_malloc", false, KIND_ARENA},
	{"__libc_calloc", false, KIND_ARENA},
	{"__libc_realloc", false, KIND_ARENA},
	{"__libc_free", false, KIND_ARENA},
	{"__GI___libc_malloc", false, KIND_ARENA},
	{"je_", true, KIND_ARENA}, /* jemalloc */
	{"_rjem_je_", true, KIND_ARENA},
	{"mi_", true, KIND_ARENA}, /* mimalloc */
	{"_mi_", true, KIND_ARENA},
	{"tcmalloc::", true, KIND_ARENA},
	{"TCMalloc", true, KIND_ARENA},
	{"operator new", true, KIND_ARENA},
	{"operator delete", true, KIND_ARENA},
};

static const struct purpose *purpose_of(const char *function)
{
	for (size_t i = 0; i < ARRAY_SIZE(purposes); i++) {
		const struct purpose *purpose = &purposes[i];
		size_t length = strlen(purpose->name);

		if (!strncmp(function, purpose->name, length) &&
		    (purpose->prefix || !function[length]))
			return purpose;
	}
	return NULL;
}

enum site_kind mapping_purpose(const struct frames *frames, enum site_kind kind)
{
	if (kind != KIND_MAPPING && kind != KIND_RESERVATION && kind != KIND_BRK)
		return kind;
	/* Innermost first: an allocator may create a thread, and a thread's start allocate. */
	for (size_t i = 0; i < frames->list.count; i++) {
		const char *function = frames->list.items[i].function;
		const struct purpose *purpose = function ? purpose_of(function) : NULL;

		if (purpose)
			return purpose->kind;
	}
	return kind;
}
