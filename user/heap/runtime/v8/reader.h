/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Readings of a running V8 from outside, without stopping it. */
#ifndef LEAKMON_RUNTIME_V8_READER_H
#define LEAKMON_RUNTIME_V8_READER_H

#include "process/proc/maps.h"
#include "report/heap_floor.h"

struct data_module;
struct target_memory;

/* V8's counters of its heaps, and of memory outside them held by JavaScript objects, as counted by
 * node; in bytes. */
struct js_memory {
	char version[24]; /* of V8: "11.3.244.8"; "": unknown */
	const char *why;  /* reason why nothing is known; static; NULL: known */
	uint64_t heaps;	  /* heaps of the main thread and of workers; figures are sums */
	/* process.memoryUsage().external: array buffers, and texts outside the heap. */
	uint64_t external;
	/* The part of it in process.memoryUsage().arrayBuffers, which includes Buffers. */
	bool has_buffers;
	uint64_t array_buffers;
	bool has_collections;
	uint64_t collections, full_collections; /* full ones include the old generation */
	/* bytes in the old generations after each heap's last full collection */
	uint64_t kept;
	uint64_t committed;   /* chunks of the heaps, */
	uint64_t uncollected; /* chunks of heaps without a full collection so far */
	uint64_t heaps_key;   /* a different key means other heaps */
};

/* Reads V8's heaps, and memory outside them; js->why says why they are unknown. Reads no file; maps
 * may be of any process with V8. 0 or -ENOMEM. */
int js_memory_read(const struct maps *maps, struct js_memory *js);
/*
 * Reads only the figures for js_floor_of(), at a cost independent of the heap's size. 0 or -ENOMEM.
 */
int js_collections_read(const struct maps *maps, struct js_memory *js);

/* Reads open memory like js_memory_read(), or like js_collections_read() if `collections`; `module`
 * is the one that contains V8. *js is zeroed before. 0 or -ENOMEM. */
int js_memory_of(struct target_memory *memory, const struct data_module *module, bool collections,
		 struct js_memory *js);

/* Returns the live bytes after the last collection; before the first one, the size of the heap as
 * an upper bound. Unknown if `js` is NULL. */
struct heap_floor js_floor_of(const struct js_memory *js);

extern const struct memory_reader js_memory_reader;

#endif
