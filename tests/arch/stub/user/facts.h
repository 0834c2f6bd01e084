/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An invented processor with the facts that binary/arch/machine.h requires, and no more: code
 * outside arch/ that needs another one does not compile (tests/tests.mk, check-arch). Nothing here
 * is linked or run.
 */
#ifndef LEAKMON_TESTS_ARCH_STUB_FACTS_H
#define LEAKMON_TESTS_ARCH_STUB_FACTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define MACHINE_RED_ZONE 0
#define MACHINE_USER_BITS 52
#define MACHINE_ALLOCATOR_BITS 52
#define MACHINE_PE 0x1234
#define MACHINE_PE_FUNCTION_BYTES 8
#define MACHINE_THREAD_SELF_AT 0
#define MACHINE_THREAD_TID_AT 64
#define MACHINE_SIGNAL_STACK_MIN 2048
#define MACHINE_SIGNAL_STACK 8192
#define MACHINE_BREAKPOINT_BYTES 4
#define MACHINE_INSTRUCTION_MAX 4
#define MACHINE_URETPROBE_CALL 0
#define MACHINE_UPROBE_CALL 0
#define MACHINE_REGISTERS 5
#define MACHINE_VECTOR_WORDS 6

static inline uint64_t machine_untagged(uint64_t pointer)
{
	return pointer & ((1ull << 60) - 1);
}

struct machine_registers {
	uint64_t place, stack, frame, link, thread;
	uint64_t vectors[MACHINE_VECTOR_WORDS];
};

static inline uint64_t machine_ip(const struct machine_registers *registers)
{
	return registers->place;
}

static inline uint64_t machine_sp(const struct machine_registers *registers)
{
	return registers->stack;
}

static inline uint64_t machine_fp(const struct machine_registers *registers)
{
	return registers->frame;
}

static inline uint64_t machine_link(const struct machine_registers *registers)
{
	return registers->link;
}

static inline uint64_t machine_thread_pointer(const struct machine_registers *registers)
{
	return registers->thread;
}

static inline void machine_enable_shadow_stack(void)
{
}

static inline long machine_system_call(long number, const long arguments[6])
{
	(void)arguments;
	return number;
}

#endif
