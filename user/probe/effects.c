// SPDX-License-Identifier: GPL-2.0-or-later
#include "probe/effects.h"

#include "base/cleanup.h"

/*
 * Instructions whose effect on registers the decoder reports in full (the unit tests sample them)
 * and after which execution goes on with the next one.
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

/* psABI x86-64, section 3.2.3: integer arguments in order, each under all its names. */
static const unsigned argument_registers[][4] = {
	{X86_REG_RDI, X86_REG_EDI, X86_REG_DI, X86_REG_DIL},
	{X86_REG_RSI, X86_REG_ESI, X86_REG_SI, X86_REG_SIL},
	{X86_REG_RDX, X86_REG_EDX, X86_REG_DX, X86_REG_DL},
	{X86_REG_RCX, X86_REG_ECX, X86_REG_CX, X86_REG_CL},
	{X86_REG_R8, X86_REG_R8D, X86_REG_R8W, X86_REG_R8B},
	{X86_REG_R9, X86_REG_R9D, X86_REG_R9W, X86_REG_R9B},
};
static const unsigned stack_pointer[] = {X86_REG_RSP, X86_REG_ESP, X86_REG_SP, X86_REG_SPL};

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

/* dh and ch: of the argument registers only rdx and rcx have a name for their second byte. */
static bool is_argument(unsigned id, unsigned arguments)
{
	for (size_t i = 0; i < MIN(arguments, ARRAY_SIZE(argument_registers)); i++) {
		if (is_listed(id, argument_registers[i], ARRAY_SIZE(argument_registers[i])))
			return true;
	}
	return (arguments > 2 && id == X86_REG_DH) || (arguments > 3 && id == X86_REG_CH);
}

const char *effect_destroys(csh decoder, const cs_insn *instruction,
			    const struct placement_request *request)
{
	cs_regs read, written;
	uint8_t read_count, written_count;

	if (cs_regs_access(decoder, instruction, read, &read_count, written, &written_count))
		return "has unknown effects";
	for (uint8_t i = 0; i < written_count; i++) {
		if (is_argument(written[i], request->arguments))
			return "writes an argument";
		if (request->returns &&
		    is_listed(written[i], stack_pointer, ARRAY_SIZE(stack_pointer)))
			return "moves the stack pointer";
	}
	return NULL;
}
