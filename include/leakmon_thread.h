/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The threads family's share of leakmon_abi.h: shared by bpf/thread.bpf.c and user/threads.
 *
 * A thread is on the ledger from its creation until it is reaped (joined, or ended while detached).
 * An entry with `died_ns` is a dead thread: it ended, and its pthread_t was never released.
 */
#ifndef LEAKMON_THREAD_H
#define LEAKMON_THREAD_H

#include "leakmon_abi.h"

/* Never used twice, unlike tids and pthread_ts. Those that user space gives have the high bit. */
typedef __u64 lm_thread_id;
#define LM_THREAD_SEEDED (1ull << 63)

enum lm_thread_flag {
	LM_THREAD_DETACHED = 1,
	LM_THREAD_OWN_STACK = 2,     /* its stack is memory that the program gave (attribute) */
	LM_THREAD_BEFORE_ATTACH = 4, /* made before the probes were there */
	LM_THREAD_JOINING = 8,	     /* a join was begun; it may have been in vain */
	LM_THREAD_DETACHING = 16,    /* the same of a detach */
};

struct lm_thread {
	lm_process_key process;
	__u64 handle;  /* its pthread_t: at, or below, the thread pointer (psABI) */
	__u64 born_ns; /* 0: not known */
	__u64 died_ns; /* 0: it lives, or (BEFORE_ATTACH with tid 0) it ended before the attach */
	__u64 start_routine;
	__u32 tid;   /* initial PID namespace; 0: ended before the attach */
	__u32 site;  /* of pthread_create; LM_SITE_LOST: not known */
	__u32 flags; /* enum lm_thread_flag */
	__u32 padding_;
	char name[16]; /* as it ended (pthread_setname_np); "" until then, and BEFORE_ATTACH */
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
	__u64 failed;	       /* pthread_create gave up after the thread was there */
	__u64 reaped_unseen;   /* their pthread_t came back while they were on the ledger */
	__u64 dropped;	       /* not on the ledger: no room */
	__u64 untracked_joins; /* of threads that are not on the ledger */
	__u64 untracked_ends;
};

/* A thread as seen by the kernel: a record of bpf/thread_list.bpf.c. */
enum lm_task_flag {
	LM_TASK_EXITING = 1,	    /* it will not run any more code of its own */
	LM_TASK_WITHOUT_MEMORY = 2, /* and has given up its address space */
};

struct lm_task {
	lm_process_key process; /* not of WITHOUT_MEMORY */
	__u32 tid, inner_tid;	/* in the initial PID namespace; in its own one, 0: it is gone */
	__u32 flags;		/* enum lm_task_flag */
	__u32 padding_;
};

/*
 * How to read a pthread_attr_t, by which C library made it: the attach cookie of pthread_create.
 * The fields are four bytes wide. And how far below the thread pointer a pthread_t is, in bytes.
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
