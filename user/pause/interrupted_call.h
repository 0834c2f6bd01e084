/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * System calls that a stop has interrupted (signal(7), "Interruption of system calls ... by stop
 * signals"; kernel: arch_do_signal_or_restart()).
 *
 * Most go on by themselves when the thread does. Two kinds do not: some fail with EINTR, though no
 * signal was there; and those that go on through restart_syscall(2) end as a seccomp filter wills
 * that does not know that call. Both are made to begin again as the kernel does where no handler
 * ran, and still fail with EINTR where one does (-ERESTARTNOHAND): relative time limits begin anew.
 */
#ifndef LEAKMON_PAUSE_INTERRUPTED_CALL_H
#define LEAKMON_PAUSE_INTERRUPTED_CALL_H

#include <linux/filter.h>
#include <sys/types.h>
#include <sys/user.h>

/*
 * Of a thread that stands (ptrace(2)), with its registers as PTRACE_GETREGS gives them. `program`
 * has room for BPF_MAXINSNS instructions. 1: its call will begin again; 0: nothing is to do;
 * -errno: it could not be done.
 */
int interrupted_call_mend(pid_t tid, const struct user_regs_struct *registers,
			  struct sock_filter *program);

#endif
