// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/family.h"

#include <stddef.h>

#include "base/cleanup.h"

static const char *const families[] = {
	[FAMILY_HEAP] = "heap",
	[FAMILY_MAPPING] = "mapping",
	[FAMILY_KERNEL] = "kernel",
};
_Static_assert(ARRAY_SIZE(families) == FAMILY_MAX_, "a name for every family");

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

const char *family_name(enum site_family family)
{
	return families[family];
}

const char *kind_name(enum site_kind kind)
{
	return kinds[kind].name;
}

const char *kind_note(enum site_kind kind)
{
	return kinds[kind].note;
}
