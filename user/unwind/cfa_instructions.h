/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What each call frame instruction does: DW_CFA_* of DWARF 5, 6.4.2 and 7.24, and the GNU ones of
 * LSB Core 5.0, 10.5.3. For cfa_program.c only.
 */
#ifndef LEAKMON_UNWIND_CFA_INSTRUCTIONS_H
#define LEAKMON_UNWIND_CFA_INSTRUCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/byte_reader.h"
#include "unwind/cfa_rules.h"
#include "unwind/eh_frame.h"
#include "unwind/eh_pointer.h"
#include "unwind/row_builder.h"

#define CFA_MAX_REMEMBERED 64
#define CFA_EMBEDDED_MASK 0x3f

struct cfa_machine {
	struct byte_reader code;
	struct eh_place place;
	const struct eh_cie *cie;
	const struct cfa_rules *initial; /* NULL: a CIE, which has nothing to restore */
	struct row_builder *builder;	 /* NULL: a CIE, which has no place in the code */
	uint64_t location, end;
	struct cfa_rules rules;
	size_t remembered_count;
	int err; /* of the builder */
	struct cfa_rules remembered[CFA_MAX_REMEMBERED];
};

enum cfa_operand {
	CFA_OPERAND_NONE,
	CFA_OPERAND_EMBEDDED, /* in the opcode's low 6 bits */
	CFA_OPERAND_U8,
	CFA_OPERAND_U16,
	CFA_OPERAND_U32,
	CFA_OPERAND_ULEB,
	CFA_OPERAND_SLEB,
	CFA_OPERAND_ADDRESS,
	CFA_OPERAND_BLOCK,
	CFA_OPERAND_MAX_,
};

/* A block's value is its size. */
struct cfa_operands {
	uint64_t values[2];
	const uint8_t *block;
};

struct cfa_instruction {
	/* False: it breaks DWARF's rules, or machine->err says why. */
	bool (*execute)(struct cfa_machine *machine, const struct cfa_operands *operands);
	enum cfa_operand operands[2];
};

/* NULL: not known. */
const struct cfa_instruction *cfa_instruction_of(uint8_t opcode);

#endif
