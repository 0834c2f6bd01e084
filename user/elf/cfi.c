// SPDX-License-Identifier: GPL-2.0-or-later
#include "arch/cfa.h"

#include <dwarf.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"
#include "elf/byte_reader.h"

#define WORD 8

/* rt_sigframe on x86-64: ucontext at rsp, uc_mcontext at + 40, its rip the 17th register. */
#define SIGNAL_RIP_OFFSET (40 + 16 * WORD)

static const enum lm_unwind_kind kinds[] = {
	[CFA_UNSET] = LM_UNWIND_UNSUPPORTED,
	[CFA_SP] = LM_UNWIND_SP,
	[CFA_FP] = LM_UNWIND_FP,
	[CFA_OTHER_REGISTER] = LM_UNWIND_UNSUPPORTED,
	[CFA_SP_DEREF] = LM_UNWIND_SP_DEREF,
	[CFA_FP_DEREF] = LM_UNWIND_FP_DEREF,
	[CFA_PLT] = LM_UNWIND_PLT,
	[CFA_OTHER_EXPRESSION] = LM_UNWIND_UNSUPPORTED,
};

_Static_assert(ARRAY_SIZE(kinds) == CFA_MAX_, "a kind for every base");

static bool is_at(const struct saved_rule *rule, enum saved_place place, int64_t offset)
{
	return rule->place == place && rule->offset == offset;
}

static bool cfa_words(const struct cfa_rules *rules, __s16 *words)
{
	int64_t unit = rules->cfa == CFA_PLT ? 1 : WORD;

	if (rules->cfa_offset % unit || rules->cfa_offset / unit < INT16_MIN ||
	    rules->cfa_offset / unit > INT16_MAX)
		return false;
	*words = (__s16)(rules->cfa_offset / unit);
	return true;
}

/* 0 words mean "not saved", so rbp saved at the CFA itself has no row. */
static bool fp_words(const struct cfa_rules *rules, __s8 *words)
{
	const struct saved_rule *fp = &rules->saved[SAVED_FP];

	if (fp->place == SAVED_AT_CFA) {
		if (!fp->offset || fp->offset % WORD || fp->offset / WORD < INT8_MIN ||
		    fp->offset / WORD > INT8_MAX)
			return false;
		*words = (__s8)(fp->offset / WORD);
		return true;
	}
	*words = 0;
	if (rules->cfa == CFA_FP_DEREF)
		return is_at(fp, SAVED_AT_FP, 0);
	/* Whoever declares it undefined promises that the callers do not need it. */
	return fp->place == SAVED_UNSPECIFIED || fp->place == SAVED_UNDEFINED ||
	       fp->place == SAVED_SAME;
}

struct lm_unwind_row cfa_rules_row(const struct cfa_rules *rules, bool signal_frame)
{
	const struct saved_rule *ra = &rules->saved[SAVED_RA], *sp = &rules->saved[SAVED_SP];
	struct lm_unwind_row row = {.kind = (__u8)kinds[rules->cfa]};

	if (ra->place == SAVED_UNDEFINED)
		return (struct lm_unwind_row){.kind = LM_UNWIND_END};
	if (signal_frame && is_at(ra, SAVED_AT_SP, SIGNAL_RIP_OFFSET))
		return (struct lm_unwind_row){.kind = LM_UNWIND_SIGNAL};
	if (row.kind == LM_UNWIND_UNSUPPORTED || !is_at(ra, SAVED_AT_CFA, -WORD) ||
	    sp->place != SAVED_UNSPECIFIED || !cfa_words(rules, &row.cfa_words) ||
	    !fp_words(rules, &row.fp_words))
		return (struct lm_unwind_row){.kind = LM_UNWIND_UNSUPPORTED};
	return row;
}

static bool same_rule(const struct lm_unwind_row *a, const struct lm_unwind_row *b)
{
	return a->kind == b->kind && a->cfa_words == b->cfa_words && a->fp_words == b->fp_words;
}

static int push(struct row_builder *builder, uint64_t start, const struct lm_unwind_row *row)
{
	struct lm_unwind_row *pushed;

	if (builder->rows.count && same_rule(&builder->rows.items[builder->rows.count - 1], row))
		return 0;
	if (builder->rows.count >= UNWIND_MAX_ROWS)
		return -EFBIG;
	pushed = vec_push(&builder->rows);
	if (!pushed)
		return -ENOMEM;
	*pushed = *row;
	pushed->pc = (__u32)(start - builder->base);
	return 0;
}

int row_builder_add(struct row_builder *builder, uint64_t start, uint64_t end,
		    struct lm_unwind_row row)
{
	static const struct lm_unwind_row none = {.kind = LM_UNWIND_NONE};
	int error = 0;

	if (!builder->rows.count)
		builder->end = start;
	start = MAX(start, builder->end);
	if (start >= end)
		return 0;
	if (start > builder->end)
		error = push(builder, builder->end, &none);
	if (!error)
		error = push(builder, start, &row);
	if (!error)
		builder->end = end;
	return error;
}

int row_builder_finish(struct row_builder *builder)
{
	static const struct lm_unwind_row none = {.kind = LM_UNWIND_NONE};

	return builder->rows.count ? push(builder, builder->end, &none) : 0;
}

static const uint8_t plt_formula[] = {
	DW_OP_breg7, 8,		 DW_OP_breg16, 0,
	DW_OP_lit15, DW_OP_and,	 DW_OP_lit0, /* and above: where in the stub its push has been done
					      */
	DW_OP_ge,    DW_OP_lit3, DW_OP_shl,    DW_OP_plus,
};

#define PLT_LITERAL 6

static bool is_plt(const uint8_t *bytes, size_t size)
{
	return size == sizeof(plt_formula) && !memcmp(bytes, plt_formula, PLT_LITERAL) &&
	       bytes[PLT_LITERAL] >= DW_OP_lit0 && bytes[PLT_LITERAL] <= DW_OP_lit15 &&
	       !memcmp(bytes + PLT_LITERAL + 1, plt_formula + PLT_LITERAL + 1,
		       sizeof(plt_formula) - PLT_LITERAL - 1);
}

void cfa_expression_cfa(const uint8_t *bytes, size_t size, struct cfa_rules *rules)
{
	struct byte_reader reader = byte_reader(bytes, size);
	uint8_t first = byte_reader_u8(&reader);
	int64_t offset = byte_reader_sleb128(&reader);

	rules->cfa = CFA_OTHER_EXPRESSION;
	if (is_plt(bytes, size)) {
		rules->cfa = CFA_PLT;
		rules->cfa_offset = bytes[PLT_LITERAL] - DW_OP_lit0;
		return;
	}
	if (byte_reader_u8(&reader) != DW_OP_deref || reader.failed || byte_reader_left(&reader) ||
	    (first != DW_OP_breg6 && first != DW_OP_breg7))
		return;
	rules->cfa = first == DW_OP_breg6 ? CFA_FP_DEREF : CFA_SP_DEREF;
	rules->cfa_offset = offset;
}

struct saved_rule cfa_expression_saved(const uint8_t *bytes, size_t size)
{
	struct byte_reader reader = byte_reader(bytes, size);
	uint8_t first = byte_reader_u8(&reader);
	struct saved_rule rule = {.offset = byte_reader_sleb128(&reader), .place = SAVED_OTHER};

	if (reader.failed || byte_reader_left(&reader))
		return rule;
	if (first == DW_OP_breg6)
		rule.place = SAVED_AT_FP;
	else if (first == DW_OP_breg7)
		rule.place = SAVED_AT_SP;
	return rule;
}

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
	machine->error =
		row_builder_add(machine->builder, machine->location, location,
				cfa_rules_row(&machine->rules, machine->cie->signal_frame));
	machine->location = location;
	return !machine->error;
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

/* NULL: not known. */
static const struct cfa_instruction *cfa_instruction_of(uint8_t opcode)
{
	const struct cfa_instruction *instruction =
		opcode > CFA_EMBEDDED_MASK ? &primary[opcode >> 6] : &instructions[opcode];

	return instruction->execute ? instruction : NULL;
}

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
	machine->error = 0;
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
	if (machine.error)
		return machine.error;
	return row_builder_add(builder, machine.location, machine.end,
			       sound ? cfa_rules_row(&machine.rules, cie->signal_frame)
				     : unsupported);
}
