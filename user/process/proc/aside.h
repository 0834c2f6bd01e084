/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A helper process that makes system calls for one of leakmon's threads, one at a time. It shares
 * leakmon's memory and descriptors, but can be killed alone: a call that hangs in the kernel does
 * not hang leakmon.
 *
 * It ends with the thread that started it, and with leakmon. One thread calls at a time; another
 * may supervise it (aside_look(), aside_kill()).
 */
#ifndef LEAKMON_PROC_ASIDE_H
#define LEAKMON_PROC_ASIDE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define ASIDE_STACK_BYTES (16u << 10)

/* Zero-initialised: no process yet. Must not be moved. */
struct aside {
	_Atomic pid_t pid; /* 0: none */
	pid_t parent;
	_Atomic uint32_t state;		   /* a futex */
	long number, arguments[6], result; /* of the call */
	long own_arguments[6];
	_Alignas(16) char stack[ASIDE_STACK_BYTES];
};

/*
 * Makes the call, starting a process if there is none. Returns 0: *result has the call's result, or
 * its -errno; -ECHILD: the process was killed meanwhile; -errno of clone(2): the call was not made.
 */
int aside_call(struct aside *aside, long number, const long arguments[6], long *result);

/* Kills the process in its call; the kernel may take a while. */
void aside_kill(struct aside *aside);

/*
 * Returns whether it is in a call, and alive. Must be called now and then: it wakes a caller whose
 * process was killed.
 */
bool aside_look(struct aside *aside);

/*
 * Ends the process, which must be in no call, and waits for its end: then no other process has
 * leakmon's descriptors.
 */
void aside_end(struct aside *aside);

#endif
