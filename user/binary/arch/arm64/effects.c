// SPDX-License-Identifier: GPL-2.0-or-later
#include "binary/arch/effects.h"

#include "binary/arch/arm64/instruction.h"
#include "binary/arch/results.h"

/* AAPCS64, 6.8: x0 to x7; the allocators take six at most. */
const uint8_t effect_arguments[EFFECT_MAX_ARGUMENTS] = {0, 1, 2, 3, 4, 5};
const uint8_t effect_result = 0, effect_stack_pointer = A64_STACK_POINTER;

/* subs xzr, x0, #0 */
#define COMPARE_X0 0xf100001fu
/* b.eq; cbz x0: the other bits are the distance */
#define IS_BRANCH_EQUAL(word) (((word)&0xff00001fu) == 0x54000000u)
#define IS_CBZ_X0(word) (((word)&0xff00001fu) == 0xb4000000u)

static struct a64 decode(const cs_insn *instruction)
{
	return a64_decode(a64_word(instruction->bytes), instruction->address);
}

enum effect effect_of(const cs_insn *instruction)
{
	struct a64 a64 = decode(instruction);

	if (a64.kind == A64_HINT)
		return EFFECT_REGISTERS;
	if (a64.kind != A64_PLAIN)
		return EFFECT_UNKNOWN;
	return a64.flags ? EFFECT_FLAGS : EFFECT_REGISTERS;
}

bool effect_writes(csh decoder, const cs_insn *instruction, uint32_t *written)
{
	(void)decoder;
	*written = decode(instruction).writes;
	return true;
}

/* `mov sp, x29` is not one: it moves no argument. */
bool effect_is_move(const cs_insn *instruction, int *from, int *to)
{
	struct a64 a64 = decode(instruction);
	bool by_or = a64_word(instruction->bytes) >> 24 == 0xaa;

	if (!a64.is_move)
		return false;
	*from = by_or ? a64.rm : a64.rn;
	*to = a64.rd;
	return *from != A64_STACK_POINTER && *to != A64_STACK_POINTER;
}

/* No place before a `ret` is sought, because the kernel emulates `ret`: see results.c. */
int effect_words_popped(const cs_insn *instruction)
{
	(void)instruction;
	return 0;
}

bool effect_pushes(const cs_insn *instruction)
{
	(void)instruction;
	return false;
}

/* b.cond has its condition in the low four bits; the lowest inverts it. */
uint8_t effect_condition(const cs_insn *instruction, bool taken)
{
	return (uint8_t)(1 + ((a64_word(instruction->bytes) & 0xf) ^ !taken));
}

bool effect_branches(csh decoder, const cs_insn *instruction, int64_t *target)
{
	struct a64 a64 = decode(instruction);

	(void)decoder;
	if (a64.kind < A64_BRANCH || a64.kind > A64_CALL)
		return false;
	*target = (int64_t)a64.jump;
	return true;
}

enum null_check effect_null_check(const cs_insn *instruction)
{
	uint32_t word = a64_word(instruction->bytes);

	if (IS_CBZ_X0(word))
		return NULL_LEAVES;
	if (IS_BRANCH_EQUAL(word))
		return NULL_LEAVES_BY_FLAGS;
	return word == COMPARE_X0 ? NULL_TESTED : NULL_NOT_TESTED;
}

/*
 * A return probe puts its address into x30. If x30 was saved before, the function returns without
 * the probe; if it was signed (paciasp), the function faults when it authenticates the address.
 */
const char *effect_on_return(const cs_insn *instruction, uint32_t written)
{
	struct a64 a64 = decode(instruction);

	if (a64.reads & 1u << A64_LINK)
		return "saves or signs the return address";
	if (written & 1u << A64_LINK)
		return "writes the return address";
	return written & 1u << A64_STACK_POINTER ? "moves the stack pointer" : NULL;
}
