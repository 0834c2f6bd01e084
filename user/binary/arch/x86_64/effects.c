// SPDX-License-Identifier: GPL-2.0-or-later
#include "binary/arch/effects.h"

#include <string.h>

#include "base/cleanup.h"
#include "binary/arch/results.h"

/*
 * Instructions whose effects on registers the decoder reports in full (unit tests sample them), and
 * after which execution continues with the next one.
 */
static const unsigned leaves_flags[] = {
	X86_INS_MOV,	X86_INS_MOVABS, X86_INS_MOVZX,	X86_INS_MOVSX,	X86_INS_MOVSXD,
	X86_INS_LEA,	X86_INS_PUSH,	X86_INS_POP,	X86_INS_NOP,	X86_INS_ENDBR64,
	X86_INS_NOT,	X86_INS_CDQE,	X86_INS_CDQ,	X86_INS_CQO,	X86_INS_SETE,
	X86_INS_SETNE,	X86_INS_SETA,	X86_INS_SETAE,	X86_INS_SETB,	X86_INS_SETBE,
	X86_INS_SETO,	X86_INS_CMOVE,	X86_INS_CMOVNE, X86_INS_CMOVA,	X86_INS_CMOVAE,
	X86_INS_CMOVB,	X86_INS_CMOVBE, X86_INS_MOVAPS, X86_INS_MOVUPS, X86_INS_MOVDQA,
	X86_INS_MOVDQU, X86_INS_MOVQ,	X86_INS_MOVD,	X86_INS_PXOR,	X86_INS_XORPS,
};
static const unsigned writes_flags[] = {
	X86_INS_TEST, X86_INS_CMP,  X86_INS_XOR, X86_INS_AND, X86_INS_OR,  X86_INS_ADD, X86_INS_SUB,
	X86_INS_ADC,  X86_INS_SBB,  X86_INS_INC, X86_INS_DEC, X86_INS_NEG, X86_INS_SHL, X86_INS_SHR,
	X86_INS_SAR,  X86_INS_IMUL, X86_INS_MUL, X86_INS_BT,  X86_INS_BSR, X86_INS_BSF,
};

/* x86 encodings: the number is the index in the list. */
static const unsigned registers[][5] = {
	{X86_REG_RAX, X86_REG_EAX, X86_REG_AX, X86_REG_AL, X86_REG_AH},
	{X86_REG_RCX, X86_REG_ECX, X86_REG_CX, X86_REG_CL, X86_REG_CH},
	{X86_REG_RDX, X86_REG_EDX, X86_REG_DX, X86_REG_DL, X86_REG_DH},
	{X86_REG_RBX, X86_REG_EBX, X86_REG_BX, X86_REG_BL, X86_REG_BH},
	{X86_REG_RSP, X86_REG_ESP, X86_REG_SP, X86_REG_SPL},
	{X86_REG_RBP, X86_REG_EBP, X86_REG_BP, X86_REG_BPL},
	{X86_REG_RSI, X86_REG_ESI, X86_REG_SI, X86_REG_SIL},
	{X86_REG_RDI, X86_REG_EDI, X86_REG_DI, X86_REG_DIL},
	{X86_REG_R8, X86_REG_R8D, X86_REG_R8W, X86_REG_R8B},
	{X86_REG_R9, X86_REG_R9D, X86_REG_R9W, X86_REG_R9B},
	{X86_REG_R10, X86_REG_R10D, X86_REG_R10W, X86_REG_R10B},
	{X86_REG_R11, X86_REG_R11D, X86_REG_R11W, X86_REG_R11B},
	{X86_REG_R12, X86_REG_R12D, X86_REG_R12W, X86_REG_R12B},
	{X86_REG_R13, X86_REG_R13D, X86_REG_R13W, X86_REG_R13B},
	{X86_REG_R14, X86_REG_R14D, X86_REG_R14W, X86_REG_R14B},
	{X86_REG_R15, X86_REG_R15D, X86_REG_R15W, X86_REG_R15B},
};

/* psABI x86-64, section 3.2.3: rdi, rsi, rdx, rcx, r8, r9. */
const uint8_t effect_arguments[EFFECT_MAX_ARGUMENTS] = {7, 6, 2, 1, 8, 9};
const uint8_t effect_result = 0, effect_stack_pointer = 4;

static bool is_listed(unsigned id, const unsigned *list, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (list[i] == id)
			return true;
	}
	return false;
}

enum effect effect_of(const cs_insn *instruction)
{
	if (is_listed(instruction->id, leaves_flags, ARRAY_SIZE(leaves_flags)))
		return EFFECT_REGISTERS;
	if (is_listed(instruction->id, writes_flags, ARRAY_SIZE(writes_flags)))
		return EFFECT_FLAGS;
	return EFFECT_UNKNOWN;
}

static int register_number(unsigned id)
{
	for (size_t i = 0; i < ARRAY_SIZE(registers) && id != X86_REG_INVALID; i++) {
		if (is_listed(id, registers[i], ARRAY_SIZE(registers[i])))
			return (int)i;
	}
	return -1;
}

bool effect_writes(csh decoder, const cs_insn *instruction, uint32_t *written)
{
	cs_regs read, write;
	uint8_t read_count, write_count;

	*written = 0;
	if (cs_regs_access(decoder, instruction, read, &read_count, write, &write_count))
		return false;
	for (uint8_t i = 0; i < write_count; i++) {
		int number = register_number(write[i]);

		if (number >= 0)
			*written |= 1u << number;
	}
	return true;
}

bool effect_is_move(const cs_insn *instruction, int *from, int *to)
{
	const cs_x86 *x86 = &instruction->detail->x86;

	if (instruction->id != X86_INS_MOV || x86->op_count != 2 ||
	    x86->operands[0].type != X86_OP_REG || x86->operands[1].type != X86_OP_REG ||
	    x86->operands[0].size != 8 || x86->operands[1].size != 8)
		return false;
	*to = register_number(x86->operands[0].reg);
	*from = register_number(x86->operands[1].reg);
	return *from >= 0 && *to >= 0;
}

/* pop, and `add $n, %rsp`. */
int effect_words_popped(const cs_insn *instruction)
{
	const cs_x86 *x86 = &instruction->detail->x86;

	if (instruction->id == X86_INS_POP)
		return x86->op_count == 1 && x86->operands[0].size == 8 ? 1 : 0;
	if (instruction->id != X86_INS_ADD || x86->operands[0].type != X86_OP_REG ||
	    x86->operands[0].reg != X86_REG_RSP || x86->operands[1].type != X86_OP_IMM ||
	    x86->operands[1].imm <= 0 || x86->operands[1].imm % 8 ||
	    x86->operands[1].imm > RESULTS_MAX_WORDS * 8)
		return 0;
	return (int)(x86->operands[1].imm / 8);
}

bool effect_pushes(const cs_insn *instruction)
{
	return instruction->id == X86_INS_PUSH;
}

/* jcc rel8 and jcc rel32 have the condition in the low bits; the lowest inverts it. */
uint8_t effect_condition(const cs_insn *instruction, bool taken)
{
	const uint8_t *opcode = instruction->detail->x86.opcode;
	uint8_t code = opcode[0] == 0x0f ? opcode[1] : opcode[0];

	return (uint8_t)(1 + ((code & 0xf) ^ !taken));
}

bool effect_branches(csh decoder, const cs_insn *instruction, int64_t *target)
{
	const cs_x86 *x86 = &instruction->detail->x86;

	if (!cs_insn_group(decoder, instruction, CS_GRP_JUMP) &&
	    !cs_insn_group(decoder, instruction, CS_GRP_CALL) &&
	    !cs_insn_group(decoder, instruction, CS_GRP_BRANCH_RELATIVE))
		return false;
	if (x86->op_count != 1 || x86->operands[0].type != X86_OP_IMM)
		return false;
	*target = x86->operands[0].imm;
	return true;
}

/* `test rdi, rdi` or `cmp rdi, 0`; je. */
enum null_check effect_null_check(const cs_insn *instruction)
{
	static const uint8_t test[] = {0x48, 0x85, 0xff}, compare[] = {0x48, 0x83, 0xff, 0x00};

	if (instruction->id == X86_INS_JE)
		return NULL_LEAVES_BY_FLAGS;
	if ((instruction->size == sizeof(test) &&
	     !memcmp(instruction->bytes, test, sizeof(test))) ||
	    (instruction->size == sizeof(compare) &&
	     !memcmp(instruction->bytes, compare, sizeof(compare))))
		return NULL_TESTED;
	return NULL_NOT_TESTED;
}

const char *effect_on_return(const cs_insn *instruction, uint32_t written)
{
	(void)instruction;
	return written & 1u << effect_stack_pointer ? "moves the stack pointer" : NULL;
}
