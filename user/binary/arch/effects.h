/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside the arch room: what one instruction does to the things that a probe behind it would need.
 * The processor's folder knows, for results.c and placement.c. Registers have the
 * numbers that the processor gives them.
 */
#ifndef LEAKMON_ARCH_EFFECTS_H
#define LEAKMON_ARCH_EFFECTS_H

#include <capstone/capstone.h>
#include <stdbool.h>
#include <stdint.h>

enum effect {
	EFFECT_UNKNOWN,	  /* not on the list: not even the next one need follow */
	EFFECT_REGISTERS, /* registers or memory, never the flags */
	EFFECT_FLAGS,	  /* the flags too */
};

enum effect effect_of(const cs_insn *instruction);

/* The registers of integer arguments, in order; of a result; and the stack pointer. */
#define EFFECT_MAX_ARGUMENTS 6
extern const uint8_t effect_arguments[EFFECT_MAX_ARGUMENTS];
extern const uint8_t effect_result, effect_stack_pointer;

/*
 * The registers that it writes, a bit for each number; a write to a part counts as one to the
 * whole. False: the decoder does not say. Only for instructions of known effect, decoded with
 * CS_OPT_DETAIL.
 */
bool effect_writes(csh decoder, const cs_insn *instruction, uint32_t *written);

/* A move of one whole register to another. */
bool effect_is_move(const cs_insn *instruction, int *from, int *to);

/* How many words it takes off the stack, and does nothing else to the stack pointer. 0: none. */
int effect_words_popped(const cs_insn *instruction);
bool effect_pushes(const cs_insn *instruction); /* one word */

/* The target of a direct jump, branch or call, decoded with addresses from 0 on; else false. */
bool effect_branches(csh decoder, const cs_insn *instruction, int64_t *target);

/* The relation to a NULL check of the first argument. */
enum null_check {
	NULL_NOT_TESTED,
	NULL_TESTED,	      /* then the flags say */
	NULL_LEAVES_BY_FLAGS, /* a branch that is taken if they do */
	NULL_LEAVES,	      /* a branch that is taken if it is */
};

enum null_check effect_null_check(const cs_insn *instruction);

/*
 * Whether a return probe behind it would not find the return address where a call puts it, or
 * change it too late: why (static text), or NULL. `written` as effect_writes() has it.
 */
const char *effect_on_return(const cs_insn *instruction, uint32_t written);

/* The condition of a conditional branch, as struct result_site has it: when it is taken, or when it
 * is not. */
uint8_t effect_condition(const cs_insn *instruction, bool taken);

#endif
