/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The true callers of the allocator: the file that backtrace_preload.so keeps while its process
 * runs. Both sides map it, so nothing is dumped, and the process gets no requests.
 *
 * The library is preloaded with LEAKMON_TRUTH=FILE. leakmon must probe the allocator below it
 * (-O libc.so.6 or whichever): where it probed the library's own malloc, that function's return
 * address would be the kernel's uretprobe trampoline, at which every unwinder in the process stops.
 * leakmon's stacks then begin with the library's frame, which truth_compare drops.
 *
 *   LEAKMON_TRUTH_ONE_IN=N  records each allocation with probability 1/N (1)
 *   LEAKMON_TRUTH_KEEP=1    recorded blocks are never freed, so that in the end every (sampled)
 *                           allocation is outstanding and can be compared
 */
#ifndef LEAKMON_TRUTH_H
#define LEAKMON_TRUTH_H

#include <stdint.h>

#define TRUTH_MAGIC UINT64_C(0x6874757274)
#define TRUTH_FRAMES 256		  /* of one stack */
#define TRUTH_BLOCKS (UINT64_C(1) << 21)  /* a power of two */
#define TRUTH_STACKS (UINT64_C(1) << 20)  /* a power of two */
#define TRUTH_WORDS (UINT64_C(128) << 20) /* of 8 bytes: the file is sparse */

struct truth_header {
	uint64_t magic;
	uint64_t text_start, text_end; /* of the library itself */
	uint32_t pid;
	uint32_t recording; /* 0 at first; set from outside when leakmon is attached */
	uint32_t lock;
	uint32_t blocks_used, stacks_used;
	uint32_t words_used; /* the first is never used: stack 0 means none */
	uint64_t recorded;   /* allocations */
	uint64_t lost;	     /* blocks without room */
};

struct truth_block {
	uint64_t address; /* 0: not in use */
	uint64_t size;	  /* as requested */
	uint64_t stack;	  /* index into words: depth, then the return addresses, innermost first */
};

/* Open addressing with linear probing. */
struct truth_file {
	struct truth_header header;
	struct truth_block blocks[TRUTH_BLOCKS];
	uint32_t stacks[TRUTH_STACKS]; /* index into words; 0: not in use */
	uint64_t words[TRUTH_WORDS];
};

static inline uint64_t truth_hash(uint64_t value)
{
	value *= UINT64_C(0x9E3779B97F4A7C15);
	return value ^ value >> 32;
}

/* The slot of the block, present or not. The table is never full. */
static inline uint64_t truth_slot(const struct truth_file *truth, uint64_t address)
{
	uint64_t slot = truth_hash(address) % TRUTH_BLOCKS;

	while (truth->blocks[slot].address && truth->blocks[slot].address != address)
		slot = (slot + 1) % TRUTH_BLOCKS;
	return slot;
}

#endif
