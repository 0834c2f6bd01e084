/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parts of heap_image.c share. */
#ifndef LEAKMON_HEAP_HEAP_IMAGE_BUILDER_H
#define LEAKMON_HEAP_HEAP_IMAGE_BUILDER_H

#include "base/clock.h"
#include "heap/heap_image.h"
#include "pause/pause_guard.h"

/* When what was done while the process stood was done; said when it runs again. */
struct pause_times {
	uint64_t stopped_ns, listed_ns, checked_ns, walked_ns, ended_ns;
};

struct image_builder {
	struct heap_image *heap_image;
	const struct heap_image_options *options;
	struct filter filter, heaps;
	struct deadline deadline; /* of everything that is done while the process stands */
	struct peek peek;	  /* keeps to that deadline */
	struct heap_spans walked; /* while it ran */
	struct heap_place foreign;
	bool has_foreign;
	struct {
		uint64_t start, end;
	} malloc_data;		  /* of the module that leads to arenas */
	bool arenas_left;	  /* they could not be read while it ran */
	bool walk_is_used;	  /* it went into the heap image of the stop */
	struct pause_guard guard; /* if it can be stopped at all */
	struct pause_times times;
	int pagemap;
	int error; /* of a visit */
};

struct page_scan builder_scan(const struct image_builder *builder);

/* The arenas as they are now; if they contradict themselves there are none, and a break is counted.
 * 0; -ENOMEM; -ETIMEDOUT. */
int builder_read_arenas(struct image_builder *builder);

/* The heaps as the arenas describe them now. 0 or -ENOMEM. */
int builder_find_spans(struct image_builder *builder, struct heap_spans *spans);

/* What another allocator has, if it was found. 0; -ENOMEM; -ETIMEDOUT. */
int builder_read_foreign(struct image_builder *builder);

/* Without a stop, the threads' caches are found by what they look like. 0 or -ENOMEM. */
int builder_find_free_chunks(struct image_builder *builder, const struct stop *stop);

/* Stops the process, reads what must be of one moment, and lets it go on. 0; -EAGAIN: it could not
 * be stopped, or not for long enough; -ESRCH; -ENOMEM. */
int builder_stop(struct image_builder *builder);

/* The same of a core file: it stands anyway. 0 or -ENOMEM. */
int builder_read_core(struct image_builder *builder);

#endif
