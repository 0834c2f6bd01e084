/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The descriptor family's part of the ABI (see leakmon_abi.h for the rules): the descriptor tables
 * of the followed processes, as the kernel changes them.
 *
 * A table is that of a process's main thread, and its ledger survives an exec: descriptors that an
 * exec does not close stay open. A slot outlives its descriptor and is reused with its number: a
 * closed slot means that the number was in use, and was closed, since the process has been
 * followed.
 */
#ifndef LEAKMON_DESCRIPTOR_H
#define LEAKMON_DESCRIPTOR_H

#include "leakmon_abi.h"

struct lm_descriptor_key {
	__u32 table; /* index into `descriptor_tables` */
	__u32 fd;
};

/* In place of the time of birth. */
#define LM_DESCRIPTOR_CLOSED 0ull
/* open before the process was followed, or before its latest exec */
#define LM_DESCRIPTOR_BEFORE 1ull

struct lm_descriptor {
	/* or LM_DESCRIPTOR_BEFORE or 0; whoever changes it first has counted the change */
	__u64 born_ns;
	__u32 site;	 /* index into `sites`; LM_SITE_LOST */
	__u32 by_worker; /* opened by an io_uring worker thread: no call stack */
};

/* Counts only grow. */
struct lm_descriptor_table {
	__u64 opened;
	__u64 closed;
	__u64 dropped; /* opened but not recorded: no room, or no memory */
	__u64 foreign; /* calls by threads with a private table: not counted */
	__u32 highest; /* highest number that has a slot */
	/* user space is entering the descriptors open before: closed ones get a slot */
	__u32 seeding;
	__u32 ended; /* its last thread has ended */
	__u32 padding_;
};

/*
 * Ages at close, in classes of powers of two: class 0 is below 2^LM_DESCRIPTOR_AGE_SHIFT ns (about
 * a millisecond), class N below twice class N - 1. The last class holds everything older.
 */
#define LM_DESCRIPTOR_AGES 32
#define LM_DESCRIPTOR_AGE_SHIFT 20

/* The counts of one call stack, in `descriptor_sites`, at its index in `sites`. */
struct lm_descriptor_site {
	lm_process_key process; /* owner of the counts, because sites are reused */
	__u64 opened;
	__u64 closed;
	__u32 closed_ages[LM_DESCRIPTOR_AGES]; /* of `closed`, by age at close */
};

/*
 * If the kernel's functions cannot be probed, system calls are watched instead: the effect of a
 * call on the table. User space maps their numbers.
 */
enum lm_descriptor_call {
	LM_CALL_OTHER,
	LM_CALL_OPEN,	    /* returns a new descriptor */
	LM_CALL_MAY_OPEN,   /* the result may be a descriptor, new or not */
	LM_CALL_PAIR,	    /* stores two descriptors at its first argument */
	LM_CALL_SOCKETPAIR, /* stores two descriptors at its fourth argument */
	LM_CALL_SIGNALFD,
	LM_CALL_FCNTL,	      /* F_DUPFD */
	LM_CALL_DUPLICATE,    /* dup2, dup3 */
	LM_CALL_RECEIVE,      /* recvmsg: SCM_RIGHTS */
	LM_CALL_RECEIVE_MANY, /* recvmmsg */
	LM_CALL_CLONE,	      /* CLONE_PIDFD */
	LM_CALL_CLONE3,
	LM_CALL_CLOSE,
	LM_CALL_CLOSE_RANGE,
};

#define LM_DESCRIPTOR_CALLS 512 /* numbers of system calls; a power of two */

_Static_assert(sizeof(struct lm_descriptor_key) == 8, "ABI");
_Static_assert(sizeof(struct lm_descriptor) == 16, "ABI");
_Static_assert(sizeof(struct lm_descriptor_table) == 48, "ABI");
_Static_assert(sizeof(struct lm_descriptor_site) == 24 + 4 * LM_DESCRIPTOR_AGES, "ABI");

#endif
