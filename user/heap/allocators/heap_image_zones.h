/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The mappings of a process that are read, and the words in it that are examined. */
#ifndef LEAKMON_HEAP_HEAP_IMAGE_ZONES_H
#define LEAKMON_HEAP_HEAP_IMAGE_ZONES_H

#include "base/clock.h"
#include "heap/allocators/heap_image.h"
#include "heap/allocators/pages.h"
#include "heap/allocators/pointer_filter.h"
#include "process/proc/maps.h"

/*
 * Returns whether a mapping's memory may be read at all: no device, none of the kernel's own pages.
 */
bool mapping_is_memory(const struct mapping *mapping);

/*
 * Lists the ranges to read, without allocating their pages; of large mappings only the used parts.
 * *writable gets their bytes. Returns 0; -ENOMEM; -EFBIG: a mapping of terabytes whose use this
 * kernel cannot show; -ESRCH.
 */
int ranges_from_maps(const struct maps *maps, int pagemap, struct page_table *table,
		     uint64_t *writable);

/*
 * Builds a filter of the mapped addresses, in a few wide ranges with some margin: memory mapped a
 * moment later passes, too. Returns 0 or -ENOMEM.
 */
int filter_from_maps(const struct maps *maps, struct filter *filter);

/* Builds a filter of exactly the anonymous writable memory. Returns 0 or -ENOMEM. */
int filter_heaps_from_maps(const struct maps *maps, struct filter *filter);

/* Zones of a heap image: stacks, thread-locals, malloc's own. */

/* Adds the stopped threads, with their zones. Returns 0; -ENOMEM; -ETIMEDOUT. */
int zones_add_threads(struct heap_image *heap_image, const struct stop *stop, struct peek *peek,
		      struct deadline *deadline);

/*
 * Copies the stacks' contents, for naming frames only: frames of a thread without a copy have no
 * names. So it ends at the deadline; *missing gets the number not copied. Returns 0 or -ENOMEM.
 */
int stacks_copy(struct heap_image *heap_image, int pagemap, struct deadline *deadline,
		size_t *missing);

/* Adds running threads from /proc: whole stacks, where known. Returns 0 or -ENOMEM. */
int zones_add_threads_unstopped(struct heap_image *heap_image);

/* Names the threads, after the resume. */
void zones_name_threads(struct heap_image *heap_image);

/* Adds unused memory, from options->idle, and stacks of ended threads. Returns 0 or -ENOMEM. */
int zones_add_idle(struct heap_image *heap_image, const struct heap_image_options *options);

/* Adds malloc's own memory, sorts, and cuts overlaps. Returns 0 or -ENOMEM. */
int zones_finish(struct heap_image *heap_image);

/*
 * The end of a thread's own structures is unknown, so the zone of a stack is rather too long than
 * too short. Returns whether the zone may end at `page`, on which a block of a merged mapping may
 * begin after the structures.
 */
bool zone_may_end_at(const struct heap_image *heap_image, const struct zone *zone, uint64_t page);

/* Ends the zone of a stack where such a block was found. */
void zones_end_at(struct heap_image *heap_image, uint64_t page);

#endif
