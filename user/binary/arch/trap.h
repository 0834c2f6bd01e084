/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's treatment of an instruction with a uprobe breakpoint, decided on its bytes
 * as the kernel does. Where kernels since 6.1 differ, the answer is the worse one.
 *
 *            x86-64 (arch/x86/kernel/uprobes.c)    arm64 (arch/arm64/kernel/probes/decode-insn.c)
 *   EMULATED push %reg; nop; jmp, jcc, call rel    b, bl, b.cond, cbz, cbnz, tbz, tbnz, br, blr,
 * ret, adr, adrp NOP      longer nops                           nop (since 6.13) STEPPED  all
 * others                            all others, bti and paciasp too HARMFUL  the nop of 5 bytes ldr
 * of a literal (acc450aa0709) REFUSED  lock and segment prefixes, VEX, ...   autiasp, retaa, braa;
 * ldxr, stxr, ldar, stlr, cas; svc, brk, msr; hints that are not listed
 */
#ifndef LEAKMON_ARCH_TRAP_H
#define LEAKMON_ARCH_TRAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "binary/arch/machine.h"

enum trap_kind {
	TRAP_REFUSED,  /* by some kernel; or a breakpoint already */
	TRAP_HARMFUL,  /* some kernel takes it and hurts the program, or what it forks */
	TRAP_STEPPED,  /* single-stepped out of line: a second trap */
	TRAP_NOP,      /* emulated by newer kernels, stepped by older ones */
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
