/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records of the held family: addresses that the kernel keeps for a process. */
#ifndef LEAKMON_HELD_H
#define LEAKMON_HELD_H

#include "leakmon_abi.h"

enum lm_held_kind {
	LM_HELD_SIGNAL_STACK,	/* sigaltstack(2) */
	LM_HELD_ROBUST_FUTEXES, /* set_robust_list(2) */
	LM_HELD_RSEQ,		/* rseq(2) */
	LM_HELD_CHILD_TID,	/* set_tid_address(2), clone(2) with CLONE_CHILD_CLEARTID */
	LM_HELD_SYSCALL_FILTER, /* prctl(2), PR_SET_SYSCALL_USER_DISPATCH: the selector */
	LM_HELD_SIGNAL,		/* a pending signal's value: sigqueue(3), timers */
	LM_HELD_URING_REQUEST,	/* io_uring: user_data of a request in flight */
	LM_HELD_URING_ARGUMENT, /* likewise: a buffer or a structure that it works on */
	LM_HELD_URING_UNREAD,	/* user_data that is not submitted, or not reaped yet */
	LM_HELD_URING_BUFFER,	/* a registered buffer */
	LM_HELD_AIO,		/* io_submit(2): the iocb and its aio_data */
	LM_HELD_QUEUE_NOTICE,	/* mq_notify(3): sigev_value */
	LM_HELD_MAX_
};

struct lm_held_word {
	__u64 value;  /* untrusted */
	__u64 owner;  /* tells objects of the kernel apart, and means nothing else */
	__u32 kind;   /* enum lm_held_kind */
	__s32 number; /* the descriptor; -1: none */
};

_Static_assert(sizeof(struct lm_held_word) == 24, "ABI");

/* What one reading holds; 3 MiB. */
#define LM_HELD_WORDS (1u << 17)

/* Requests that the kernel counts: what was not found of them may hold more. */
struct lm_held_counts {
	__s64 uring, aio; /* in flight */
	__u32 words;	  /* written, or not for want of room */
	__u32 rings;	  /* io_uring instances met, some of them more than once */
	__u32 uring_uncounted, aio_uncounted; /* threads, and contexts, with requests that could not
					       * be counted */
	__u32 process_seen;		      /* its signals and its AIO were looked at */
};

#endif
