/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel family's part of the ABI (see leakmon_abi.h for the rules). */
#ifndef LEAKMON_KERNEL_H
#define LEAKMON_KERNEL_H

#include "leakmon_abi.h"

/* lm_site.kind: the kernel allocator. */
enum lm_kernel_kind {
	LM_KERNEL_KMALLOC, /* requested sizes */
	LM_KERNEL_CACHE,   /* kmem_cache_alloc: the size of the cache's objects */
	LM_KERNEL_PAGES,   /* a page << order; movable pages belong to processes and are left out */
	LM_KERNEL_MAX_,
};

/*
 * The kernel's ledger: the only process of a run with --kernel, and its slot. No process has PID 0.
 */
#define LM_KERNEL_KEY ((lm_process_key)1)
#define LM_KERNEL_SLOT 1u

/*
 * Outstanding allocations of one kernel call stack on behalf of one process; sampled as `sites`
 * are. When all pairs are used, further allocations are charged to no process.
 */
#define LM_KERNEL_OWNERS_MAX 65536
struct lm_kernel_owner_key {
	__u32 site; /* index into `sites`; LM_SITE_LOST */
	__u32 tgid; /* 0: none, an interrupt of an idle CPU */
};
struct lm_kernel_owner {
	__s64 bytes, count;
	char comm[16]; /* at its first allocation from this stack */
};

#endif
