/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Everything the kernel side knows of x86-64; kernel.h has the contract. Sources: psABI x86-64 1.0,
 * Intel's manual, and the kernel's arch/x86.
 */
#ifndef LEAKMON_BPF_ARCH_X86_64_H
#define LEAKMON_BPF_ARCH_X86_64_H

#include "frame.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct thread_struct {
	unsigned long fsbase; /* its value when the thread last left the CPU */
};

struct thread_info {
	unsigned long syscall_work; /* enum syscall_work_bit */
	u32 status;		    /* arch/x86/include/asm/thread_info.h */
};

struct task_struct___x86 {
	struct thread_info thread_info;
	struct thread_struct thread;
};

#pragma clang attribute pop

/* include/linux/thread_info.h: relocated to the running kernel's value. */
enum syscall_work_bit {
	SYSCALL_WORK_BIT_SYSCALL_USER_DISPATCH = 5,
};

/* arch/x86/entry/syscalls/syscall_64.tbl */
#define NR_MMAP 9
#define NR_MUNMAP 11
#define NR_BRK 12
#define NR_MREMAP 25
/* arch/x86/entry/syscalls/syscall_32.tbl */
#define NR_COMPAT_BRK 45
#define NR_COMPAT_OLD_MMAP 90
#define NR_COMPAT_MUNMAP 91
#define NR_COMPAT_MREMAP 163
#define NR_COMPAT_MMAP 192

/* arch/x86/include/asm/thread_info.h: a 32-bit system call, with its own numbers */
#define TS_COMPAT 2

static __always_inline u64 syscall_number(const struct pt_regs *regs)
{
	return regs->orig_rax;
}

static __always_inline bool task_is_compat(const struct task_struct *task)
{
	return ((const struct task_struct___x86 *)task)->thread_info.status & TS_COMPAT;
}

static __always_inline bool syscall_is_mapping_compat(u64 number)
{
	return number == NR_COMPAT_MMAP || number == NR_COMPAT_OLD_MMAP ||
	       number == NR_COMPAT_MUNMAP || number == NR_COMPAT_BRK || number == NR_COMPAT_MREMAP;
}

static __always_inline bool task_dispatches(const struct task_struct *task)
{
	return ((const struct task_struct___x86 *)task)->thread_info.syscall_work >>
		       bpf_core_enum_value(enum syscall_work_bit,
					   SYSCALL_WORK_BIT_SYSCALL_USER_DISPATCH) &
	       1;
}

static __always_inline u64 task_thread_pointer(const struct task_struct *task)
{
	return ((const struct task_struct___x86 *)task)->thread.fsbase;
}

/* A call pushes the return address. */
static __always_inline u64 regs_link(const struct pt_regs *regs)
{
	(void)regs;
	return 0;
}

/* arch/x86/include/asm/segment.h: the privilege level, in the code segment. */
#define USER_RPL 3
#define regs_are_of_user(regs) (((regs)->cs & USER_RPL) == USER_RPL)

static __always_inline void regs_set(struct pt_regs *regs, u64 ip, u64 sp, u64 fp)
{
	regs->rip = ip;
	regs->rsp = sp;
	regs->rbp = fp;
}

/* A call has pushed the return address, followed by `words` words. */
static __always_inline u64 caller_sp(const struct pt_regs *ctx, u64 words)
{
	return PT_REGS_SP(ctx) + (words + 1) * sizeof(u64);
}

static __always_inline bool caller_address(const struct pt_regs *ctx, u64 words, u64 *address)
{
	return !bpf_probe_read_user(address, sizeof(*address),
				    (void *)(PT_REGS_SP(ctx) + words * sizeof(u64)));
}

/* A return probe replaces the return address on the stack. */
static __always_inline u64 return_probe_place(u64 caller_sp)
{
	return caller_sp - sizeof(u64);
}

static __always_inline bool return_probe_waits(u64 caller_sp, u64 trampoline)
{
	u64 found = 0;

	return !bpf_probe_read_user(&found, sizeof(found), (void *)return_probe_place(caller_sp)) &&
	       trampoline && found == trampoline;
}

/* The end of user space with five levels of page tables. */
#define USER_MAX_ADDRESS (1ull << 56)

/*
 * The kernel puts the trampoline of return probes on the last page of user space, if it is free
 * (kernel/events/uprobes.c, xol_add_vma): with four levels of page tables and with five, all these
 * bits are set. No other address need be considered.
 */
#define TRAMPOLINE_BITS 0x7ffffff00000ull

/* The stack pointer's number in instructions; register_at() skips it. */
#define STACK_POINTER 4

#define REGISTER(number, field)                                                                    \
	if (n == (number))                                                                         \
		value = ctx->field;                                                                \
	barrier_var(value)

/*
 * Returns a register by its number in instructions; the stack pointer never holds an argument. One
 * branch each, kept apart by barriers: merged, they would become a load at a computed offset of the
 * context, which the verifier refuses.
 */
static __noinline u64 register_at(struct pt_regs *ctx, u32 n)
{
	u64 value = 0;

	REGISTER(0, rax);
	REGISTER(1, rcx);
	REGISTER(2, rdx);
	REGISTER(3, rbx);
	REGISTER(5, rbp);
	REGISTER(6, rsi);
	REGISTER(7, rdi);
	REGISTER(8, r8);
	REGISTER(9, r9);
	REGISTER(10, r10);
	REGISTER(11, r11);
	REGISTER(12, r12);
	REGISTER(13, r13);
	REGISTER(14, r14);
	REGISTER(15, r15);
	return value;
}

#undef REGISTER

/* Intel SDM, volume 1, appendix B: the low four bits of a conditional jump's opcode. */
static __always_inline bool condition_holds(const struct pt_regs *ctx, u32 code)
{
	u64 flags = ctx->eflags;
	bool carry = flags & 0x1, parity = flags & 0x4, zero = flags & 0x40, sign = flags & 0x80,
	     overflow = flags & 0x800, holds = sign != overflow || zero;
	u32 kind = code >> 1;

	if (kind == 0)
		holds = overflow;
	else if (kind == 1)
		holds = carry;
	else if (kind == 2)
		holds = zero;
	else if (kind == 3)
		holds = carry || zero;
	else if (kind == 4)
		holds = sign;
	else if (kind == 5)
		holds = parity;
	else if (kind == 6)
		holds = sign != overflow;
	return holds != (code & 1);
}

#endif
