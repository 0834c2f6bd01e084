/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A process that makes system calls for a thread of ours, one at a time. It has our memory and our
 * descriptors, but can be ended alone: what it waits for in the kernel does not hold us.
 *
 * It dies with the thread that started it, and with us. One thread calls at a time; another one may
 * watch it (aside_look(), aside_kill()).
 */
#ifndef LEAKMON_PROC_ASIDE_H
#define LEAKMON_PROC_ASIDE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define ASIDE_STACK_BYTES (16u << 10)

/* All zero: it has no process yet. Must stay where it is. */
struct aside {
	_Atomic pid_t pid; /* 0: none */
	pid_t parent;
	_Atomic uint32_t state;		   /* a futex */
	long number, arguments[6], result; /* of the call */
	long own_arguments[6];
	_Alignas(16) char stack[ASIDE_STACK_BYTES];
};

/*
 * Makes the call, and starts a process for it where there is none. 0: *result has what the call
 * returned, or its -errno; -ECHILD: the process was ended meanwhile; -errno of clone(2): nothing
 * was called.
 */
int aside_call(struct aside *aside, long number, const long arguments[6], long *result);

/* Ends the process in its call; it may take the kernel a while. */
void aside_kill(struct aside *aside);

/* Whether it is in a call, and alive. Must be looked at now and then: a caller of one that was
 * ended waits for this. */
bool aside_look(struct aside *aside);

/* Ends the process, which is in no call, and waits for that: nobody else has our descriptors
 * then. */
void aside_end(struct aside *aside);

#endif
