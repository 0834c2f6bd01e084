/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel family's part of the ABI (see leakmon_abi.h for the rules). */
#ifndef LEAKMON_KERNEL_H
#define LEAKMON_KERNEL_H

#include "leakmon_abi.h"

/* Which of the kernel's allocators: lm_site.kind. */
enum lm_kernel_kind {
	LM_KERNEL_KMALLOC, /* sizes as they were asked for */
	LM_KERNEL_CACHE,   /* kmem_cache_alloc: the size of the cache's objects */
	LM_KERNEL_PAGES,   /* a page << order; what may move belongs to processes: left out */
	LM_KERNEL_MAX_,
};

/* The kernel's ledger: the only process of a run with --kernel, and its slot. No process has PID 0.
 */
#define LM_KERNEL_KEY ((lm_process_key)1)
#define LM_KERNEL_SLOT 1u

#endif
