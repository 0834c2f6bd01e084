/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What one x86-64 instruction does to the things that a probe behind it would need. */
#ifndef LEAKMON_ARCH_X86_64_EFFECTS_H
#define LEAKMON_ARCH_X86_64_EFFECTS_H

#include <capstone/capstone.h>
#include <stdbool.h>
#include <stdint.h>

enum effect {
	EFFECT_UNKNOWN,	  /* not on the list: not even the next one need follow */
	EFFECT_REGISTERS, /* registers or memory, never the flags */
	EFFECT_FLAGS,	  /* the flags too */
};

enum effect effect_of(const cs_insn *instruction);

/* Integer arguments in order, as x86 encodes their registers. */
#define EFFECT_MAX_ARGUMENTS 6
extern const uint8_t effect_arguments[EFFECT_MAX_ARGUMENTS];

/*
 * The registers that it writes, a bit for each x86 number; a write to a part counts as one to the
 * whole. False: the decoder does not say. Only for instructions of known effect, decoded with
 * CS_OPT_DETAIL.
 */
bool effect_writes(csh decoder, const cs_insn *instruction, uint32_t *written);

/* `mov` of one whole register to another. */
bool effect_is_move(const cs_insn *instruction, int *from, int *to);

#endif
