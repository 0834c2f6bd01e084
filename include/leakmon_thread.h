/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The threads family's part of the ABI (see leakmon_abi.h for the rules), shared by
 * bpf/thread.bpf.c and user/threads.
 *
 * A thread is on the ledger from its creation until it is reaped (joined, or ended while detached).
 * An entry with `died_ns` is a dead thread: it ended, and its pthread_t was never released.
 */
#ifndef LEAKMON_THREAD_H
#define LEAKMON_THREAD_H

#include "leakmon_abi.h"

/* Never reused, unlike tids and pthread_ts. Ids assigned by user space have the high bit. */
typedef __u64 lm_thread_id;
#define LM_THREAD_SEEDED (1ull << 63)

enum lm_thread_flag {
	LM_THREAD_DETACHED = 1,
	LM_THREAD_OWN_STACK = 2,     /* its stack is memory that the program supplied (attribute) */
	LM_THREAD_BEFORE_ATTACH = 4, /* created before the attach */
	LM_THREAD_JOINING = 8,	     /* a join has begun; it may have failed */
	LM_THREAD_DETACHING = 16,    /* a detach has begun; it may have failed */
};

struct lm_thread {
	lm_process_key process;
	__u64 handle;  /* its pthread_t: at, or below, the thread pointer (psABI) */
	__u64 born_ns; /* 0: unknown */
	__u64 died_ns; /* 0: alive, or (BEFORE_ATTACH with tid 0) ended before the attach */
	__u64 start_routine;
	__u32 tid;   /* initial PID namespace; 0: ended before the attach */
	__u32 site;  /* of pthread_create; LM_SITE_LOST: unknown */
	__u32 flags; /* enum lm_thread_flag */
	__u32 padding_;
	/* when it ended (pthread_setname_np); "" while it lives, and if BEFORE_ATTACH */
	char name[16];
};

struct lm_thread_handle {
	__u64 handle;
	lm_process_key process;
};

/* Events of the threads of one process since the attach; only grows. */
struct lm_thread_ledger {
	__u64 created;
	__u64 ended;
	__u64 joined;
	__u64 detached;	       /* by attribute or by call, before or after the end */
	__u64 failed;	       /* pthread_create failed after the clone */
	__u64 reaped_unseen;   /* their pthread_t was reused while they were on the ledger */
	__u64 dropped;	       /* not on the ledger: no room */
	__u64 untracked_joins; /* of threads that are not on the ledger */
	__u64 untracked_ends;
};

/* A thread as the kernel sees it: a record of bpf/thread_list.bpf.c. */
enum lm_task_flag {
	LM_TASK_EXITING = 1,	    /* it will run no more code of the program */
	LM_TASK_WITHOUT_MEMORY = 2, /* it has released its address space, too */
};

struct lm_task {
	lm_process_key process; /* not valid WITHOUT_MEMORY */
	__u32 tid, inner_tid;	/* in the initial PID namespace; in its innermost one, 0: gone */
	__u32 flags;		/* enum lm_task_flag */
	__u32 padding_;
};

/*
 * The attach cookie of pthread_create: the offsets and masks of a pthread_attr_t of one C library,
 * whose fields are four bytes wide, and the distance of a pthread_t below the thread pointer, in
 * bytes.
 */
#define LM_ATTR_COOKIE(detach_at, detach_mask, stack_at, stack_mask)                               \
	((__u64)(detach_at) | (__u64)(stack_at) << 8 | (__u64)(detach_mask) << 16 |                \
	 (__u64)(stack_mask) << 32)
#define LM_ATTR_SELF_SHIFT 48
#define LM_ATTR_SELF_MAX 0xffff

_Static_assert(sizeof(struct lm_thread) == 72, "ABI");
_Static_assert(sizeof(struct lm_task) == 24, "ABI");
_Static_assert(sizeof(struct lm_thread_handle) == 16, "ABI");
_Static_assert(sizeof(struct lm_thread_ledger) == 72, "ABI");

#endif
