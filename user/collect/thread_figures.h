/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The threads of one process at the time of a snapshot, as plain numbers: how many live, and who
 * created those that ended and were never joined, which keep their stacks mapped.
 */
#ifndef LEAKMON_COLLECT_THREAD_FIGURES_H
#define LEAKMON_COLLECT_THREAD_FIGURES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"
#include "leakmon_abi.h"

/* Dead threads that one call stack created to run one function. */
struct dead_group {
	uint64_t count;
	uint64_t before_attach;		 /* of them: when these ended is not known */
	uint64_t oldest_ns, newest_ns;	 /* since the first and the last of the others ended */
	uint64_t stack_bytes;		 /* mapped, without stacks that the program provided */
	uint64_t resident_bytes;	 /* of these */
	uint64_t heap_bytes, heap_count; /* outstanding blocks that they allocated */
	uint64_t start_routine;		 /* address of the function that they ran; 0: not known */
	uint64_t *addresses;  /* pthread_create's caller first, see LM_FRAME_EXACT; owned */
	size_t depth;	      /* 0: created before the attach */
	enum lm_walk_end end; /* not ROOT: frames are missing behind the last one */
	uint32_t site; /* identifies the creating stack within this monitor's run; 0: not known */
};

struct thread_figures {
	uint64_t alive;
	bool counted;	 /* `alive` is known */
	bool followed;	 /* and so is everything else */
	bool exact;	 /* no thread was missed */
	char why[96];	 /* not followed, although it was tried: why; "" */
	uint64_t untold; /* ended since the attach, joined or not: not known, not in `dead` */
	uint64_t dead;	 /* ended, not joined, not detached */
	uint64_t dead_stack_bytes, dead_resident_bytes;
	uint64_t dead_heap_bytes, dead_heap_count;
	uint64_t created, joined, detached; /* since the attach */
	VEC(struct dead_group) groups;	    /* most threads first; their counts sum up to `dead` */
};

/* Fills in `alive`, if the process can still be asked. */
void thread_figures_count(struct thread_figures *threads, pid_t pid);
void thread_figures_free(struct thread_figures *threads);

#endif
