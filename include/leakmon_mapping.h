/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The mapping family's part of the ABI (see leakmon_abi.h for the rules): effects of the system
 * calls that change an address space, as ordered events.
 *
 * Removals are reported when the call begins, additions after its return: a thread can only get a
 * range that another thread's call has freed by then, so the events are in the order of the
 * kernel's actions. A call that removed something is always followed, on the same thread, by
 * LM_MAPPING_DONE, _FAILED, _INSERT or _MOVE; _FAILED voids its removals.
 *
 * 64-bit programs hardly ever make 32-bit calls (int $0x80). These are counted, not followed.
 */
#ifndef LEAKMON_MAPPING_H
#define LEAKMON_MAPPING_H

#include "leakmon_abi.h"

enum lm_mapping_op {
	LM_MAPPING_REMOVE = 1, /* begins to unmap [start, start + length) */
	LM_MAPPING_LIFT,       /* mremap begins to move or resize it */
	LM_MAPPING_INSERT,     /* [start, start + length) was mapped */
	LM_MAPPING_MOVE,       /* the lifted range (old_*) is now at start, length bytes long */
	LM_MAPPING_COPY,       /* as MOVE, but the lifted range stays mapped (MREMAP_DONTUNMAP) */
	LM_MAPPING_DONE,       /* the call returned; nothing new is mapped */
	LM_MAPPING_FAILED,     /* the call returned an error */
	LM_MAPPING_UNTOLD,     /* a 32-bit call made unknown changes: reread /proc/PID/maps */
};

/* The purpose of a range. */
enum lm_mapping_kind {
	LM_KIND_MAPPING,      /* anonymous memory */
	LM_KIND_FILE,	      /* a file's pages */
	LM_KIND_RESERVATION,  /* PROT_NONE when mapped: address space, no memory yet */
	LM_KIND_THREAD_STACK, /* MAP_STACK */
	LM_KIND_ARENA, /* mapped from inside an allocator: its blocks belong to the heap family */
	LM_KIND_BRK,   /* the program break, moved by the program itself */
	LM_KIND_MAX_,
};

struct lm_mapping_event {
	__u32 op; /* enum lm_mapping_op */
	__u32 tid;
	lm_process_key process;
	__u64 start, length;
	__u64 old_start, old_length; /* LM_MAPPING_MOVE, LM_MAPPING_COPY */
	__u64 time_ns;
	__u32 site; /* INSERT, MOVE, COPY: index into `sites` */
	__u32 kind; /* INSERT, MOVE, COPY: enum lm_mapping_kind */
};

_Static_assert(sizeof(struct lm_mapping_event) == 64, "ABI");

#endif
