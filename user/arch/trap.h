/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the kernel does with an instruction that carries a uprobe breakpoint, decided on its bytes
 * as arch/x86/kernel/uprobes.c does (is_prefix_bad, branch_setup_xol_ops, push_setup_xol_ops).
 * Where kernels since 6.1 differ, the answer is the worse one.
 */
#ifndef LEAKMON_ARCH_TRAP_H
#define LEAKMON_ARCH_TRAP_H

#include <stddef.h>
#include <stdint.h>

enum trap_kind {
	TRAP_REFUSED,  /* by some kernel: bad prefix, 66 90, VEX, a breakpoint already */
	TRAP_HARMFUL,  /* 5-byte nop: kernels that make it a call can kill a forked child */
	TRAP_STEPPED,  /* single-stepped out of line: a second trap */
	TRAP_NOP,      /* multi-byte nop: emulated by newer kernels, stepped by older ones */
	TRAP_EMULATED, /* one trap on every kernel */
};

/* `length` is that of the one instruction at `code`, 1 to 15. */
enum trap_kind trap_classify(const uint8_t *code, size_t length);

#endif
