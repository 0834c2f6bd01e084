// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/cfa_program.h"

#include "base/cleanup.h"
#include "unwind/cfa_instructions.h"

static uint64_t read_operand(struct cfa_machine *machine, enum cfa_operand kind,
			     struct cfa_operands *operands)
{
	static const uint8_t sizes[CFA_OPERAND_MAX_] = {
		[CFA_OPERAND_U8] = 1, [CFA_OPERAND_U16] = 2, [CFA_OPERAND_U32] = 4};
	struct byte_reader *code = &machine->code;
	uint64_t value = 0;

	if (sizes[kind])
		return byte_reader_fixed(code, sizes[kind]);
	if (kind == CFA_OPERAND_ULEB)
		return byte_reader_uleb128(code);
	if (kind == CFA_OPERAND_SLEB)
		return (uint64_t)byte_reader_sleb128(code);
	if (kind == CFA_OPERAND_BLOCK) {
		value = byte_reader_uleb128(code);
		operands->block = byte_reader_take(code, value);
	} else if (kind == CFA_OPERAND_ADDRESS &&
		   !eh_pointer_read(code, machine->cie->pointer_encoding, &machine->place,
				    &value)) {
		byte_reader_fail(code);
	}
	return value;
}

static bool step(struct cfa_machine *machine)
{
	uint8_t opcode = byte_reader_u8(&machine->code);
	const struct cfa_instruction *instruction = cfa_instruction_of(opcode);
	struct cfa_operands operands = {0};

	if (!instruction)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(instruction->operands); i++) {
		enum cfa_operand kind = instruction->operands[i];

		if (kind == CFA_OPERAND_NONE)
			break;
		operands.values[i] = kind == CFA_OPERAND_EMBEDDED
					     ? opcode & CFA_EMBEDDED_MASK
					     : read_operand(machine, kind, &operands);
	}
	return !machine->code.failed && instruction->execute(machine, &operands);
}

static bool run(struct cfa_machine *machine)
{
	while (byte_reader_left(&machine->code))
		if (!step(machine))
			return false;
	return true;
}

/* Field by field: a struct literal would clear the stack for every function. */
static void prepare(struct cfa_machine *machine, const struct eh_section *section,
		    const struct eh_cie *cie, const struct eh_code *code)
{
	machine->code = byte_reader(section->bytes + code->offset, code->size);
	machine->place = (struct eh_place){section->bytes, section->address};
	machine->cie = cie;
	machine->initial = NULL;
	machine->builder = NULL;
	machine->remembered_count = 0;
	machine->err = 0;
}

bool cfa_program_initial(const struct eh_section *section, const struct eh_cie *cie,
			 struct cfa_rules *rules)
{
	struct cfa_machine machine;

	prepare(&machine, section, cie, &cie->code);
	memset(&machine.rules, 0, sizeof(machine.rules));
	if (!run(&machine))
		return false;
	*rules = machine.rules;
	return true;
}

int cfa_program_run(const struct eh_section *section, const struct eh_cie *cie,
		    const struct eh_fde *fde, const struct cfa_rules *initial,
		    struct row_builder *builder)
{
	static const struct lm_unwind_row unsupported = {.kind = LM_UNWIND_UNSUPPORTED};
	struct cfa_machine machine;
	bool sound = false;

	prepare(&machine, section, cie, &fde->code);
	machine.builder = builder;
	machine.location = fde->start;
	machine.end = fde->end;
	if (initial) {
		machine.initial = initial;
		machine.rules = *initial;
		sound = run(&machine);
	}
	if (machine.err)
		return machine.err;
	return row_builder_add(builder, machine.location, machine.end,
			       sound ? cfa_rules_row(&machine.rules, cie->signal_frame)
				     : unsupported);
}
