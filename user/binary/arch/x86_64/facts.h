/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * x86-64: implements binary/arch/machine.h. Sources: psABI x86-64 1.0, and the kernel's arch/x86.
 */
#ifndef LEAKMON_ARCH_X86_64_FACTS_H
#define LEAKMON_ARCH_X86_64_FACTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/user.h>

/* psABI, 3.2.2 */
#define MACHINE_RED_ZONE 128

/* Four levels of page tables; with five, programs must ask for more (Documentation/arch/x86). */
#define MACHINE_USER_BITS 47

/* Linear address masking must be requested (Documentation/arch/x86), and no allocator does so. */
static inline uint64_t machine_untagged(uint64_t pointer)
{
	return pointer;
}

/* glibc, sysdeps/unix/sysv/linux/bits/sigstack.h: MINSIGSTKSZ, and SIGSTKSZ before 2.34. */
#define MACHINE_SIGNAL_STACK_MIN 2048
#define MACHINE_SIGNAL_STACK 8192

/* jemalloc, configure.ac (LG_VADDR); gperftools, common.h (kAddressBits). */
#define MACHINE_ALLOCATOR_BITS 48
#define MACHINE_PE 0x8664 /* IMAGE_FILE_MACHINE_… */
#define MACHINE_PE_FUNCTION_BYTES 12

/* glibc, sysdeps/x86_64/nptl/tls.h (tcbhead_t.self) and nptl/descr.h (struct pthread.tid). */
#define MACHINE_THREAD_SELF_AT 16
#define MACHINE_THREAD_TID_AT 0x2d0

/* int3; and Intel's manual, volume 2, 2.3.11. */
#define MACHINE_BREAKPOINT_BYTES 1
#define MACHINE_INSTRUCTION_MAX 15

/* arch/x86/entry/syscalls/syscall_64.tbl, since 6.11 */
#define MACHINE_URETPROBE_CALL 335
#define MACHINE_UPROBE_CALL 336

/* rax to r15, and orig_rax; xmm0 to xmm15. */
#define MACHINE_REGISTERS 17
#define MACHINE_VECTOR_WORDS 32

struct machine_registers {
	struct user_regs_struct general;
	uint64_t vectors[MACHINE_VECTOR_WORDS];
};

static inline uint64_t machine_ip(const struct machine_registers *registers)
{
	return registers->general.rip;
}

static inline uint64_t machine_sp(const struct machine_registers *registers)
{
	return registers->general.rsp;
}

static inline uint64_t machine_fp(const struct machine_registers *registers)
{
	return registers->general.rbp;
}

/* A call pushes the return address. */
static inline uint64_t machine_link(const struct machine_registers *registers)
{
	(void)registers;
	return 0;
}

static inline uint64_t machine_thread_pointer(const struct machine_registers *registers)
{
	return registers->general.fs_base;
}

/*
 * arch_prctl(ARCH_SHSTK_ENABLE, ARCH_SHSTK_SHSTK), arch/x86/include/uapi/asm/prctl.h. Inline:
 * functions already entered may not return afterwards (Documentation/arch/x86/shstk.rst), so libc
 * cannot make this call.
 */
static inline __attribute__((always_inline)) void machine_enable_shadow_stack(void)
{
	long result = SYS_arch_prctl;

	__asm__ volatile("syscall" : "+a"(result) : "D"(0x5001), "S"(1) : "rcx", "r11", "memory");
}

/* psABI, A.2.1 */
static inline long machine_system_call(long number, const long arguments[6])
{
	register long fourth __asm__("r10") = arguments[3];
	register long fifth __asm__("r8") = arguments[4];
	register long sixth __asm__("r9") = arguments[5];

	__asm__ volatile("syscall"
			 : "+a"(number)
			 : "D"(arguments[0]), "S"(arguments[1]), "d"(arguments[2]), "r"(fourth),
			   "r"(fifth), "r"(sixth)
			 : "rcx", "r11", "memory");
	return number;
}

#endif
