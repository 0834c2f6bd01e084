// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/cfa_instructions.h"

#include <dwarf.h>

#include "base/cleanup.h"
#include "unwind/cfa_expression.h"

static int64_t factored(const struct cfa_machine *machine, uint64_t value)
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

static bool save(struct cfa_machine *machine, uint64_t number, enum saved_place place,
		 int64_t offset)
{
	struct saved_rule *rule = saved_rule(&machine->rules, number);

	if (rule)
		*rule = (struct saved_rule){.offset = offset, .place = place};
	return true;
}

static bool move_to(struct cfa_machine *machine, uint64_t location)
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

static bool do_nop(struct cfa_machine *machine, const struct cfa_operands *operands)
{
	(void)machine;
	(void)operands;
	return true;
}

static bool do_set_loc(struct cfa_machine *machine, const struct cfa_operands *operands)
{
	return move_to(machine, operands->values[0]);
}

static bool do_advance(struct cfa_machine *machine, const struct cfa_operands *operands)
{
	uint64_t location;

	if (__builtin_mul_overflow(operands->values[0], machine->cie->code_alignment, &location) ||
	    __builtin_add_overflow(location, machine->location, &location))
		return false;
	return move_to(machine, location);
}

static bool do_offset(struct cfa_machine *machine, const struct cfa_operands *operands)
{
	return save(machine, operands->values[0], SAVED_AT_CFA,
		    factored(machine, operands->values[1]));
}

static bool do_negative_offset(struct cfa_machine *machine, const struct cfa_operands *operands)
{
	return save(machine, operands->values[0], SAVED_AT_CFA,
		    factored(machine, 0 - operands->values[1]));
}

static bool do_undefined(struct cfa_machine *machine, const struct cfa_operands *operands)
{
	return save(machine, operands->values[0], SAVED_UNDEFINED, 0);
}

static bool do_same_value(struct cfa_machine *machine, const struct cfa_operands *operands)
{
	return save(machine, operands->values[0], SAVED_SAME, 0);
}

static bool do_other(struct cfa_machine *machine, const struct cfa_operands *operands)
{
	return save(machine, operands->values[0], SAVED_OTHER, 0);
}

/* rsp = CFA + 0 is the psABI's own rule, said aloud. */
static bool do_val_offset(struct cfa_machine *machine, const struct cfa_operands *operands)
{
	bool usual = operands->values[0] == DWARF_RSP && !operands->values[1];

	return save(machine, operands->values[0], usual ? SAVED_UNSPECIFIED : SAVED_OTHER, 0);
}

static bool do_expression(struct cfa_machine *machine, const struct cfa_operands *operands)
{
	struct saved_rule rule = cfa_expression_saved(operands->block, operands->values[1]);

	return save(machine, operands->values[0], rule.place, rule.offset);
}

static bool do_restore(struct cfa_machine *machine, const struct cfa_operands *operands)
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

static bool do_remember(struct cfa_machine *machine, const struct cfa_operands *operands)
{
	(void)operands;
	if (machine->remembered_count == CFA_MAX_REMEMBERED)
		return false;
	machine->remembered[machine->remembered_count++] = machine->rules;
	return true;
}

/* The CFA comes back too, as every producer means it. */
static bool do_restore_state(struct cfa_machine *machine, const struct cfa_operands *operands)
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

static bool do_def_cfa(struct cfa_machine *machine, const struct cfa_operands *operands)
{
	machine->rules.cfa = base_of(operands->values[0]);
	machine->rules.cfa_offset = (int64_t)operands->values[1];
	return true;
}

static bool do_def_cfa_sf(struct cfa_machine *machine, const struct cfa_operands *operands)
{
	machine->rules.cfa = base_of(operands->values[0]);
	machine->rules.cfa_offset = factored(machine, operands->values[1]);
	return true;
}

/* Changing half of a rule needs a rule of that kind (DWARF 5, 6.4.2.2). */
static bool do_def_cfa_register(struct cfa_machine *machine, const struct cfa_operands *operands)
{
	if (!cfa_is_register(machine->rules.cfa))
		return false;
	machine->rules.cfa = base_of(operands->values[0]);
	return true;
}

static bool do_def_cfa_offset(struct cfa_machine *machine, const struct cfa_operands *operands)
{
	machine->rules.cfa_offset = (int64_t)operands->values[0];
	return cfa_is_register(machine->rules.cfa);
}

static bool do_def_cfa_offset_sf(struct cfa_machine *machine, const struct cfa_operands *operands)
{
	machine->rules.cfa_offset = factored(machine, operands->values[0]);
	return cfa_is_register(machine->rules.cfa);
}

static bool do_def_cfa_expression(struct cfa_machine *machine, const struct cfa_operands *operands)
{
	cfa_expression_cfa(operands->block, operands->values[0], &machine->rules);
	return true;
}

/* By the two highest bits of the opcode, where they are not 0. */
static const struct cfa_instruction primary[] = {
	[DW_CFA_advance_loc >> 6] = {do_advance, {CFA_OPERAND_EMBEDDED}},
	[DW_CFA_offset >> 6] = {do_offset, {CFA_OPERAND_EMBEDDED, CFA_OPERAND_ULEB}},
	[DW_CFA_restore >> 6] = {do_restore, {CFA_OPERAND_EMBEDDED}},
};

static const struct cfa_instruction instructions[CFA_EMBEDDED_MASK + 1] = {
	[DW_CFA_nop] = {do_nop, {0}},
	[DW_CFA_set_loc] = {do_set_loc, {CFA_OPERAND_ADDRESS}},
	[DW_CFA_advance_loc1] = {do_advance, {CFA_OPERAND_U8}},
	[DW_CFA_advance_loc2] = {do_advance, {CFA_OPERAND_U16}},
	[DW_CFA_advance_loc4] = {do_advance, {CFA_OPERAND_U32}},
	[DW_CFA_offset_extended] = {do_offset, {CFA_OPERAND_ULEB, CFA_OPERAND_ULEB}},
	[DW_CFA_restore_extended] = {do_restore, {CFA_OPERAND_ULEB}},
	[DW_CFA_undefined] = {do_undefined, {CFA_OPERAND_ULEB}},
	[DW_CFA_same_value] = {do_same_value, {CFA_OPERAND_ULEB}},
	[DW_CFA_register] = {do_other, {CFA_OPERAND_ULEB, CFA_OPERAND_ULEB}},
	[DW_CFA_remember_state] = {do_remember, {0}},
	[DW_CFA_restore_state] = {do_restore_state, {0}},
	[DW_CFA_def_cfa] = {do_def_cfa, {CFA_OPERAND_ULEB, CFA_OPERAND_ULEB}},
	[DW_CFA_def_cfa_register] = {do_def_cfa_register, {CFA_OPERAND_ULEB}},
	[DW_CFA_def_cfa_offset] = {do_def_cfa_offset, {CFA_OPERAND_ULEB}},
	[DW_CFA_def_cfa_expression] = {do_def_cfa_expression, {CFA_OPERAND_BLOCK}},
	[DW_CFA_expression] = {do_expression, {CFA_OPERAND_ULEB, CFA_OPERAND_BLOCK}},
	[DW_CFA_offset_extended_sf] = {do_offset, {CFA_OPERAND_ULEB, CFA_OPERAND_SLEB}},
	[DW_CFA_def_cfa_sf] = {do_def_cfa_sf, {CFA_OPERAND_ULEB, CFA_OPERAND_SLEB}},
	[DW_CFA_def_cfa_offset_sf] = {do_def_cfa_offset_sf, {CFA_OPERAND_SLEB}},
	[DW_CFA_val_offset] = {do_val_offset, {CFA_OPERAND_ULEB, CFA_OPERAND_ULEB}},
	[DW_CFA_val_offset_sf] = {do_val_offset, {CFA_OPERAND_ULEB, CFA_OPERAND_SLEB}},
	[DW_CFA_val_expression] = {do_other, {CFA_OPERAND_ULEB, CFA_OPERAND_BLOCK}},
	[DW_CFA_GNU_args_size] = {do_nop, {CFA_OPERAND_ULEB}},
	[DW_CFA_GNU_negative_offset_extended] = {do_negative_offset,
						 {CFA_OPERAND_ULEB, CFA_OPERAND_ULEB}},
};

const struct cfa_instruction *cfa_instruction_of(uint8_t opcode)
{
	const struct cfa_instruction *instruction =
		opcode > CFA_EMBEDDED_MASK ? &primary[opcode >> 6] : &instructions[opcode];

	return instruction->execute ? instruction : NULL;
}
