/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parts of thread_blocks.c share. */
#ifndef LEAKMON_RETAIN_THREAD_BLOCKS_FINDER_H
#define LEAKMON_RETAIN_THREAD_BLOCKS_FINDER_H

#include "retain/thread_blocks.h"

#define USER_ADDRESSES (1ull << 47)

struct thread_finder {
	const struct picture *picture;
	const struct data_modules *modules;
	const struct data_module *library; /* that has glibc's descriptors, or NULL */
	struct peek *peek;
	struct thread_blocks *blocks;
	size_t slots;	  /* seen so far */
	bool has_program; /* the program's own thread-locals were found */
};

/* Of a module, in glibc's list. */
struct thread_slot {
	size_t number;
	uint64_t generation, map; /* struct link_map; 0: it is free */
};

/* One that does not lie in writable memory is left out. 0 or -ENOMEM. */
int thread_finder_add(struct thread_finder *finder, const struct thread_block *block);

/*
 * Each thread's block of a module. `below`: how far below the thread pointer it lies; 0: the
 * vectors tell, by the module's slot. 0 or -ENOMEM.
 */
int thread_finder_add_module(struct thread_finder *finder, const struct data_module *module,
			     uint64_t below, const struct thread_slot *slot);

/* From finder->library: what glibc keeps of each thread; all modules' blocks. 0 or -ENOMEM. */
int thread_finder_add_threads(struct thread_finder *finder);
int thread_finder_add_slots(struct thread_finder *finder, const struct data_module *program);

#endif
