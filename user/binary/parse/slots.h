/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the words of a function's frame whose variable is dead at an address, by the location lists
 * of its debug information (DWARF 5, 2.6 and 3.9): the variable's scope has ended, or its value is
 * elsewhere, or nowhere. A compiler may reuse such a word for a value without a name, so this makes
 * a word doubtful, and proves nothing.
 *
 * Only functions with the call frame's CFA as frame base are covered, as gcc and clang compile them
 * without frame pointers; and none with a live variable in memory at an unknown place. A word that
 * never held a variable is not in the answer: nothing is known of it.
 */
#ifndef LEAKMON_PARSE_SLOTS_H
#define LEAKMON_PARSE_SLOTS_H

#include <stddef.h>
#include <stdint.h>

#include "base/sandbox/bytes.h"
#include "base/sandbox/parse_kind.h"
#include "binary/parse/wire.h"

struct lines;

/* Bytes from the CFA, below which the frame lies: [low, high), multiples of 8, negative. */
struct slot_range {
	int32_t low, high;
};

/* Limit per address; the rest is left out. */
#define SLOTS_MAX 64

/* The answers for the requested addresses, in order; the ranges of each are consecutive. */
struct slot_answer {
	size_t count;
	uint32_t counts[WIRE_MAX_ADDRESSES];
	struct slot_range *ranges; /* owned */
};

void slot_answer_free(struct slot_answer *answer);

/*
 * struct wire_slots_question -> struct slot_answer; the second file is the supplementary file of
 * dwz.
 */
extern const struct parse_kind slots_kind;

#endif
