/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The mappings of a process that are read, and which words in it are looked at. */
#ifndef LEAKMON_HEAP_HEAP_IMAGE_ZONES_H
#define LEAKMON_HEAP_HEAP_IMAGE_ZONES_H

#include "base/clock.h"
#include "heap/allocators/heap_image.h"
#include "heap/allocators/pages.h"
#include "heap/allocators/pointer_filter.h"
#include "process/proc/maps.h"

/* Whether a mapping's memory may be read at all: no device, none of the kernel's own pages. */
bool mapping_is_memory(const struct mapping *mapping);

/*
 * The ranges to be read, without room for their pages; of large mappings only the parts that have
 * any. *writable gets their bytes. 0; -ENOMEM; -EFBIG: a mapping of terabytes, of which this kernel
 * cannot show what is used; -ESRCH.
 */
int ranges_from_maps(const struct maps *maps, int pagemap, struct page_table *table,
		     uint64_t *writable);

/*
 * The mapped addresses, in a few wide ranges with some space around: what is mapped a moment later
 * passes too. 0 or -ENOMEM.
 */
int filter_from_maps(const struct maps *maps, struct filter *filter);

/* Exactly the anonymous writable memory. 0 or -ENOMEM. */
int filter_heaps_from_maps(const struct maps *maps, struct filter *filter);

/* Zones of a heap image: stacks, thread-locals, malloc's own. */

/* The threads that stand, with their zones. 0; -ENOMEM; -ETIMEDOUT. */
int zones_add_threads(struct heap_image *heap_image, const struct stop *stop, struct peek *peek,
		      struct deadline *deadline);

/*
 * Copies the stacks' contents, for naming frames only: without a copy, those of a thread have no
 * names. So it ends when the deadline has passed; *missing gets how many were not copied. 0 or
 * -ENOMEM.
 */
int stacks_copy(struct heap_image *heap_image, int pagemap, struct deadline *deadline,
		size_t *missing);

/* Running threads by /proc: whole stacks, where they are known at all. */
int zones_add_threads_unstopped(struct heap_image *heap_image);

/* When it runs again: what the threads are called. */
void zones_name_threads(struct heap_image *heap_image);

/* Unused memory, as options->idle says, and stacks of ended threads. 0 or -ENOMEM. */
int zones_add_idle(struct heap_image *heap_image, const struct heap_image_options *options);

/* Adds malloc's own, sorts, and cuts what overlaps. 0 or -ENOMEM. */
int zones_finish(struct heap_image *heap_image);

/*
 * Where a thread's own structures end is not known, and the zone of a stack is rather too long than
 * too short. The kernel joins mappings: a block may begin there, on a page behind the structures.
 */
bool zone_may_end_at(const struct heap_image *heap_image, const struct zone *zone, uint64_t page);

/* Ends the zone of a stack where such a block has been found. */
void zones_end_at(struct heap_image *heap_image, uint64_t page);

#endif
