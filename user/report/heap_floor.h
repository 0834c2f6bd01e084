/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What collections of all of a managed heap leave, to be compared with later. */
#ifndef LEAKMON_REPORT_HEAP_FLOOR_H
#define LEAKMON_REPORT_HEAP_FLOOR_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Until the first such collection, old garbage counts as kept: then the least that was seen since
 * the first reading is the base of what is compared, and the next one is the first that proves
 * anything.
 */
struct heap_floor {
	bool known;
	bool is_base;
	/* Bytes: outside Eden; of .NET, Go and V8, of objects at the last collections. */
	uint64_t kept;
	uint64_t full; /* collections */
	bool none_yet; /* no collection so far, so kept is 0; or of V8: of one of its heaps */
	/* Of V8: the size of heaps with none yet. No more can be live there. */
	uint64_t uncollected;
	uint64_t key; /* another one: these are other heaps, and nothing can be compared */
	/* Bytes outside the heap that garbage may hold before it is collected because of them: of
	 * V8 kExternalAllocationSoftLimit (include/v8-internal.h). 0: not known. */
	uint64_t outside_limit;
};

/* Of a runtime that says how large its heap may become: what lived after its last collection, the
 * size at which the next one ends, collections so far. 0: not known. */
struct heap_goal {
	uint64_t live, bytes, collections;
	const char *settings; /* of the program, which decide it: "GOGC, GOMEMLIMIT"; static */
};

/* What a conclusion says of a heap with a floor; static. */
struct heap_words {
	const char *kept;	    /* the bytes that collections leave: "in objects" */
	uint64_t room;		    /* for new objects; 0: not known */
	const char *before, *after; /* what is said before and after the room */
};

void heap_floor_rebase(struct heap_floor *first, const struct heap_floor *now);

enum heap_proof {
	HEAP_UNPROVEN,	   /* what the heap grew by may be garbage */
	HEAP_KEEPS_MORE,   /* objects, by a fifth of what it grew by at least */
	HEAP_KEEPS_AS_MUCH /* garbage, and free room */
};

/* `grown`: bytes of the heap, between the two. Both are known. */
enum heap_proof heap_floor_compare(const struct heap_floor *first, const struct heap_floor *now,
				   int64_t grown);

/*
 * Memory outside a heap, which garbage in that may hold: buffers, sockets, parsers. Bytes, at the
 * first look or when the first collection of all since then had just been seen; and when the last
 * one had.
 */
struct heap_outside {
	bool known, is_base;
	int64_t first, last;
	uint64_t full, key; /* as heap_floor has them */
};

/* Of what `now` is the floor; it has so many bytes outside. */
void heap_outside_look(struct heap_outside *outside, const struct heap_floor *now, int64_t bytes);
/* Whether half of the growth outside at least, and 1 MiB, is held by what lives. Also where it is
 * not known what garbage may hold. */
bool heap_outside_is_proven(const struct heap_outside *outside, const struct heap_floor *now,
			    int64_t bytes);

#endif
