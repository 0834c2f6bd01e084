/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The part of a heap image that is of one moment: the process is stopped, what has changed since it
 * was read is read again, and it goes on in time.
 */
#ifndef LEAKMON_HEAP_HEAP_IMAGE_STOP_H
#define LEAKMON_HEAP_HEAP_IMAGE_STOP_H

#include "base/clock.h"
#include "heap/allocators/heap_image.h"
#include "heap/allocators/heap_reader.h"
#include "process/pause/tracer.h"

/* When what was done while the process stood was done; logged when it runs again. */
struct pause_times {
	uint64_t stopped_ns, listed_ns, checked_ns, walked_ns, ended_ns;
};

/* A heap image while it is taken. */
struct image_builder {
	struct heap_image *heap_image;
	const struct heap_image_options *options;
	struct filter filter, heaps;
	struct deadline deadline; /* of everything that is done while the process stands */
	struct peek peek;	  /* keeps to that deadline */
	struct heap_finds finds;
	const char *why_not;  /* no allocator was found but the C library's; static; or NULL */
	struct tracer tracer; /* if it can be stopped at all */
	struct pause_times times;
	int pagemap;
	bool insists; /* it is read, whether it is a good moment or not */
	int error;    /* of a visit */
};

struct page_scan builder_scan(const struct image_builder *builder);
struct heap_view builder_view(struct image_builder *builder, const struct stop *stop);

/* Reads all heaps that were found; stop: NULL: the process runs. 0; -ENOMEM; -ETIMEDOUT; -ESRCH. */
int builder_read_heaps(struct image_builder *builder, const struct stop *stop);

/* Stops the process, reads what must be of one moment, and lets it go on. 0; -EAGAIN: it could not
 * be stopped, or not for long enough; -ESRCH; -ENOMEM. */
int builder_stop(struct image_builder *builder);

/* The same of a core file: it stands anyway. 0 or -ENOMEM. */
int builder_read_core(struct image_builder *builder);

#endif
