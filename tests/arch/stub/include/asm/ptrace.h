/* SPDX-License-Identifier: GPL-2.0-or-later */
/* In place of the kernel's: registers only by libbpf's names (PT_REGS_...; here riscv's). */
#ifndef LEAKMON_TESTS_ARCH_STUB_ASM_PTRACE_H
#define LEAKMON_TESTS_ARCH_STUB_ASM_PTRACE_H

struct pt_regs {
	unsigned long stub[34];
};

struct user_regs_struct {
	unsigned long pc, ra, sp, s0, a0, a1, a2, a3, a4, a5, a6, a7;
};

#endif
