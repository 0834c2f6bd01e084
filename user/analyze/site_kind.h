/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the memory of a site is for: in words, and as far as the names on its call stack tell. */
#ifndef LEAKMON_ANALYZE_SITE_KIND_H
#define LEAKMON_ANALYZE_SITE_KIND_H

#include "collect/snapshot.h"
#include "symbol/symbolizer.h"

/* "thread stack", ...; NULL for KIND_NONE. */
const char *kind_name(unsigned kind);
/* Why its bytes are counted by another row, too: to follow a comma; NULL when they are not. */
const char *kind_note(enum site_kind kind);

/*
 * The BPF side knows MAP_STACK and the calls of probed allocators; what it cannot see is an
 * allocator that maps memory outside of any call (a constructor, a background thread), and a C
 * library that maps stacks without MAP_STACK (musl). `kind`, unless the names say better. Kinds
 * that say more than KIND_RESERVATION stay.
 */
enum site_kind mapping_purpose(const struct frames *frames, enum site_kind kind);

/*
 * KIND_SLAB_PAGES when the pages were taken to cut objects of kmalloc and caches from, which have
 * rows of their own; else KIND_PAGES. `frames` and `allocator` as kernel_symbols_name gave them.
 */
enum site_kind kernel_page_kind(const struct frames *frames, const char *allocator);

#endif
