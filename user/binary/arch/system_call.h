/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * System calls by number, and their registers in a stopped thread. `architecture` is AUDIT_ARCH_...
 * of the call (PTRACE_GET_SYSCALL_INFO): a processor may offer more than one table.
 */
#ifndef LEAKMON_ARCH_SYSTEM_CALL_H
#define LEAKMON_ARCH_SYSTEM_CALL_H

#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "binary/arch/machine.h"

/*
 * Returns whether EINTR of this call means that it had no effect, so that it can be repeated.
 * close(2) cannot: its descriptor is gone.
 */
bool system_call_can_be_repeated(uint32_t architecture, uint32_t number);

/*
 * Returns whether a dynamic loader makes this call before it starts the program: any other call is
 * the program's own.
 */
bool system_call_is_of_loader(uint64_t number);

uint32_t system_call_number(const struct machine_registers *registers);

/* Returns the result of the call that a thread is leaving: -EINTR, ...; 0 also if it is in none. */
long system_call_result(const struct machine_registers *registers, uint32_t architecture);

/*
 * Returns whether the result may be this one in some table: cheaper than asking for the
 * architecture.
 */
bool system_call_may_return(const struct machine_registers *registers, long result);

/* Returns the restart_syscall(2) that its seccomp filters would see if it continued so. */
struct seccomp_data system_call_restart(const struct machine_registers *registers,
					uint32_t architecture);

/* A call before its thread was interrupted. */
struct system_call_before {
	int number; /* -1: unknown */
	unsigned long long arguments[6], sp, ip;
};

/*
 * Records the call of a thread that may be running. Reads nothing on processors whose kernel keeps
 * all that is needed.
 */
void system_call_before(pid_t tid, struct system_call_before *before);

/*
 * Prepares a stopped thread (ptrace(2)) whose call has failed with EINTR: it repeats the call when
 * resumed, after any signal handler. Returns 0; -ENOTSUP: too little is known of the call; -errno.
 */
int system_call_begin_again(pid_t tid, const struct machine_registers *registers,
			    const struct system_call_before *before);

/*
 * To be called before such a thread is resumed: a signal that came during the stop may have to end
 * the call.
 */
void system_call_let_go(pid_t tid, const struct machine_registers *registers);

#endif
