/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Readings of V8 from outside while it runs, without stopping it. */
#ifndef LEAKMON_RUNTIME_V8_READER_H
#define LEAKMON_RUNTIME_V8_READER_H

#include "process/proc/maps.h"
#include "report/heap_floor.h"

struct data_module;
struct target_memory;

/* What it counts of its heaps, and of the memory that objects of JavaScript have outside them, as
 * node does, too; in bytes. */
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

/* Its heaps, and memory outside them; js->why says why that is not known. No file is read, and it
 * may be any process with V8. 0 or -ENOMEM. */
int js_memory_read(const struct maps *maps, struct js_memory *js);
/* Only what js_floor_of() needs, at a cost that does not grow with the heap. */
int js_collections_read(const struct maps *maps, struct js_memory *js);

/* Either of them, of memory that is open and the module in it that has V8; *js is zeros before. */
int js_memory_of(struct target_memory *memory, const struct data_module *module, bool collections,
		 struct js_memory *js);

/* What its collections leave. Before the first one the size of the heap stands in for that. NULL:
 * not known. */
struct heap_floor js_floor_of(const struct js_memory *js);

extern const struct memory_reader js_memory_reader;

#endif
