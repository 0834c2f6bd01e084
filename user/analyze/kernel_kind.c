// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyze/kernel_kind.h"

#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"

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
