/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's treatment of an instruction under a uprobe breakpoint, decided by its bytes, as in
 * the kernel. Where kernels since 6.1 differ, the answer is the worse one.
 *
 *             x86-64 (arch/x86/kernel/uprobes.c)    arm64 (arch/arm64/kernel/probes/decode-insn.c)
 *   EMULATED  push %reg; nop; jmp, jcc, call rel    b, bl, b.cond, cbz, cbnz, tbz, tbnz, br, blr,
 *                                                   ret, adr, adrp
 *   NOP       longer nops                           nop (since 6.13)
 *   STEPPED   all others                            all others, also bti and paciasp
 *   HARMFUL   the nop of 5 bytes                    ldr of a literal (acc450aa0709)
 *   REFUSED   lock and segment prefixes, VEX, ...   autiasp, retaa, braa; ldxr, stxr, ldar, stlr,
 *                                                   cas; svc, brk, msr; unlisted hints
 */
#ifndef LEAKMON_ARCH_TRAP_H
#define LEAKMON_ARCH_TRAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "binary/arch/machine.h"

enum trap_kind {
	TRAP_REFUSED,  /* by some kernel; or already a breakpoint */
	TRAP_HARMFUL,  /* some kernel accepts it and harms the program, or its children */
	TRAP_STEPPED,  /* single-stepped out of line: a second trap */
	TRAP_NOP,      /* emulated by newer kernels, stepped by older ones */
	TRAP_EMULATED, /* one trap on every kernel */
};

/* Classifies the one instruction at `code`, of `length` bytes, 1 to 15. */
enum trap_kind trap_classify(const uint8_t *code, size_t length);

/* Returns whether a probe's breakpoint is there. */
bool trap_is_breakpoint(const uint8_t code[MACHINE_BREAKPOINT_BYTES]);

/* Code in memory that equals the file's, or that the kernel wrote for a probe. */
struct trap_patch {
	size_t size; /* 0: neither */
	bool calls;  /* calls the kernel's own code, at `distance` from its first byte */
	uint64_t distance;
};

/*
 * Compares the first of `size` bytes, not 0; `memory` and `file` begin with an instruction, or
 * follow one already compared.
 */
struct trap_patch trap_patch_at(const uint8_t *memory, const uint8_t *file, size_t size);

/*
 * Returns the length of an instruction of the kinds that probes mostly use; for any other, the
 * maximum.
 */
size_t trap_instruction_size(const uint8_t *code, size_t size);

#endif
