/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The made-up processor, as far as bpf/kernel.h needs it: see ../user/facts.h. */
#ifndef LEAKMON_TESTS_ARCH_STUB_MACHINE_BPF_H
#define LEAKMON_TESTS_ARCH_STUB_MACHINE_BPF_H

#include "frame.h"

#define NR_MMAP 1
#define NR_MUNMAP 2
#define NR_BRK 3
#define NR_MREMAP 4
#define NR_COMPAT_BRK 5
#define USER_MAX_ADDRESS (1ull << 52)
#define TRAMPOLINE_BITS 0x1000ull
#define STACK_POINTER 31

#define regs_are_of_user(regs) ((regs) != NULL)

static __always_inline u64 syscall_number(const struct pt_regs *regs)
{
	return (u64)regs;
}

static __always_inline bool task_is_compat(const struct task_struct *task)
{
	return task == NULL;
}

static __always_inline bool syscall_is_mapping_compat(u64 number)
{
	return number == NR_COMPAT_BRK;
}

static __always_inline bool task_dispatches(const struct task_struct *task)
{
	return task == NULL;
}

static __always_inline u64 task_thread_pointer(const struct task_struct *task)
{
	return (u64)task;
}

static __always_inline u64 regs_link(const struct pt_regs *regs)
{
	return (u64)regs;
}

static __always_inline void regs_set(struct pt_regs *regs, u64 ip, u64 sp, u64 fp)
{
	(void)regs, (void)ip, (void)sp, (void)fp;
}

static __always_inline u64 caller_sp(const struct pt_regs *ctx, u64 words)
{
	return (u64)ctx + words;
}

static __always_inline bool caller_address(const struct pt_regs *ctx, u64 words, u64 *address)
{
	*address = (u64)ctx + words;
	return true;
}

static __always_inline u64 return_probe_place(u64 caller_sp)
{
	return caller_sp;
}

static __always_inline bool return_probe_waits(u64 caller_sp, u64 trampoline)
{
	return caller_sp == trampoline;
}

static __noinline u64 register_at(struct pt_regs *ctx, u32 n)
{
	return (u64)ctx + n;
}

static __always_inline bool condition_holds(const struct pt_regs *ctx, u32 code)
{
	return (u64)ctx == code;
}

#endif
