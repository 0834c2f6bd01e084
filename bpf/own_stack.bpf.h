/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Programs of uprobes that keep the stack of the thread that they run in.
 *
 * Since 6.13 a program of their type has one stack for each processor, if it needs 64 bytes of it
 * (bpf_enable_priv_stack(), kernel/bpf/verifier.c): right for kprobes, where nothing comes between.
 * But a uprobe's program is preempted where the kernel is (PREEMPT_LAZY, the default from 7.0 on;
 * preempt=full): then that of another thread goes on with the same stack, and numbers and pointers
 * of the two get mixed up. A program with a tail call has none; the verifier takes out this one,
 * which is never made.
 */
#ifndef LEAKMON_BPF_OWN_STACK_H
#define LEAKMON_BPF_OWN_STACK_H

#include "kernel.h"

const volatile bool never __weak = false;

/* In the program itself, not in a function that it calls. */
static __always_inline void keep_own_stack(struct pt_regs *ctx)
{
	if (never)
		bpf_tail_call(ctx, NULL, 0);
}

#endif
