/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Puts values in the registers of the machine that the tests are built for. */
#ifndef LEAKMON_TESTS_OWN_REGISTERS_H
#define LEAKMON_TESTS_OWN_REGISTERS_H

#include <linux/audit.h>
#include <string.h>
#include <sys/user.h>

#include "binary/arch/machine.h"

/* One of the general registers, and the vector register of words 2 and 3. */
#define OWN_GENERAL general.regs[19]
#define OWN_GENERAL_NAME "x19"
#define OWN_VECTOR_NAME "v1"

/* The table of system calls. */
#define OWN_CALLS AUDIT_ARCH_AARCH64

#define OWN_LIBC "/lib/aarch64-linux-gnu/libc.so.6"
#define OWN_LIBRARIES "/usr/lib/aarch64-linux-gnu/"
#define OWN_LOADER "/lib/ld-linux-aarch64.so.1"

static inline struct machine_registers own_registers(uint64_t sp, uint64_t thread_pointer)
{
	return (struct machine_registers){.general = {.sp = sp}, .thread_pointer = thread_pointer};
}

/* The registers in the form of a core file; the first vector register begins with `vector`. */
static inline void own_core_registers(uint64_t sp, elf_gregset_t registers)
{
	struct user_regs_struct general = {.sp = sp};

	memcpy(registers, &general, sizeof(elf_gregset_t));
}

static inline struct user_fpsimd_struct own_core_vectors(unsigned vector)
{
	return (struct user_fpsimd_struct){.vregs = {vector}};
}

#endif
