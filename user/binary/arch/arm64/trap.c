// SPDX-License-Identifier: GPL-2.0-or-later
#include "binary/arch/trap.h"

#include <string.h>

#include "base/cleanup.h"
#include "binary/arch/arm64/instruction.h"
#include "binary/arch/machine.h"

/* brk #5 (UPROBES_BRK_IMM) */
#define BREAKPOINT 0xd42000a0u
/*
 * cpyp to setge (FEAT_MOPS). When a thread changes processors, the kernel restarts the sequence of
 * three, which must be contiguous; since 6.12 it therefore refuses probes on them
 * (aarch64_insn_is_mops()).
 */
#define MEMORY_COPY_AND_SET 0x19000400u

/*
 * aarch64_insn_is_steppable_hint(): hints that kernels since 6.1 single-step. Newer kernels emulate
 * nop (6.13). autiasp and related ones are refused: they may fault.
 */
static enum trap_kind classify_hint(uint32_t hint)
{
	static const uint8_t stepped[] = {
		A64_HINT_XPACLRI, A64_HINT_PACIA1716, A64_HINT_PACIB1716, A64_HINT_PACIAZ,
		A64_HINT_PACIASP, A64_HINT_PACIBZ,    A64_HINT_PACIBSP,	  A64_HINT_BTI,
		A64_HINT_BTI_C,	  A64_HINT_BTI_J,     A64_HINT_BTI_JC,
	};

	if (hint == A64_HINT_NOP)
		return TRAP_NOP;
	for (size_t i = 0; i < ARRAY_SIZE(stepped); i++) {
		if (stepped[i] == hint)
			return TRAP_STEPPED;
	}
	return TRAP_REFUSED;
}

/* Other system instructions: barriers and cache maintenance are stepped. */
static enum trap_kind classify_system(uint32_t word)
{
	bool is_barrier = (word & 0xfffff000u) == 0xd5033000u,
	     is_maintenance = (word & 0xfff80000u) == 0xd5080000u;

	return is_barrier || is_maintenance ? TRAP_STEPPED : TRAP_REFUSED;
}

enum trap_kind trap_classify(const uint8_t *code, size_t length)
{
	uint32_t word;
	struct a64 a64;

	if (length != MACHINE_INSTRUCTION_MAX)
		return TRAP_REFUSED;
	word = a64_word(code);
	a64 = a64_decode(word, 0);
	switch (a64.kind) {
	case A64_BRANCH:
	case A64_CONDITION:
	case A64_COMPARE:
	case A64_CALL:
	case A64_INDIRECT:
	case A64_RETURN:
		return TRAP_EMULATED;
	case A64_HINT:
		return classify_hint(a64_hint(word));
	/*
	 * Older kernels read the literal from their own memory, newer ones refuse it; a load of a
	 * vector register is stepped, and reads beside the copy (acc450aa0709).
	 */
	case A64_LITERAL:
		return TRAP_HARMFUL;
	/* An exception ends the exclusive state: the loop would never end. */
	case A64_EXCLUSIVE:
	case A64_SIGNED:
		return TRAP_REFUSED;
	case A64_EXCEPTION:
		return classify_system(word);
	default:
		if ((word & 0x3b200c00u) == MEMORY_COPY_AND_SET)
			return TRAP_REFUSED;
		/* adr, adrp */
		return (word & 0x1f000000u) == 0x10000000u ? TRAP_EMULATED : TRAP_STEPPED;
	}
}

bool trap_is_breakpoint(const uint8_t code[MACHINE_BREAKPOINT_BYTES])
{
	return a64_word(code) == BREAKPOINT;
}

struct trap_patch trap_patch_at(const uint8_t *memory, const uint8_t *file, size_t size)
{
	size_t whole = MIN(size, (size_t)MACHINE_BREAKPOINT_BYTES);

	if (!memcmp(memory, file, whole) ||
	    (whole == MACHINE_BREAKPOINT_BYTES && trap_is_breakpoint(memory)))
		return (struct trap_patch){.size = whole};
	return (struct trap_patch){0};
}

size_t trap_instruction_size(const uint8_t *code, size_t size)
{
	(void)code, (void)size;
	return MACHINE_INSTRUCTION_MAX;
}
