/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The descriptor family's part of the ABI (see leakmon_abi.h for the rules): the descriptor tables
 * of the followed processes, as the kernel changes them.
 *
 * A table is that of a process' main thread, and its ledger goes on over an exec: what an exec does
 * not close stays open. Slots are kept when a descriptor is closed, and used again with its number:
 * a closed slot means that the number was in use, and was closed, since the process is followed.
 */
#ifndef LEAKMON_DESCRIPTOR_H
#define LEAKMON_DESCRIPTOR_H

#include "leakmon_abi.h"

struct lm_descriptor_key {
	__u32 table; /* index into `descriptor_tables` */
	__u32 fd;
};

/* Instead of the time of its birth: */
#define LM_DESCRIPTOR_CLOSED 0ull
#define LM_DESCRIPTOR_BEFORE 1ull /* open before the process was followed, or replaced itself */

struct lm_descriptor {
	__u64 born_ns;	 /* or one of the above: what changes it first has counted it */
	__u32 site;	 /* index into `sites`; LM_SITE_LOST */
	__u32 by_worker; /* io_uring's own thread opened it: there is no call stack */
};

/* Counts only grow. */
struct lm_descriptor_table {
	__u64 opened;
	__u64 closed;
	__u64 dropped; /* opened, and not kept: no room, or no memory */
	__u64 foreign; /* calls of threads with a table of their own: not counted */
	__u32 highest; /* number that a slot is kept for */
	__u32 seeding; /* user space is entering what was open before: closed ones get a slot */
	__u32 ended;   /* its last thread has gone */
	__u32 padding_;
};

/* Ages at a close, in classes of powers of two: class 0 is below 2^LM_DESCRIPTOR_AGE_SHIFT ns
 * (about a millisecond), class N below twice class N - 1. The last class holds all that is
 * older. */
#define LM_DESCRIPTOR_AGES 32
#define LM_DESCRIPTOR_AGE_SHIFT 20

/* Of one call stack, in `descriptor_sites`, at its index in `sites`. */
struct lm_descriptor_site {
	lm_process_key process; /* owner of the counts: sites are used again */
	__u64 opened;
	__u64 closed;
	__u32 closed_ages[LM_DESCRIPTOR_AGES]; /* of `closed`, by their age then */
};

/*
 * Where the kernel lets nobody watch its functions, system calls are watched: what a call does to
 * the table. User space knows the numbers.
 */
enum lm_descriptor_call {
	LM_CALL_OTHER,
	LM_CALL_OPEN,	    /* returns one */
	LM_CALL_MAY_OPEN,   /* what it returns is one, new or not, or something else */
	LM_CALL_PAIR,	    /* puts two where its first argument points */
	LM_CALL_SOCKETPAIR, /* its fourth */
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
