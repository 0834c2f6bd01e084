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
	/* io_uring: a buffer or structure that a request in flight works on */
	LM_HELD_URING_ARGUMENT,
	LM_HELD_URING_UNREAD, /* io_uring: user_data not yet submitted, or not yet reaped */
	LM_HELD_URING_BUFFER, /* a registered buffer */
	LM_HELD_AIO,	      /* io_submit(2): the iocb and its aio_data */
	LM_HELD_QUEUE_NOTICE, /* mq_notify(3): sigev_value */
	LM_HELD_MAX_
};

struct lm_held_word {
	__u64 value;  /* untrusted */
	__u64 owner;  /* identifies a kernel object; no other meaning */
	__u32 kind;   /* enum lm_held_kind */
	__s32 number; /* descriptor; -1: none */
};

_Static_assert(sizeof(struct lm_held_word) == 24, "ABI");

/* Room for one reading; 3 MiB. */
#define LM_HELD_WORDS (1u << 17)

/* Requests that the kernel counts; those not found may hold more addresses. */
struct lm_held_counts {
	__s64 uring, aio; /* in flight */
	__u32 words;	  /* written, plus those without room */
	__u32 rings;	  /* io_uring instances met; some may repeat */
	/* threads, and contexts, whose requests could not be counted */
	__u32 uring_uncounted, aio_uncounted;
	__u32 process_seen; /* the process's signals and AIO were read */
};

#endif
