/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Objects that the kernel allocates while it works for one process: the part of the ABI of
 * bpf/object.bpf.c (see leakmon_abi.h for the rules).
 */
#ifndef LEAKMON_OBJECT_H
#define LEAKMON_OBJECT_H

#include "leakmon_abi.h"

#define LM_OBJECT_CACHE_SIZE 32

/* Objects that have not been freed, by address. */
struct lm_object {
	__u64 caller; /* the kernel instruction that allocated it */
	__u32 site;   /* the process's own call stack: index into `sites`; LM_SITE_LOST */
	__u32 size;
};

/* Sums over the objects, by allocating code. */
struct lm_object_key {
	__u64 caller;
	__u32 site;
	__u32 padding_;
};

struct lm_object_sum {
	__s64 bytes, count;		  /* not freed */
	__u64 allocated;		  /* all objects so far, including freed ones */
	char cache[LM_OBJECT_CACHE_SIZE]; /* its slab cache; "": kmalloc */
};
_Static_assert(sizeof(struct lm_object_sum) == 56, "no hidden padding");

/* One per CPU. */
struct lm_object_counts {
	__u64 births;	/* of the process, followed */
	__u64 missed;	/* an interrupt or another thread allocated during a count on that CPU */
	__u64 dropped;	/* no room */
	__u64 spent_ns; /* on births */
	__u32 busy;
	__u32 padding_;
};

/* Frees seen on the whole machine, per CPU; CPUs beyond the last counter share. */
#define LM_OBJECT_FREE_COUNTERS 128
struct lm_object_frees {
	__u64 frees, padding_[7]; /* one cache line */
};

#define LM_OBJECTS_MAX (1u << 18)
#define LM_OBJECT_SUMS_MAX 1024
#define LM_OBJECT_CHILDREN_MAX 16384

#endif
