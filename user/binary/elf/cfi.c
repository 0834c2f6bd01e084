// SPDX-License-Identifier: GPL-2.0-or-later
#include "binary/elf/cfi.h"

#include <dwarf.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"
#include "binary/elf/byte_reader.h"
#include "binary/elf/elf_abi.h"

#define WORD 8

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

static bool saved_words(int64_t offset, __s8 *words)
{
	if (offset % WORD || offset / WORD < INT8_MIN || offset / WORD > INT8_MAX)
		return false;
	*words = (__s8)(offset / WORD);
	return true;
}

/* Also if a rule states that callers do not need it. */
static bool is_unsaved(const struct saved_rule *rule)
{
	return rule->place == SAVED_UNSPECIFIED || rule->place == SAVED_UNDEFINED ||
	       rule->place == SAVED_SAME;
}

/* 0 words mean "not saved", so fp saved at the CFA itself has no row. */
static bool fp_words(const struct cfa_rules *rules, __s8 *words)
{
	const struct saved_rule *fp = &rules->saved[SAVED_FP];

	if (fp->place == SAVED_AT_CFA)
		return fp->offset && saved_words(fp->offset, words);
	*words = 0;
	return rules->cfa == CFA_FP_DEREF ? is_at(fp, SAVED_AT_FP, 0) : is_unsaved(fp);
}

/* A return address left in a register by the call: saved just above fp, alone, or still there. */
static bool link_words(const struct cfa_rules *rules, struct lm_unwind_row *row)
{
	const struct saved_rule *ra = &rules->saved[SAVED_RA], *fp = &rules->saved[SAVED_FP];
	int64_t record;

	if (is_unsaved(ra))
		return fp_words(rules, &row->fp_words);
	if (ra->place != SAVED_AT_CFA)
		return false;
	if (fp->place == SAVED_AT_CFA && fp->offset == ra->offset - WORD) {
		if (rules->cfa != CFA_SP && rules->cfa != CFA_FP)
			return false;
		if (!__builtin_add_overflow(rules->cfa_offset, fp->offset, &record) &&
		    saved_words(record, &row->fp_words)) {
			row->kind |= LM_RETURN_IN_RECORD;
			return true;
		}
		row->kind |= LM_RETURN_BY_CFA;
		return fp->offset && saved_words(fp->offset, &row->fp_words);
	}
	row->kind |= LM_RETURN_ALONE;
	return is_unsaved(fp) && saved_words(ra->offset, &row->fp_words);
}

static bool return_words(const struct cfi_abi *abi, const struct cfa_rules *rules,
			 struct lm_unwind_row *row)
{
	if (!abi->frame->return_words)
		return link_words(rules, row);
	return is_at(&rules->saved[SAVED_RA], SAVED_AT_CFA, abi->frame->return_words * WORD) &&
	       fp_words(rules, &row->fp_words);
}

struct lm_unwind_row cfi_row(const struct cfi_abi *abi, const struct cfa_rules *rules,
			     bool signal_frame)
{
	const struct saved_rule *ra = &rules->saved[SAVED_RA], *sp = &rules->saved[SAVED_SP];
	struct lm_unwind_row row = {.kind = (__u8)kinds[rules->cfa]};

	if (ra->place == SAVED_UNDEFINED)
		return (struct lm_unwind_row){.kind = LM_UNWIND_END};
	if (signal_frame && is_at(ra, abi->signal_return.place, abi->signal_return.offset))
		return (struct lm_unwind_row){.kind = LM_UNWIND_SIGNAL};
	if (row.kind == LM_UNWIND_UNSUPPORTED || sp->place != SAVED_UNSPECIFIED ||
	    !cfa_words(rules, &row.cfa_words) || !return_words(abi, rules, &row))
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

static bool is_plt(const struct cfi_plt_formula *plt, const uint8_t *bytes, size_t size)
{
	size_t at = plt->literal;

	return size && size == plt->size && !memcmp(bytes, plt->bytes, at) &&
	       bytes[at] >= DW_OP_lit0 && bytes[at] <= DW_OP_lit15 &&
	       !memcmp(bytes + at + 1, plt->bytes + at + 1, size - at - 1);
}

void cfi_expression_cfa(const struct cfi_abi *abi, const uint8_t *bytes, size_t size,
			struct cfa_rules *rules)
{
	struct byte_reader reader = byte_reader(bytes, size);
	uint8_t first = byte_reader_u8(&reader);
	int64_t offset = byte_reader_sleb128(&reader);

	rules->cfa = CFA_OTHER_EXPRESSION;
	if (is_plt(&abi->plt, bytes, size)) {
		rules->cfa = CFA_PLT;
		rules->cfa_offset = bytes[abi->plt.literal] - DW_OP_lit0;
		return;
	}
	if (byte_reader_u8(&reader) != DW_OP_deref || reader.failed || byte_reader_left(&reader) ||
	    (first != DW_OP_breg0 + abi->fp && first != DW_OP_breg0 + abi->sp))
		return;
	rules->cfa = first == DW_OP_breg0 + abi->fp ? CFA_FP_DEREF : CFA_SP_DEREF;
	rules->cfa_offset = offset;
}

struct saved_rule cfi_expression_saved(const struct cfi_abi *abi, const uint8_t *bytes, size_t size)
{
	struct byte_reader reader = byte_reader(bytes, size);
	uint8_t first = byte_reader_u8(&reader);
	struct saved_rule rule = {.offset = byte_reader_sleb128(&reader), .place = SAVED_OTHER};

	if (reader.failed || byte_reader_left(&reader))
		return rule;
	if (first == DW_OP_breg0 + abi->fp)
		rule.place = SAVED_AT_FP;
	else if (first == DW_OP_breg0 + abi->sp)
		rule.place = SAVED_AT_SP;
	return rule;
}

/*
 * Call frame instructions: DW_CFA_* of DWARF 5, 6.4.2 and 7.24, and GNU extensions of LSB Core 5.0,
 * 10.5.3.
 */

#define CFI_MAX_REMEMBERED 64
#define CFI_EMBEDDED_MASK 0x3f

struct cfi_machine {
	struct byte_reader code;
	struct eh_place place;
	const struct eh_cie *cie;
	const struct cfi_abi *abi;
	const struct cfa_rules *initial; /* NULL: a CIE, which has no state to restore */
	struct row_builder *builder;	 /* NULL: a CIE, which covers no code */
	uint64_t location, end;
	struct cfa_rules rules;
	size_t remembered_count;
	int error; /* from the builder */
	struct cfa_rules remembered[CFI_MAX_REMEMBERED];
};

enum cfi_operand {
	CFI_OPERAND_NONE,
	CFI_OPERAND_EMBEDDED, /* in the opcode's low 6 bits */
	CFI_OPERAND_U8,
	CFI_OPERAND_U16,
	CFI_OPERAND_U32,
	CFI_OPERAND_ULEB,
	CFI_OPERAND_SLEB,
	CFI_OPERAND_ADDRESS,
	CFI_OPERAND_BLOCK,
	CFI_OPERAND_MAX_,
};

/* A block's value is its size. */
struct cfi_operands {
	uint64_t values[2];
	const uint8_t *block;
};

struct cfi_instruction {
	/* Returns false if it breaks DWARF's rules, or sets machine->error. */
	bool (*execute)(struct cfi_machine *machine, const struct cfi_operands *operands);
	enum cfi_operand operands[2];
};

static int64_t factored(const struct cfi_machine *machine, uint64_t value)
{
	return (int64_t)(value * (uint64_t)machine->cie->data_alignment);
}

/* Returns NULL for registers that a walk does not need. */
static struct saved_rule *saved_rule(const struct cfi_abi *abi, struct cfa_rules *rules,
				     uint64_t number)
{
	if (number == abi->fp)
		return &rules->saved[SAVED_FP];
	if (number == abi->sp)
		return &rules->saved[SAVED_SP];
	return number == abi->return_column ? &rules->saved[SAVED_RA] : NULL;
}

static bool save(struct cfi_machine *machine, uint64_t number, enum saved_place place,
		 int64_t offset)
{
	struct saved_rule *rule = saved_rule(machine->abi, &machine->rules, number);

	if (rule)
		*rule = (struct saved_rule){.offset = offset, .place = place};
	return true;
}

static bool move_to(struct cfi_machine *machine, uint64_t location)
{
	if (!machine->builder || location < machine->location)
		return false;
	location = MIN(location, machine->end);
	if (location == machine->location)
		return true;
	machine->error =
		row_builder_add(machine->builder, machine->location, location,
				cfi_row(machine->abi, &machine->rules, machine->cie->signal_frame));
	machine->location = location;
	return !machine->error;
}

static bool do_nop(struct cfi_machine *machine, const struct cfi_operands *operands)
{
	(void)machine;
	(void)operands;
	return true;
}

static bool do_set_loc(struct cfi_machine *machine, const struct cfi_operands *operands)
{
	return move_to(machine, operands->values[0]);
}

static bool do_advance(struct cfi_machine *machine, const struct cfi_operands *operands)
{
	uint64_t location;

	if (__builtin_mul_overflow(operands->values[0], machine->cie->code_alignment, &location) ||
	    __builtin_add_overflow(location, machine->location, &location))
		return false;
	return move_to(machine, location);
}

static bool do_offset(struct cfi_machine *machine, const struct cfi_operands *operands)
{
	return save(machine, operands->values[0], SAVED_AT_CFA,
		    factored(machine, operands->values[1]));
}

static bool do_negative_offset(struct cfi_machine *machine, const struct cfi_operands *operands)
{
	return save(machine, operands->values[0], SAVED_AT_CFA,
		    factored(machine, 0 - operands->values[1]));
}

static bool do_undefined(struct cfi_machine *machine, const struct cfi_operands *operands)
{
	return save(machine, operands->values[0], SAVED_UNDEFINED, 0);
}

static bool do_same_value(struct cfi_machine *machine, const struct cfi_operands *operands)
{
	return save(machine, operands->values[0], SAVED_SAME, 0);
}

static bool do_other(struct cfi_machine *machine, const struct cfi_operands *operands)
{
	return save(machine, operands->values[0], SAVED_OTHER, 0);
}

/* sp = CFA + 0 is the psABI's own rule, made explicit. */
static bool do_val_offset(struct cfi_machine *machine, const struct cfi_operands *operands)
{
	bool usual = operands->values[0] == machine->abi->sp && !operands->values[1];

	return save(machine, operands->values[0], usual ? SAVED_UNSPECIFIED : SAVED_OTHER, 0);
}

static bool do_expression(struct cfi_machine *machine, const struct cfi_operands *operands)
{
	struct saved_rule rule =
		cfi_expression_saved(machine->abi, operands->block, operands->values[1]);

	return save(machine, operands->values[0], rule.place, rule.offset);
}

static bool do_restore(struct cfi_machine *machine, const struct cfi_operands *operands)
{
	struct saved_rule *rule = saved_rule(machine->abi, &machine->rules, operands->values[0]);
	struct cfa_rules initial;

	if (!machine->initial)
		return false;
	initial = *machine->initial;
	if (rule)
		*rule = *saved_rule(machine->abi, &initial, operands->values[0]);
	return true;
}

static bool do_remember(struct cfi_machine *machine, const struct cfi_operands *operands)
{
	(void)operands;
	if (machine->remembered_count == CFI_MAX_REMEMBERED)
		return false;
	machine->remembered[machine->remembered_count++] = machine->rules;
	return true;
}

/* The CFA is restored, too, as all producers assume. */
static bool do_restore_state(struct cfi_machine *machine, const struct cfi_operands *operands)
{
	(void)operands;
	if (!machine->remembered_count)
		return false;
	machine->rules = machine->remembered[--machine->remembered_count];
	return true;
}

static enum cfa_base base_of(const struct cfi_machine *machine, uint64_t number)
{
	if (number == machine->abi->sp)
		return CFA_SP;
	return number == machine->abi->fp ? CFA_FP : CFA_OTHER_REGISTER;
}

static bool do_def_cfa(struct cfi_machine *machine, const struct cfi_operands *operands)
{
	machine->rules.cfa = base_of(machine, operands->values[0]);
	machine->rules.cfa_offset = (int64_t)operands->values[1];
	return true;
}

static bool do_def_cfa_sf(struct cfi_machine *machine, const struct cfi_operands *operands)
{
	machine->rules.cfa = base_of(machine, operands->values[0]);
	machine->rules.cfa_offset = factored(machine, operands->values[1]);
	return true;
}

/* Changing half of a rule requires a rule of that kind (DWARF 5, 6.4.2.2). */
static bool do_def_cfa_register(struct cfi_machine *machine, const struct cfi_operands *operands)
{
	if (!cfa_is_register(machine->rules.cfa))
		return false;
	machine->rules.cfa = base_of(machine, operands->values[0]);
	return true;
}

static bool do_def_cfa_offset(struct cfi_machine *machine, const struct cfi_operands *operands)
{
	machine->rules.cfa_offset = (int64_t)operands->values[0];
	return cfa_is_register(machine->rules.cfa);
}

static bool do_def_cfa_offset_sf(struct cfi_machine *machine, const struct cfi_operands *operands)
{
	machine->rules.cfa_offset = factored(machine, operands->values[0]);
	return cfa_is_register(machine->rules.cfa);
}

static bool do_def_cfa_expression(struct cfi_machine *machine, const struct cfi_operands *operands)
{
	cfi_expression_cfa(machine->abi, operands->block, operands->values[0], &machine->rules);
	return true;
}

/* By the two highest bits of the opcode, if not 0. */
static const struct cfi_instruction primary[] = {
	[DW_CFA_advance_loc >> 6] = {do_advance, {CFI_OPERAND_EMBEDDED}},
	[DW_CFA_offset >> 6] = {do_offset, {CFI_OPERAND_EMBEDDED, CFI_OPERAND_ULEB}},
	[DW_CFA_restore >> 6] = {do_restore, {CFI_OPERAND_EMBEDDED}},
};

static const struct cfi_instruction instructions[CFI_EMBEDDED_MASK + 1] = {
	[DW_CFA_nop] = {do_nop, {0}},
	[DW_CFA_set_loc] = {do_set_loc, {CFI_OPERAND_ADDRESS}},
	[DW_CFA_advance_loc1] = {do_advance, {CFI_OPERAND_U8}},
	[DW_CFA_advance_loc2] = {do_advance, {CFI_OPERAND_U16}},
	[DW_CFA_advance_loc4] = {do_advance, {CFI_OPERAND_U32}},
	[DW_CFA_offset_extended] = {do_offset, {CFI_OPERAND_ULEB, CFI_OPERAND_ULEB}},
	[DW_CFA_restore_extended] = {do_restore, {CFI_OPERAND_ULEB}},
	[DW_CFA_undefined] = {do_undefined, {CFI_OPERAND_ULEB}},
	[DW_CFA_same_value] = {do_same_value, {CFI_OPERAND_ULEB}},
	[DW_CFA_register] = {do_other, {CFI_OPERAND_ULEB, CFI_OPERAND_ULEB}},
	[DW_CFA_remember_state] = {do_remember, {0}},
	[DW_CFA_restore_state] = {do_restore_state, {0}},
	[DW_CFA_def_cfa] = {do_def_cfa, {CFI_OPERAND_ULEB, CFI_OPERAND_ULEB}},
	[DW_CFA_def_cfa_register] = {do_def_cfa_register, {CFI_OPERAND_ULEB}},
	[DW_CFA_def_cfa_offset] = {do_def_cfa_offset, {CFI_OPERAND_ULEB}},
	[DW_CFA_def_cfa_expression] = {do_def_cfa_expression, {CFI_OPERAND_BLOCK}},
	[DW_CFA_expression] = {do_expression, {CFI_OPERAND_ULEB, CFI_OPERAND_BLOCK}},
	[DW_CFA_offset_extended_sf] = {do_offset, {CFI_OPERAND_ULEB, CFI_OPERAND_SLEB}},
	[DW_CFA_def_cfa_sf] = {do_def_cfa_sf, {CFI_OPERAND_ULEB, CFI_OPERAND_SLEB}},
	[DW_CFA_def_cfa_offset_sf] = {do_def_cfa_offset_sf, {CFI_OPERAND_SLEB}},
	[DW_CFA_val_offset] = {do_val_offset, {CFI_OPERAND_ULEB, CFI_OPERAND_ULEB}},
	[DW_CFA_val_offset_sf] = {do_val_offset, {CFI_OPERAND_ULEB, CFI_OPERAND_SLEB}},
	[DW_CFA_val_expression] = {do_other, {CFI_OPERAND_ULEB, CFI_OPERAND_BLOCK}},
	[DW_CFA_GNU_args_size] = {do_nop, {CFI_OPERAND_ULEB}},
	[DW_CFA_GNU_negative_offset_extended] = {do_negative_offset,
						 {CFI_OPERAND_ULEB, CFI_OPERAND_ULEB}},
};

/* Returns NULL if unknown. */
static const struct cfi_instruction *cfi_instruction_of(const struct cfi_abi *abi, uint8_t opcode)
{
	const struct cfi_instruction *instruction =
		opcode > CFI_EMBEDDED_MASK ? &primary[opcode >> 6] : &instructions[opcode];

	if (opcode == abi->no_effect)
		return &instructions[DW_CFA_nop];
	return instruction->execute ? instruction : NULL;
}

static uint64_t read_operand(struct cfi_machine *machine, enum cfi_operand kind,
			     struct cfi_operands *operands)
{
	static const uint8_t sizes[CFI_OPERAND_MAX_] = {
		[CFI_OPERAND_U8] = 1, [CFI_OPERAND_U16] = 2, [CFI_OPERAND_U32] = 4};
	struct byte_reader *code = &machine->code;
	uint64_t value = 0;

	if (sizes[kind])
		return byte_reader_fixed(code, sizes[kind]);
	if (kind == CFI_OPERAND_ULEB)
		return byte_reader_uleb128(code);
	if (kind == CFI_OPERAND_SLEB)
		return (uint64_t)byte_reader_sleb128(code);
	if (kind == CFI_OPERAND_BLOCK) {
		value = byte_reader_uleb128(code);
		operands->block = byte_reader_take(code, value);
	} else if (kind == CFI_OPERAND_ADDRESS &&
		   !eh_pointer_read(code, machine->cie->pointer_encoding, &machine->place,
				    &value)) {
		byte_reader_fail(code);
	}
	return value;
}

static bool step(struct cfi_machine *machine)
{
	uint8_t opcode = byte_reader_u8(&machine->code);
	const struct cfi_instruction *instruction = cfi_instruction_of(machine->abi, opcode);
	struct cfi_operands operands = {0};

	if (!instruction)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(instruction->operands); i++) {
		enum cfi_operand kind = instruction->operands[i];

		if (kind == CFI_OPERAND_NONE)
			break;
		operands.values[i] = kind == CFI_OPERAND_EMBEDDED
					     ? opcode & CFI_EMBEDDED_MASK
					     : read_operand(machine, kind, &operands);
	}
	return !machine->code.failed && instruction->execute(machine, &operands);
}

static bool run(struct cfi_machine *machine)
{
	while (byte_reader_left(&machine->code))
		if (!step(machine))
			return false;
	return true;
}

/* Field by field: a struct literal would clear the stack array for every function. */
static void prepare(struct cfi_machine *machine, const struct eh_section *section,
		    const struct eh_cie *cie, const struct eh_code *code)
{
	machine->code = byte_reader(section->bytes + code->offset, code->size);
	machine->place = (struct eh_place){section->bytes, section->address};
	machine->cie = cie;
	machine->abi = &section->abi->cfi;
	machine->initial = NULL;
	machine->builder = NULL;
	machine->remembered_count = 0;
	machine->error = 0;
}

bool cfi_run_cie(const struct eh_section *section, const struct eh_cie *cie,
		 struct cfa_rules *rules)
{
	struct cfi_machine machine;

	prepare(&machine, section, cie, &cie->code);
	memset(&machine.rules, 0, sizeof(machine.rules));
	if (!run(&machine))
		return false;
	*rules = machine.rules;
	return true;
}

int cfi_run_fde(const struct eh_section *section, const struct eh_cie *cie,
		const struct eh_fde *fde, const struct cfa_rules *initial,
		struct row_builder *builder)
{
	static const struct lm_unwind_row unsupported = {.kind = LM_UNWIND_UNSUPPORTED};
	struct cfi_machine machine;
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
			       sound ? cfi_row(machine.abi, &machine.rules, cie->signal_frame)
				     : unsupported);
}
