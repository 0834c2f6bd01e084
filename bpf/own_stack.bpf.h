/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes uprobe programs use the stack of the thread that they run in.
 *
 * Since 6.13 a program of this type has one stack per processor, if it needs at least 64 bytes
 * (bpf_enable_priv_stack(), kernel/bpf/verifier.c). That is correct for kprobes, which cannot be
 * preempted. But a uprobe's program is preempted where the kernel is (PREEMPT_LAZY, the default
 * from 7.0 on; preempt=full): another thread's program then continues on the same stack, and the
 * two overwrite each other's numbers and pointers. A program with a tail call gets no such stack;
 * the verifier removes this tail call, which never runs.
 */
#ifndef LEAKMON_BPF_OWN_STACK_H
#define LEAKMON_BPF_OWN_STACK_H

#include "kernel.h"

const volatile bool never __weak = false;

/* Must be in the program itself, not in a function that it calls. */
static __always_inline void keep_own_stack(struct pt_regs *ctx)
{
	if (never)
		bpf_tail_call(ctx, NULL, 0);
}

#endif
