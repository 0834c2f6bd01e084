// SPDX-License-Identifier: GPL-2.0-or-later
#include "binary/arch/decoder.h"

#include <string.h>

int decoder_open(csh *decoder)
{
	return cs_open(CS_ARCH_X86, CS_MODE_64, decoder);
}

enum step_kind decoder_step_kind(const struct code *code)
{
	const cs_insn *instruction = code->instruction;

	if (cs_insn_group(code->decoder, instruction, CS_GRP_RET) ||
	    cs_insn_group(code->decoder, instruction, CS_GRP_IRET))
		return STEP_RETURN;
	if (cs_insn_group(code->decoder, instruction, CS_GRP_CALL))
		return STEP_CALL;
	if (instruction->id == X86_INS_JMP || instruction->id == X86_INS_LJMP)
		return STEP_JUMP;
	if (cs_insn_group(code->decoder, instruction, CS_GRP_JUMP) ||
	    cs_insn_group(code->decoder, instruction, CS_GRP_BRANCH_RELATIVE))
		return STEP_BRANCH;
	if (instruction->id == X86_INS_UD2 || instruction->id == X86_INS_HLT ||
	    instruction->id == X86_INS_INT3)
		return STEP_END;
	return STEP_PLAIN;
}

bool decoder_is_plain_return(const struct code *code)
{
	return code->instruction->id == X86_INS_RET && !code->instruction->detail->x86.op_count;
}

bool code_direct_target(const struct code *code, uint64_t *target)
{
	const cs_x86 *x86 = &code->instruction->detail->x86;

	if (x86->op_count != 1 || x86->operands[0].type != X86_OP_IMM)
		return false;
	*target = (uint64_t)x86->operands[0].imm;
	return true;
}

/* Gets the word that the PLT entry at `vaddr` jumps through: `[endbr64] jmp *slot(%rip)`. */
bool decoder_plt_slot(struct code *code, uint64_t vaddr, uint64_t *slot)
{
	const cs_insn *instruction = code->instruction;
	const cs_x86_op *operand;

	if (code_decode(code, vaddr))
		return false;
	if (instruction->id == X86_INS_ENDBR64 && code_decode(code, vaddr + instruction->size))
		return false;
	operand = &instruction->detail->x86.operands[0];
	if (instruction->id != X86_INS_JMP || operand->type != X86_OP_MEM ||
	    operand->mem.base != X86_REG_RIP || operand->mem.index != X86_REG_INVALID)
		return false;
	*slot = instruction->address + instruction->size + (uint64_t)operand->mem.disp;
	return true;
}

bool code_writes_argument(const struct code *code)
{
	cs_regs read, written;
	uint8_t read_count, written_count;

	if (cs_regs_access(code->decoder, code->instruction, read, &read_count, written,
			   &written_count))
		return true;
	for (uint8_t i = 0; i < written_count; i++) {
		if (written[i] == X86_REG_RDI || written[i] == X86_REG_EDI ||
		    written[i] == X86_REG_DI || written[i] == X86_REG_DIL)
			return true;
	}
	return false;
}

bool code_is_exchange(const struct code *code)
{
	return code->instruction->id == X86_INS_CMPXCHG;
}

/* `cmpxchg %rdi, at(%rdi)` */
bool code_exchanges_argument(const struct code *code, int64_t *at)
{
	const cs_x86_op *to = &code->instruction->detail->x86.operands[0];
	const cs_x86_op *from = &code->instruction->detail->x86.operands[1];

	if (!code_is_exchange(code) || to->type != X86_OP_MEM || to->mem.base != X86_REG_RDI ||
	    to->mem.index != X86_REG_INVALID || from->type != X86_OP_REG ||
	    from->reg != X86_REG_RDI)
		return false;
	*at = to->mem.disp;
	return true;
}

/* `movl $constant, distance(%reg)` */
bool code_stores(const struct code *code, int32_t constant, int64_t distance)
{
	const cs_x86 *x86 = &code->instruction->detail->x86;
	const cs_x86_op *to = &x86->operands[0], *from = &x86->operands[1];

	return code->instruction->id == X86_INS_MOV && x86->op_count == 2 &&
	       to->type == X86_OP_MEM && from->type == X86_OP_IMM &&
	       (int32_t)from->imm == constant && to->size == 4 && to->mem.disp == distance;
}

/* endbr64, where control-flow enforcement allows indirect calls of the function; `jmp rel32`. */
bool code_may_forward(const uint8_t first[CODE_FORWARD_BYTES])
{
	static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};

	return first[memcmp(first, endbr64, sizeof(endbr64)) ? 0 : sizeof(endbr64)] == 0xe9;
}

bool code_forwards(struct code *code, uint64_t vaddr, uint64_t *target)
{
	if (code_decode(code, vaddr))
		return false;
	if (code->instruction->id == X86_INS_ENDBR64 &&
	    code_decode(code, vaddr + code->instruction->size))
		return false;
	return code->instruction->id == X86_INS_JMP && code_direct_target(code, target);
}

/* psABI, 3.4.6, and both C libraries: the pthread_t is the thread pointer. */
bool code_thread_self_below(struct code *code, uint64_t vaddr, uint64_t *distance)
{
	(void)code, (void)vaddr;
	*distance = 0;
	return true;
}
