/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The part of a heap image that is of one moment: the process is stopped, changes are reread, and
 * it is resumed in time.
 */
#ifndef LEAKMON_HEAP_HEAP_IMAGE_STOP_H
#define LEAKMON_HEAP_HEAP_IMAGE_STOP_H

#include "base/clock.h"
#include "heap/allocators/heap_image.h"
#include "heap/allocators/heap_reader.h"
#include "process/pause/tracer.h"

/* Times of the steps during the stop; logged after the resume. */
struct pause_times {
	uint64_t stopped_ns, listed_ns, checked_ns, walked_ns, ended_ns;
};

/* A heap image being taken. */
struct image_builder {
	struct heap_image *heap_image;
	const struct heap_image_options *options;
	struct filter filter, heaps;
	struct deadline deadline; /* of everything done during the stop */
	struct peek peek;	  /* keeps to that deadline */
	struct heap_finds finds;
	const char *why_not;  /* why no allocator but the C library's was found; static; or NULL */
	struct tracer tracer; /* if it can be stopped at all */
	struct pause_times times;
	int pagemap;
	bool insists; /* read it even if the moment is not suitable */
	int error;    /* of a visit */
};

struct page_scan builder_scan(const struct image_builder *builder);
struct heap_view builder_view(struct image_builder *builder, const struct stop *stop);

/* Reads all heaps found; stop NULL: the process runs. Returns 0; -ENOMEM; -ETIMEDOUT; -ESRCH. */
int builder_read_heaps(struct image_builder *builder, const struct stop *stop);

/*
 * Stops the process, reads what must be of one moment, and resumes it. Returns 0; -EAGAIN: it could
 * not be stopped, or not for long enough; -ESRCH; -ENOMEM.
 */
int builder_stop(struct image_builder *builder);

/* Reads the same from a core file, which needs no stop. Returns 0 or -ENOMEM. */
int builder_read_core(struct image_builder *builder);

#endif
