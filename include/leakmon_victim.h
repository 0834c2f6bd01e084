/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Events of the victim family: OOM-killed processes of the whole machine. */
#ifndef LEAKMON_VICTIM_H
#define LEAKMON_VICTIM_H

#include "leakmon_abi.h"

struct lm_victim {
	__u32 pid;	/* before Linux 6.9, of the chosen thread: usually the main one */
	__u32 has_task; /* the fields below are known (from 6.9 on) */
	/* Pages when it was chosen; each CPU may hold back a few dozen (percpu counters). */
	__u64 file, anon, swap, shmem;
	__u64 page_tables; /* in bytes, not pages */
	char comm[16];	   /* untrusted */
};

_Static_assert(sizeof(struct lm_victim) == 64, "ABI");

#endif
