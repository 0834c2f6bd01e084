// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/cfa_program.h"

#include <dwarf.h>

#include "base/cleanup.h"
#include "unwind/byte_reader.h"
#include "unwind/cfa_expression.h"
#include "unwind/eh_pointer.h"

#define MAX_REMEMBERED 64
#define PRIMARY_MASK 0xc0
#define OPERAND_MASK 0x3f

struct machine {
	struct byte_reader code;
	struct eh_place place;
	const struct eh_cie *cie;
	const struct cfa_rules *initial;
	struct row_builder *builder; /* NULL: a CIE, which has no place in the code */
	uint64_t location, end;
	struct cfa_rules rules;
	size_t remembered_count;
	int err; /* of the builder */
	struct cfa_rules remembered[MAX_REMEMBERED];
};

enum operand {
	OPERAND_NONE,
	OPERAND_U8,
	OPERAND_U16,
	OPERAND_U32,
	OPERAND_ULEB,
	OPERAND_SLEB,
	OPERAND_ADDRESS,
	OPERAND_BLOCK,
	OPERAND_MAX_,
};

/* A block's value is its size. */
struct operands {
	uint64_t values[2];
	const uint8_t *block;
};

struct instruction {
	bool (*execute)(struct machine *machine, const struct operands *operands);
	enum operand operands[2];
};

static int64_t factored(const struct machine *machine, uint64_t value)
{
	return (int64_t)(value * (uint64_t)machine->cie->data_alignment);
}

/* NULL for the registers that a walk does not need. */
static struct saved_rule *saved_rule(struct cfa_rules *rules, uint64_t number)
{
	switch (number) {
	case DWARF_RBP:
		return &rules->saved[SAVED_FP];
	case DWARF_RSP:
		return &rules->saved[SAVED_SP];
	case DWARF_RA:
		return &rules->saved[SAVED_RA];
	}
	return NULL;
}

static bool save(struct machine *machine, uint64_t number, enum saved_place place, int64_t offset)
{
	struct saved_rule *rule = saved_rule(&machine->rules, number);

	if (rule)
		*rule = (struct saved_rule){ .offset = offset, .place = place };
	return true;
}

static bool move_to(struct machine *machine, uint64_t location)
{
	if (!machine->builder || location < machine->location)
		return false;
	location = MIN(location, machine->end);
	if (location == machine->location)
		return true;
	machine->err = row_builder_add(machine->builder, machine->location, location,
				       cfa_rules_row(&machine->rules, machine->cie->signal_frame));
	machine->location = location;
	return !machine->err;
}

static bool do_nop(struct machine *machine, const struct operands *operands)
{
	(void)machine;
	(void)operands;
	return true;
}

static bool do_set_loc(struct machine *machine, const struct operands *operands)
{
	return move_to(machine, operands->values[0]);
}

static bool do_advance(struct machine *machine, const struct operands *operands)
{
	uint64_t location;

	if (__builtin_mul_overflow(operands->values[0], machine->cie->code_alignment, &location) ||
	    __builtin_add_overflow(location, machine->location, &location))
		return false;
	return move_to(machine, location);
}

static bool do_offset(struct machine *machine, const struct operands *operands)
{
	return save(machine, operands->values[0], SAVED_AT_CFA,
		    factored(machine, operands->values[1]));
}

static bool do_negative_offset(struct machine *machine, const struct operands *operands)
{
	return save(machine, operands->values[0], SAVED_AT_CFA,
		    factored(machine, 0 - operands->values[1]));
}

static bool do_undefined(struct machine *machine, const struct operands *operands)
{
	return save(machine, operands->values[0], SAVED_UNDEFINED, 0);
}

static bool do_same_value(struct machine *machine, const struct operands *operands)
{
	return save(machine, operands->values[0], SAVED_SAME, 0);
}

static bool do_other(struct machine *machine, const struct operands *operands)
{
	return save(machine, operands->values[0], SAVED_OTHER, 0);
}

/* rsp = CFA + 0 is the psABI's own rule, said aloud. */
static bool do_val_offset(struct machine *machine, const struct operands *operands)
{
	bool usual = operands->values[0] == DWARF_RSP && !operands->values[1];

	return save(machine, operands->values[0], usual ? SAVED_UNSPECIFIED : SAVED_OTHER, 0);
}

static bool do_expression(struct machine *machine, const struct operands *operands)
{
	struct saved_rule rule = cfa_expression_saved(operands->block, operands->values[1]);

	return save(machine, operands->values[0], rule.place, rule.offset);
}

static bool do_restore(struct machine *machine, const struct operands *operands)
{
	struct cfa_rules initial;

	if (!machine->initial)
		return false;
	initial = *machine->initial;
	if (saved_rule(&initial, operands->values[0]))
		*saved_rule(&machine->rules, operands->values[0]) =
			*saved_rule(&initial, operands->values[0]);
	return true;
}

static bool do_remember(struct machine *machine, const struct operands *operands)
{
	(void)operands;
	if (machine->remembered_count == MAX_REMEMBERED)
		return false;
	machine->remembered[machine->remembered_count++] = machine->rules;
	return true;
}

/* The CFA comes back too, as every producer means it. */
static bool do_restore_state(struct machine *machine, const struct operands *operands)
{
	(void)operands;
	if (!machine->remembered_count)
		return false;
	machine->rules = machine->remembered[--machine->remembered_count];
	return true;
}

static enum cfa_base base_of(uint64_t number)
{
	if (number == DWARF_RSP)
		return CFA_SP;
	return number == DWARF_RBP ? CFA_FP : CFA_OTHER_REGISTER;
}

static bool do_def_cfa(struct machine *machine, const struct operands *operands)
{
	machine->rules.cfa = base_of(operands->values[0]);
	machine->rules.cfa_offset = (int64_t)operands->values[1];
	return true;
}

static bool do_def_cfa_sf(struct machine *machine, const struct operands *operands)
{
	machine->rules.cfa = base_of(operands->values[0]);
	machine->rules.cfa_offset = factored(machine, operands->values[1]);
	return true;
}

/* Changing half of a rule needs a rule of that kind (DWARF 5, 6.4.2.2). */
static bool do_def_cfa_register(struct machine *machine, const struct operands *operands)
{
	if (!cfa_is_register(machine->rules.cfa))
		return false;
	machine->rules.cfa = base_of(operands->values[0]);
	return true;
}

static bool do_def_cfa_offset(struct machine *machine, const struct operands *operands)
{
	machine->rules.cfa_offset = (int64_t)operands->values[0];
	return cfa_is_register(machine->rules.cfa);
}

static bool do_def_cfa_offset_sf(struct machine *machine, const struct operands *operands)
{
	machine->rules.cfa_offset = factored(machine, operands->values[0]);
	return cfa_is_register(machine->rules.cfa);
}

static bool do_def_cfa_expression(struct machine *machine, const struct operands *operands)
{
	cfa_expression_cfa(operands->block, operands->values[0], &machine->rules);
	return true;
}

static const struct instruction instructions[OPERAND_MASK + 1] = {
	[DW_CFA_nop] = { do_nop, {0} },
	[DW_CFA_set_loc] = { do_set_loc, { OPERAND_ADDRESS } },
	[DW_CFA_advance_loc1] = { do_advance, { OPERAND_U8 } },
	[DW_CFA_advance_loc2] = { do_advance, { OPERAND_U16 } },
	[DW_CFA_advance_loc4] = { do_advance, { OPERAND_U32 } },
	[DW_CFA_offset_extended] = { do_offset, { OPERAND_ULEB, OPERAND_ULEB } },
	[DW_CFA_restore_extended] = { do_restore, { OPERAND_ULEB } },
	[DW_CFA_undefined] = { do_undefined, { OPERAND_ULEB } },
	[DW_CFA_same_value] = { do_same_value, { OPERAND_ULEB } },
	[DW_CFA_register] = { do_other, { OPERAND_ULEB, OPERAND_ULEB } },
	[DW_CFA_remember_state] = { do_remember, {0} },
	[DW_CFA_restore_state] = { do_restore_state, {0} },
	[DW_CFA_def_cfa] = { do_def_cfa, { OPERAND_ULEB, OPERAND_ULEB } },
	[DW_CFA_def_cfa_register] = { do_def_cfa_register, { OPERAND_ULEB } },
	[DW_CFA_def_cfa_offset] = { do_def_cfa_offset, { OPERAND_ULEB } },
	[DW_CFA_def_cfa_expression] = { do_def_cfa_expression, { OPERAND_BLOCK } },
	[DW_CFA_expression] = { do_expression, { OPERAND_ULEB, OPERAND_BLOCK } },
	[DW_CFA_offset_extended_sf] = { do_offset, { OPERAND_ULEB, OPERAND_SLEB } },
	[DW_CFA_def_cfa_sf] = { do_def_cfa_sf, { OPERAND_ULEB, OPERAND_SLEB } },
	[DW_CFA_def_cfa_offset_sf] = { do_def_cfa_offset_sf, { OPERAND_SLEB } },
	[DW_CFA_val_offset] = { do_val_offset, { OPERAND_ULEB, OPERAND_ULEB } },
	[DW_CFA_val_offset_sf] = { do_val_offset, { OPERAND_ULEB, OPERAND_SLEB } },
	[DW_CFA_val_expression] = { do_other, { OPERAND_ULEB, OPERAND_BLOCK } },
	[DW_CFA_GNU_args_size] = { do_nop, { OPERAND_ULEB } },
	[DW_CFA_GNU_negative_offset_extended] = { do_negative_offset,
						  { OPERAND_ULEB, OPERAND_ULEB } },
};

static uint64_t read_operand(struct machine *machine, enum operand kind, struct operands *operands)
{
	static const uint8_t sizes[OPERAND_MAX_] = {
		[OPERAND_U8] = 1, [OPERAND_U16] = 2, [OPERAND_U32] = 4
	};
	struct byte_reader *code = &machine->code;
	uint64_t value = 0;

	if (sizes[kind])
		return byte_reader_fixed(code, sizes[kind]);
	if (kind == OPERAND_ULEB)
		return byte_reader_uleb128(code);
	if (kind == OPERAND_SLEB)
		return (uint64_t)byte_reader_sleb128(code);
	if (kind == OPERAND_BLOCK) {
		value = byte_reader_uleb128(code);
		operands->block = byte_reader_take(code, value);
	} else if (kind == OPERAND_ADDRESS &&
		   !eh_pointer_read(code, machine->cie->pointer_encoding, &machine->place, &value)) {
		byte_reader_fail(code);
	}
	return value;
}

static bool step_extended(struct machine *machine, uint8_t opcode)
{
	const struct instruction *instruction = &instructions[opcode];
	struct operands operands = {0};

	if (!instruction->execute)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(instruction->operands); i++) {
		if (instruction->operands[i] == OPERAND_NONE)
			break;
		operands.values[i] = read_operand(machine, instruction->operands[i], &operands);
	}
	return !machine->code.failed && instruction->execute(machine, &operands);
}

/* The three most frequent instructions have an operand inside the opcode. */
static bool step(struct machine *machine)
{
	uint8_t opcode = byte_reader_u8(&machine->code);
	struct operands operands = { .values = { opcode & OPERAND_MASK } };

	switch (opcode & PRIMARY_MASK) {
	case DW_CFA_advance_loc:
		return do_advance(machine, &operands);
	case DW_CFA_offset:
		operands.values[1] = byte_reader_uleb128(&machine->code);
		return !machine->code.failed && do_offset(machine, &operands);
	case DW_CFA_restore:
		return do_restore(machine, &operands);
	}
	return step_extended(machine, opcode);
}

static bool run(struct machine *machine)
{
	while (byte_reader_left(&machine->code))
		if (!step(machine))
			return false;
	return true;
}

/* Field by field: a struct literal would clear the stack for every function. */
static void prepare(struct machine *machine, const struct eh_section *section,
		    const struct eh_cie *cie, const struct eh_code *code)
{
	machine->code = byte_reader(section->bytes + code->offset, code->size);
	machine->place = (struct eh_place){ section->bytes, section->address };
	machine->cie = cie;
	machine->initial = NULL;
	machine->builder = NULL;
	machine->remembered_count = 0;
	machine->err = 0;
}

bool cfa_program_initial(const struct eh_section *section, const struct eh_cie *cie,
			 struct cfa_rules *rules)
{
	struct machine machine;

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
	static const struct lm_unwind_row unsupported = { .kind = LM_UNWIND_UNSUPPORTED };
	struct machine machine;
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
			       sound ? cfa_rules_row(&machine.rules, cie->signal_frame) :
				       unsupported);
}
