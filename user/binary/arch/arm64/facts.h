/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * arm64: implements binary/arch/machine.h. Sources: "Procedure Call Standard for the Arm 64-bit
 * Architecture" (AAPCS64), and the kernel's arch/arm64.
 */
#ifndef LEAKMON_ARCH_ARM64_FACTS_H
#define LEAKMON_ARCH_ARM64_FACTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/user.h>

#if defined(__AARCH64EB__)
#error "leakmon runs on little-endian arm64 only"
#endif

/* AAPCS64, 6.4.5: memory below the stack pointer is not preserved. */
#define MACHINE_RED_ZONE 0

/* Even with 52 bits, programs must ask for more (Documentation/arm64/memory.rst). */
#define MACHINE_USER_BITS 48

/*
 * The processor ignores the top byte of a pointer (Documentation/arm64/tagged-pointers.rst):
 * programs keep tags there, and memory tagging (MTE) a block's colour in its low half.
 */
static inline uint64_t machine_untagged(uint64_t pointer)
{
	return pointer & ((1ull << 56) - 1);
}

/* glibc, sysdeps/unix/sysv/linux/aarch64/bits/sigstack.h: MINSIGSTKSZ, and SIGSTKSZ before 2.34. */
#define MACHINE_SIGNAL_STACK_MIN 5120
#define MACHINE_SIGNAL_STACK 16384

/* jemalloc, configure.ac (LG_VADDR); gperftools, common.h (kAddressBits). */
#define MACHINE_ALLOCATOR_BITS 48
#define MACHINE_PE 0xaa64 /* IMAGE_FILE_MACHINE_… */
#define MACHINE_PE_FUNCTION_BYTES 8

/*
 * glibc, nptl/descr.h: since the vector (DTV) is at the thread pointer, there is no self pointer.
 */
#define MACHINE_THREAD_SELF_AT 0
#define MACHINE_THREAD_TID_AT 0xd0

/* brk #5 (arch/arm64/include/asm/brk-imm.h) */
#define MACHINE_BREAKPOINT_BYTES 4
#define MACHINE_INSTRUCTION_MAX 4

/* The kernel's own probes make no system calls here. */
#define MACHINE_URETPROBE_CALL 0
#define MACHINE_UPROBE_CALL 0

/* x0 to x30; v0 to v31. */
#define MACHINE_REGISTERS 31
#define MACHINE_VECTOR_WORDS 64

struct machine_registers {
	struct user_regs_struct general;
	uint64_t thread_pointer; /* tpidr_el0 */
	/*
	 * The system call that the thread is in, or has just left (its number is in x8); else -1.
	 */
	int32_t call;
	bool begins_again; /* the program counter is on that call again */
	uint64_t vectors[MACHINE_VECTOR_WORDS];
};

static inline uint64_t machine_ip(const struct machine_registers *registers)
{
	return registers->general.pc;
}

static inline uint64_t machine_sp(const struct machine_registers *registers)
{
	return registers->general.sp;
}

static inline uint64_t machine_fp(const struct machine_registers *registers)
{
	return registers->general.regs[29];
}

static inline uint64_t machine_link(const struct machine_registers *registers)
{
	return registers->general.regs[30];
}

static inline uint64_t machine_thread_pointer(const struct machine_registers *registers)
{
	return registers->thread_pointer;
}

/* Guarded control stacks came with Linux 6.13; return probes support them from 6.18 on. */
static inline void machine_enable_shadow_stack(void)
{
}

/* arch/arm64/kernel/syscall.c */
static inline long machine_system_call(long number, const long arguments[6])
{
	register long first __asm__("x0") = arguments[0];
	register long second __asm__("x1") = arguments[1];
	register long third __asm__("x2") = arguments[2];
	register long fourth __asm__("x3") = arguments[3];
	register long fifth __asm__("x4") = arguments[4];
	register long sixth __asm__("x5") = arguments[5];
	register long eighth __asm__("x8") = number;

	__asm__ volatile("svc 0"
			 : "+r"(first)
			 : "r"(second), "r"(third), "r"(fourth), "r"(fifth), "r"(sixth), "r"(eighth)
			 : "memory");
	return first;
}

#endif
