// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/cfa_expression.h"

#include <dwarf.h>
#include <string.h>

#include "unwind/byte_reader.h"

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
