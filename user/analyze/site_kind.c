// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyze/site_kind.h"

#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"

static const struct {
	const char *name, *note;
} kinds[] = {
	[KIND_NONE] = {NULL, NULL},
	[KIND_MAPPING] = {"mapping", NULL},
	[KIND_FILE] = {"file", NULL},
	[KIND_RESERVATION] = {"reservation", "addresses without memory when they were mapped"},
	[KIND_THREAD_STACK] = {"thread stack", NULL},
	[KIND_ARENA] = {"allocator arena", "its blocks are in the heap's rows"},
	[KIND_BRK] = {"brk", NULL},
	[KIND_KMALLOC] = {"kmalloc", NULL},
	[KIND_CACHE] = {"slab cache", NULL},
	[KIND_PAGES] = {"pages", NULL},
	[KIND_SLAB_PAGES] = {"slab pages", "their objects are in the rows of kmalloc and caches"},
};
_Static_assert(ARRAY_SIZE(kinds) == KIND_MAX_, "a row for every kind");

const char *kind_name(unsigned kind)
{
	return kinds[kind].name;
}

const char *kind_note(enum site_kind kind)
{
	return kinds[kind].note;
}

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

/* mm/slub.c and mm/slab_common.c, as they are called from 6.1 on. */
static bool is_of_slabs(const char *function)
{
	static const char *const prefixes[] = {
		"allocate_slab", "new_slab",	   "alloc_slab_page",  "___slab_alloc",
		"__slab_alloc",	 "refill_objects", "___kmalloc_large", "__kmalloc_large",
		"kmalloc_large", "kmalloc_order",
	};

	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++) {
		if (!strncmp(function, prefixes[i], strlen(prefixes[i])))
			return true;
	}
	return false;
}

enum site_kind kernel_page_kind(const struct frames *frames, const char *allocator)
{
	if (allocator && is_of_slabs(allocator))
		return KIND_SLAB_PAGES;
	/* The slab allocator's own functions come right behind the page allocator's. */
	for (size_t i = 0; i < frames->list.count && i < 4; i++) {
		const char *function = frames->list.items[i].function;

		if (function && is_of_slabs(function))
			return KIND_SLAB_PAGES;
	}
	return KIND_PAGES;
}
