/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Live bytes of a managed heap after a full collection, for comparisons over time. */
#ifndef LEAKMON_REPORT_HEAP_FLOOR_H
#define LEAKMON_REPORT_HEAP_FLOOR_H

#include <stdbool.h>
#include <stdint.h>

struct dotnet_memory;
struct go_memory;
struct java_memory;
struct js_memory;

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

/* Return the floor; unknown for NULL. */
struct heap_floor java_floor_of(const struct java_memory *java);
struct heap_floor dotnet_floor_of(const struct dotnet_memory *dotnet);
/*
 * Returns Go's floor: the last collection is a base at once; before the first one everything may be
 * garbage.
 */
struct heap_floor go_floor_of(const struct go_memory *go);
/* Returns V8's floor: as Go's, but before the first collection the heap's size takes its place. */
struct heap_floor js_floor_of(const struct js_memory *js);

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
