/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside the arch room: the effect of one instruction on the registers and flags that a later probe
 * would need. Implemented in the processor's folder, for results.c and placement.c. Registers have
 * the processor's own numbers.
 */
#ifndef LEAKMON_ARCH_EFFECTS_H
#define LEAKMON_ARCH_EFFECTS_H

#include <capstone/capstone.h>
#include <stdbool.h>
#include <stdint.h>

enum effect {
	EFFECT_UNKNOWN,	  /* not listed: it may not even continue with the next instruction */
	EFFECT_REGISTERS, /* registers or memory, never the flags */
	EFFECT_FLAGS,	  /* the flags, too */
};

enum effect effect_of(const cs_insn *instruction);

/* The registers of integer arguments, in order; of the result; and the stack pointer. */
#define EFFECT_MAX_ARGUMENTS 6
extern const uint8_t effect_arguments[EFFECT_MAX_ARGUMENTS];
extern const uint8_t effect_result, effect_stack_pointer;

/*
 * Gets the registers that the instruction writes, a bit for each number; a partial write counts as
 * a full one. Returns false if the decoder does not know. Only for instructions of known effect,
 * decoded with CS_OPT_DETAIL.
 */
bool effect_writes(csh decoder, const cs_insn *instruction, uint32_t *written);

/* Returns whether it moves one whole register to another. */
bool effect_is_move(const cs_insn *instruction, int *from, int *to);

/* Returns the words it pops, if that is its only effect on the stack pointer; else 0. */
int effect_words_popped(const cs_insn *instruction);
bool effect_pushes(const cs_insn *instruction); /* one word */

/*
 * Gets the target of a direct jump, branch or call, decoded with addresses from 0 on. Returns false
 * if it is none.
 */
bool effect_branches(csh decoder, const cs_insn *instruction, int64_t *target);

/* How an instruction takes part in a NULL check of the first argument. */
enum null_check {
	NULL_NOT_TESTED,
	NULL_TESTED,	      /* sets the flags by the argument */
	NULL_LEAVES_BY_FLAGS, /* a branch taken if the flags say NULL */
	NULL_LEAVES,	      /* a branch taken if the argument is NULL */
};

enum null_check effect_null_check(const cs_insn *instruction);

/*
 * Returns why a return probe placed after it would not find the return address where a call puts
 * it, or replace it too late (static text); NULL if neither. `written` is from effect_writes().
 */
const char *effect_on_return(const cs_insn *instruction, uint32_t written);

/*
 * Returns the condition of a conditional branch, encoded as in struct result_site: for its being
 * taken, or not taken.
 */
uint8_t effect_condition(const cs_insn *instruction, bool taken);

#endif
