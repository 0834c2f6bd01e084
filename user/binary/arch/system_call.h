/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * System calls by number, and where a stopped thread's registers have them. `architecture` is
 * AUDIT_ARCH_... of the call (PTRACE_GET_SYSCALL_INFO): a processor may offer more than one table.
 */
#ifndef LEAKMON_ARCH_SYSTEM_CALL_H
#define LEAKMON_ARCH_SYSTEM_CALL_H

#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "binary/arch/machine.h"

/*
 * Whether EINTR of this call means that nothing was done: it can be made again. Not of close(2),
 * with its descriptor gone.
 */
bool system_call_can_be_repeated(uint32_t architecture, uint32_t number);

/* Whether a dynamic loader makes this call before it hands over: any other call is the program's
 * own code. */
bool system_call_is_of_loader(uint64_t number);

uint32_t system_call_number(const struct machine_registers *registers);

/* Result of the call that a thread leaves: -EINTR, ...; 0 also: it is in none. */
long system_call_result(const struct machine_registers *registers, uint32_t architecture);

/* Whether it may be one of those in some table: cheaper than asking for its architecture. */
bool system_call_may_return(const struct machine_registers *registers, long result);

/* The restart_syscall(2) that its seccomp filters would be shown, which would go on with it. */
struct seccomp_data system_call_restart(const struct machine_registers *registers,
					uint32_t architecture);

/* A call as it was before its thread's interruption. */
struct system_call_before {
	int number; /* -1: nothing */
	unsigned long long arguments[6], sp, ip;
};

/* Notes the call of a thread that may run. Reads nothing where the kernel keeps all that is
 * needed. */
void system_call_before(pid_t tid, struct system_call_before *before);

/*
 * Prepares a thread that stands (ptrace(2)), in a call that has failed with EINTR: it makes the
 * call again when it goes on, but for a handler that runs then. 0; -ENOTSUP: too little is known of
 * the call; -errno.
 */
int system_call_begin_again(pid_t tid, const struct machine_registers *registers,
			    const struct system_call_before *before);

/* Before such a thread goes on: a signal that came during the stop may have to end the call. */
void system_call_let_go(pid_t tid, const struct machine_registers *registers);

#endif
