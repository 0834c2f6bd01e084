/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Everything the kernel side knows of arm64; kernel.h has the contract. Sources: AAPCS64, and the
 * kernel's arch/arm64.
 */
#ifndef LEAKMON_BPF_ARCH_ARM64_H
#define LEAKMON_BPF_ARCH_ARM64_H

#include "frame.h"

/*
 * The part that user space sees (include/uapi/asm/ptrace.h), and the kernel's own part behind it.
 */
struct pt_regs {
	struct user_pt_regs user_regs;
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct pt_regs___call {
	int syscallno;
};

/* arch/arm64/include/asm/processor.h: the kernel's struct has no name. */
struct thread_struct {
	struct {
		unsigned long tp_value; /* its value when the thread last left the CPU */
	} uw;
};

struct thread_info {
	unsigned long flags;
};

/* Exists with the kernel's common entry code. */
struct thread_info___generic {
	unsigned long syscall_work;
};

struct task_struct___arm64 {
	struct thread_info thread_info;
	struct thread_struct thread;
};

struct task_struct___generic {
	struct thread_info___generic thread_info;
};

#pragma clang attribute pop

/* include/linux/thread_info.h: relocated to the running kernel's value. */
enum syscall_work_bit {
	SYSCALL_WORK_BIT_SYSCALL_USER_DISPATCH = 5,
};

/* include/uapi/asm-generic/unistd.h */
#define NR_BRK 214
#define NR_MUNMAP 215
#define NR_MREMAP 216
#define NR_MMAP 222
/* arch/arm64/include/asm/unistd32.h */
#define NR_COMPAT_BRK 45
#define NR_COMPAT_MUNMAP 91
#define NR_COMPAT_MREMAP 163
#define NR_COMPAT_MMAP 192

/* arch/arm64/include/asm/thread_info.h: a 32-bit program, with its own numbers */
#define TIF_32BIT 22

static __always_inline u64 syscall_number(const struct pt_regs *regs)
{
	return (u64)(s64)((const struct pt_regs___call *)regs)->syscallno;
}

static __always_inline bool task_is_compat(const struct task_struct *task)
{
	return ((const struct task_struct___arm64 *)task)->thread_info.flags >> TIF_32BIT & 1;
}

static __always_inline bool syscall_is_mapping_compat(u64 number)
{
	return number == NR_COMPAT_MMAP || number == NR_COMPAT_MUNMAP || number == NR_COMPAT_BRK ||
	       number == NR_COMPAT_MREMAP;
}

static __always_inline bool task_dispatches(const struct task_struct *task)
{
	const struct task_struct___generic *generic = (const void *)task;

	if (!bpf_core_field_exists(generic->thread_info.syscall_work))
		return false;
	return generic->thread_info.syscall_work >>
		       bpf_core_enum_value(enum syscall_work_bit,
					   SYSCALL_WORK_BIT_SYSCALL_USER_DISPATCH) &
	       1;
}

static __always_inline u64 task_thread_pointer(const struct task_struct *task)
{
	return ((const struct task_struct___arm64 *)task)->thread.uw.tp_value;
}

/* x30, stripped of any signature. */
static __always_inline u64 regs_link(const struct pt_regs *regs)
{
	return regs->user_regs.regs[30] & machine_frame.code_mask;
}

/* arch/arm64/include/uapi/asm/ptrace.h: the exception level, in the saved state. */

#define regs_are_of_user(regs)                                                                     \
	((((const struct user_pt_regs *)(regs))->pstate & PSR_MODE_MASK) == PSR_MODE_EL0t)

static __always_inline void regs_set(struct pt_regs *regs, u64 ip, u64 sp, u64 fp)
{
	regs->user_regs.pc = ip;
	regs->user_regs.sp = sp;
	regs->user_regs.regs[29] = fp;
	regs->user_regs.regs[30] = 0;
}

/* A call leaves the stack pointer unchanged. */
static __always_inline u64 caller_sp(const struct pt_regs *ctx, u64 words)
{
	return PT_REGS_SP(ctx) + words * sizeof(u64);
}

/*
 * Probes are placed only where the address is still, or again, in x30: `words` is 0
 * (binary/arch/arm64/effects.c).
 */
static __always_inline bool caller_address(const struct pt_regs *ctx, u64 words, u64 *address)
{
	*address = regs_link(ctx);
	return !words && *address;
}

/* arch/arm64/kernel/probes/uprobes.c: the stack pointer at the function's entry */
static __always_inline u64 return_probe_place(u64 caller_sp)
{
	return caller_sp;
}

/* The end of user space for programs that ask for 52-bit addresses. */
#define USER_MAX_ADDRESS (1ull << 52)

/*
 * The kernel puts the trampoline of return probes on the last page of user space, if it is free
 * (kernel/events/uprobes.c, xol_add_vma): with pages of 4 to 64 KiB, and 39 to 52 address bits, all
 * these bits are set. No other address need be considered.
 */
#define TRAMPOLINE_BITS 0x7fffff0000ull

/* Depth to which nested calls under return probes are followed; an inner call is always near. */
#define RETURNS_SEEN 16
#define RECORDS_SEEN 16
#define WORDS_SEEN 8
#define BLOCKS_SEEN 8

/* Returns whether a return probe of this caller's stack pointer is pending. */
static __always_inline bool return_probe_is_noted(const struct task_struct *task, u64 caller_sp)
{
	struct return_instance *instance = BPF_CORE_READ(task, utask, return_instances);

	for (u32 i = 0; i < RETURNS_SEEN && instance; i++) {
		if (BPF_CORE_READ(instance, stack) == caller_sp)
			return true;
		instance = BPF_CORE_READ(instance, next);
	}
	return false;
}

/* Whether some frame record from `fp` up to the caller's frame returns to the trampoline. */
static __always_inline bool records_have(u64 fp, u64 caller_sp, u64 trampoline)
{
	u64 record[2];

	for (u32 i = 0; i < RECORDS_SEEN; i++) {
		if (fp & 7 || fp >= caller_sp ||
		    bpf_probe_read_user(record, sizeof(record), (void *)fp))
			return false;
		if ((record[1] & machine_frame.code_mask) == trampoline)
			return true;
		if (record[0] <= fp)
			return false;
		fp = record[0];
	}
	return true;
}

/*
 * Searches the words just below the caller's frame, where functions without frame records save it.
 */
static __always_inline bool frame_has(u64 caller_sp, u64 trampoline)
{
	u64 words[WORDS_SEEN];

	for (u32 i = 1; i <= BLOCKS_SEEN; i++) {
		if (bpf_probe_read_user(words, sizeof(words),
					(void *)(caller_sp - i * sizeof(words))))
			return false;
		for (u32 j = 0; j < WORDS_SEEN; j++) {
			if ((words[j] & machine_frame.code_mask) == trampoline)
				return true;
		}
	}
	return false;
}

/*
 * The kernel keeps the address that a return probe replaced, with the stack pointer at that time,
 * and keeps the probes that a longjmp() skipped until the next return. So the function must have
 * saved the trampoline, or still have it in x30: a tail call has it, a later call from the same
 * frame has not.
 */
static __always_inline bool return_probe_waits(u64 caller_sp, u64 trampoline)
{
	struct task_struct *task = bpf_get_current_task_btf();
	const struct pt_regs *regs = (const struct pt_regs *)bpf_task_pt_regs(task);
	u64 sp = PT_REGS_SP_CORE(regs), fp = PT_REGS_FP_CORE(regs), link;

	trampoline &= machine_frame.code_mask;
	if (!trampoline || !return_probe_is_noted(task, caller_sp))
		return false;
	if (sp == caller_sp) {
		link = BPF_CORE_READ((const struct user_pt_regs *)regs, regs[30]);
		return (link & machine_frame.code_mask) == trampoline;
	}
	return records_have(fp, caller_sp, trampoline) || frame_has(caller_sp, trampoline);
}

/* The register's number in instructions, unless it is zero; register_at() skips it. */
#define STACK_POINTER 31

#define REGISTER(number)                                                                           \
	if (n == (number))                                                                         \
		value = ctx->user_regs.regs[number];                                               \
	barrier_var(value)
#define REGISTERS(first)                                                                           \
	REGISTER(first);                                                                           \
	REGISTER((first) + 1);                                                                     \
	REGISTER((first) + 2);                                                                     \
	REGISTER((first) + 3);                                                                     \
	REGISTER((first) + 4)

/*
 * Returns a register by its number in instructions. One branch each, kept apart by barriers:
 * merged, they would become a load at a computed offset of the context, which the verifier refuses.
 */
static __noinline u64 register_at(struct pt_regs *ctx, u32 n)
{
	u64 value = 0;

	REGISTERS(0);
	REGISTERS(5);
	REGISTERS(10);
	REGISTERS(15);
	REGISTERS(20);
	REGISTERS(25);
	REGISTER(30);
	return value;
}

#undef REGISTERS
#undef REGISTER

/* "Arm Architecture Reference Manual", C1.2.4: the low four bits of b.cond. */
static __always_inline bool condition_holds(const struct pt_regs *ctx, u32 code)
{
	u64 state = ctx->user_regs.pstate;
	bool negative = state >> 31 & 1, zero = state >> 30 & 1, carry = state >> 29 & 1,
	     overflow = state >> 28 & 1, holds = true;
	u32 kind = code >> 1;

	if (kind == 0)
		holds = zero;
	else if (kind == 1)
		holds = carry;
	else if (kind == 2)
		holds = negative;
	else if (kind == 3)
		holds = overflow;
	else if (kind == 4)
		holds = carry && !zero;
	else if (kind == 5)
		holds = negative == overflow;
	else if (kind == 6)
		holds = negative == overflow && !zero;
	return kind == 7 || holds != (code & 1);
}

#endif
