/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Live bytes of a managed heap after a full collection, for comparisons over time. */
#ifndef LEAKMON_REPORT_HEAP_FLOOR_H
#define LEAKMON_REPORT_HEAP_FLOOR_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Before the first full collection, old garbage counts as kept: then the minimum seen since the
 * first reading is the base of comparison, and the next collection is the first that proves
 * anything.
 */
struct heap_floor {
	bool known;
	bool is_base;
	/* Bytes: outside Eden; for .NET, Go and V8, of objects at the last collections. */
	uint64_t kept;
	uint64_t full; /* collections */
	bool none_yet; /* no collection yet, so kept is 0; for V8: of one of its heaps */
	/* For V8: the size of heaps without a collection, an upper bound of their live bytes. */
	uint64_t uncollected;
	uint64_t key; /* a different key means other heaps, which cannot be compared */
	/*
	 * Bytes outside the heap that garbage may hold before they trigger a collection: for V8
	 * kExternalAllocationSoftLimit (include/v8-internal.h). 0: unknown.
	 */
	uint64_t outside_limit;
};

/* The goal of a runtime that publishes how large its heap may become: live bytes after the last
 * collection, the size at which the next one ends, collections so far. 0: unknown. */
struct heap_goal {
	uint64_t live, bytes, collections;
	const char *settings; /* of the program, which decide it: "GOGC, GOMEMLIMIT"; static */
};

/* Words of a conclusion about a heap with a floor; static. */
struct heap_words {
	const char *kept;	    /* the bytes that collections leave: "in objects" */
	uint64_t room;		    /* for new objects; 0: unknown */
	const char *before, *after; /* the words around the room */
};

void heap_floor_rebase(struct heap_floor *first, const struct heap_floor *now);

enum heap_proof {
	HEAP_UNPROVEN,	   /* the heap's growth may be garbage */
	HEAP_KEEPS_MORE,   /* live objects, at least a fifth of its growth */
	HEAP_KEEPS_AS_MUCH /* garbage, and free room */
};

/* Compares two known floors. `grown`: growth of the heap between them, in bytes. */
enum heap_proof heap_floor_compare(const struct heap_floor *first, const struct heap_floor *now,
				   int64_t grown);

/*
 * Memory outside a heap that its garbage may hold: buffers, sockets, parsers. Bytes, at the first
 * look or just after the first full collection since then; and just after the last one.
 */
struct heap_outside {
	bool known, is_base;
	int64_t first, last;
	uint64_t full, key; /* as in heap_floor */
};

/* Records `bytes` outside the heap at the time of the floor `now`. */
void heap_outside_look(struct heap_outside *outside, const struct heap_floor *now, int64_t bytes);
/*
 * Returns whether at least half of the growth outside, and 1 MiB, is held by live objects. True
 * also if it is unknown what garbage may hold.
 */
bool heap_outside_is_proven(const struct heap_outside *outside, const struct heap_floor *now,
			    int64_t bytes);

#endif
