/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the kernel does with an instruction that carries a uprobe breakpoint, decided on its bytes
 * as arch/x86/kernel/uprobes.c does (is_prefix_bad, branch_setup_xol_ops, push_setup_xol_ops).
 * Where kernels since 6.1 differ, the answer is the worse one.
 */
#ifndef LEAKMON_ARCH_TRAP_H
#define LEAKMON_ARCH_TRAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/machine.h"

enum trap_kind {
	TRAP_REFUSED,  /* by some kernel: bad prefix, 66 90, VEX, a breakpoint already */
	TRAP_HARMFUL,  /* 5-byte nop: kernels that make it a call can kill a forked child */
	TRAP_STEPPED,  /* single-stepped out of line: a second trap */
	TRAP_NOP,      /* multi-byte nop: emulated by newer kernels, stepped by older ones */
	TRAP_EMULATED, /* one trap on every kernel */
};

/* `length` is that of the one instruction at `code`, 1 to 15. */
enum trap_kind trap_classify(const uint8_t *code, size_t length);

/* Whether a probe's breakpoint is there. */
bool trap_is_breakpoint(const uint8_t code[MACHINE_BREAKPOINT_BYTES]);

/* Code in memory that is as in the file, or that the kernel has put there for a probe. */
struct trap_patch {
	size_t size; /* 0: it is neither */
	bool calls;  /* the kernel's own code, at this distance from its first byte */
	uint64_t distance;
};

/* At the first of `size` bytes, not 0; `memory` and `file` begin with an instruction, or follow one
 * that was looked at. */
struct trap_patch trap_patch_at(const uint8_t *memory, const uint8_t *file, size_t size);

/* How long the instructions are that probes mostly stand on; of any other: as long as can be. */
size_t trap_instruction_size(const uint8_t *code, size_t size);

#endif
