/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which words of a function's frame belonged to a variable that is not alive at an address any
 * more, by the location lists of its debug information (DWARF 5, 2.6 and 3.9): the variable's scope
 * has ended, or its value is elsewhere, or nowhere. A compiler may give such a word to a value that
 * has no name, so this makes a word doubtful, and proves nothing.
 *
 * Only functions with the call frame's CFA as frame base are answered for, as gcc and clang
 * without frame pointers write it; and none where a living variable is in memory in a way that is
 * not understood. A word that no variable ever had is not in the answer: nobody knows of it.
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

/* For one address at most; the rest is left out. */
#define SLOTS_MAX 64

/* For the addresses that were asked for, in their order; each one's stand together. */
struct slot_answer {
	size_t count;
	uint32_t counts[WIRE_MAX_ADDRESSES];
	struct slot_range *ranges; /* owned */
};

void slot_answer_free(struct slot_answer *answer);

/* struct wire_slots_question -> struct slot_answer; the second file is what dwz moved out. */
extern const struct parse_kind slots_kind;

#endif
