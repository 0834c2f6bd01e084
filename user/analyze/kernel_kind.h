/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which pages of the kernel are memory of their own. */
#ifndef LEAKMON_ANALYZE_KERNEL_KIND_H
#define LEAKMON_ANALYZE_KERNEL_KIND_H

#include "collect/family.h"
#include "symbol/symbolizer.h"

/*
 * KIND_SLAB_PAGES when the pages were taken to cut objects of kmalloc and caches from, which have
 * rows of their own; else KIND_PAGES. `frames` and `allocator` as kernel_symbols_name gave them.
 */
enum site_kind kernel_page_kind(const struct frames *frames, const char *allocator);

#endif
