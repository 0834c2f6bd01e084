/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What V8 counts of its heaps, and of the memory that objects of JavaScript have outside them, as
 * node does, too: plain data, made by heap/runtime/v8/memory.c. In bytes. */
#ifndef LEAKMON_REPORT_JS_MEMORY_H
#define LEAKMON_REPORT_JS_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

struct js_memory {
	char version[24]; /* of V8: "11.3.244.8"; "": not known */
	const char *why;  /* nothing is known; static; NULL: it is */
	uint64_t heaps;	  /* of the main thread and of workers; the figures are their sums */
	/* process.memoryUsage().external: array buffers, and texts outside the heap. */
	uint64_t external;
	/* Of it process.memoryUsage().arrayBuffers, which Buffers are part of. */
	bool has_buffers;
	uint64_t array_buffers;
	bool has_collections;
	uint64_t collections, full_collections; /* the latter are of the old generation, too */
	uint64_t kept;	      /* what the last full one of each heap left in its old generation */
	uint64_t committed;   /* chunks of the heaps, */
	uint64_t uncollected; /* and of those among them without a full collection so far */
	uint64_t heaps_key;   /* another one: these are other heaps */
};

struct figures;
extern const struct figures js_memory_figures;

#endif
