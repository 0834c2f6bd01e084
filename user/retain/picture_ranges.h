/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What of a process's mappings is read, and which words in it are looked at. */
#ifndef LEAKMON_RETAIN_PICTURE_RANGES_H
#define LEAKMON_RETAIN_PICTURE_RANGES_H

#include "proc/maps.h"
#include "retain/filter.h"
#include "retain/pages.h"

/* Whether a mapping's memory may be read at all: no device, none of the kernel's own pages. */
bool mapping_is_memory(const struct mapping *mapping);
/* Anonymous memory or shared memory, in which blocks may lie. */
bool mapping_is_anonymous(const struct mapping *mapping);

/* The ranges to be read, without room for their pages. *writable gets their bytes. 0 or -ENOMEM. */
int ranges_from_maps(const struct maps *maps, struct page_table *table, uint64_t *writable);

/*
 * What is mapped, in a few wide ranges with some space around: what is mapped a moment later passes
 * too. 0 or -ENOMEM.
 */
int filter_from_maps(const struct maps *maps, struct filter *filter);
/* Exactly the anonymous writable memory. 0 or -ENOMEM. */
int filter_heaps_from_maps(const struct maps *maps, struct filter *filter);

#endif
