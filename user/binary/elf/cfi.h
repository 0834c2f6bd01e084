/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rules for the caller's registers at one place in a function (DWARF 5, 6.4.1), as a walk needs
 * them: the CFA, the frame pointer, the stack pointer and the return address; and the equivalent
 * unwind row. The section's ABI (binary/elf/elf_abi.h) identifies these registers.
 */
#ifndef LEAKMON_ELF_CFI_H
#define LEAKMON_ELF_CFI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "binary/elf/byte_reader.h"
#include "binary/elf/eh_frame.h"
#include "binary/elf/elf_abi.h"
#include "leakmon_abi.h"

/* The base of the CFA. */
enum cfa_base {
	CFA_UNSET,
	CFA_SP,		    /* sp + offset */
	CFA_FP,		    /* fp + offset */
	CFA_OTHER_REGISTER, /* + offset: it may become sp or fp again */
	CFA_SP_DEREF,	    /* *(sp + offset) */
	CFA_FP_DEREF,	    /* *(fp + offset) */
	CFA_PLT,	    /* the ABI's formula, with offset as its literal */
	CFA_OTHER_EXPRESSION,
	CFA_MAX_,
};

enum saved_register { SAVED_FP, SAVED_SP, SAVED_RA, SAVED_MAX_ };

struct cfa_rules {
	int64_t cfa_offset;
	struct saved_rule saved[SAVED_MAX_];
	enum cfa_base cfa;
};

static inline bool cfa_is_register(enum cfa_base cfa)
{
	return cfa == CFA_SP || cfa == CFA_FP || cfa == CFA_OTHER_REGISTER;
}

/*
 * Returns the row (with pc 0) equivalent to `rules`; LM_UNWIND_UNSUPPORTED if no row is: offsets
 * that are not multiples of 8 or do not fit, a CFA from another register or expression, a return
 * address or sp in an unusual place, fp in another register.
 *
 * `signal_frame` ('S' of the CIE) makes a LM_UNWIND_SIGNAL of rules that take the return address
 * from the ABI's signal frame; other rules keep their meaning, since any function may be marked so.
 *
 * LM_UNWIND_FP_DEREF with fp_words 0 represents fp saved at *(fp): for functions that realign their
 * stack (DRAP) gcc emits
 *    DW_CFA_expression fp (DW_OP_breg<fp> 0);
 *    DW_CFA_def_cfa_expression (DW_OP_breg<fp> n; DW_OP_deref).
 */
struct lm_unwind_row cfi_row(const struct cfi_abi *abi, const struct cfa_rules *rules,
			     bool signal_frame);

/* Assembles rows from ranges in ascending order. */

#define UNWIND_MAX_ROWS (4u << 20)

struct row_builder {
	uint64_t base; /* rows count from this address */
	uint64_t end;  /* end of the covered range */
	VEC(struct lm_unwind_row) rows;
};

/*
 * Adds `row` (its pc is ignored) for [start, end). Addresses already covered keep their rows, a gap
 * becomes LM_UNWIND_NONE, and a row equal to the previous one extends it. `end` must not exceed
 * base + UINT32_MAX. Returns 0; -EFBIG: over UNWIND_MAX_ROWS; -ENOMEM.
 */
int row_builder_add(struct row_builder *builder, uint64_t start, uint64_t end,
		    struct lm_unwind_row row);

/* Ends the last range, if any, with a LM_UNWIND_NONE row. Errors as row_builder_add(). */
int row_builder_finish(struct row_builder *builder);

/* The few DWARF expressions that compilers and linkers actually emit in .eh_frame. */

/*
 * Applies DW_CFA_def_cfa_expression: sets base and offset of the CFA.
 *   breg<sp> n, deref    CFA_SP_DEREF
 *   breg<fp> n, deref    CFA_FP_DEREF
 *   the ABI's formula    CFA_PLT, with its literal as offset
 *   all others           CFA_OTHER_EXPRESSION
 */
void cfi_expression_cfa(const struct cfi_abi *abi, const uint8_t *bytes, size_t size,
			struct cfa_rules *rules);

/* Applies DW_CFA_expression: breg<fp> n and breg<sp> n become places; all others SAVED_OTHER. */
struct saved_rule cfi_expression_saved(const struct cfi_abi *abi, const uint8_t *bytes,
				       size_t size);

/* Runs the call frame instructions of CIEs and FDEs (DWARF 5, 6.4.2, and GNU extensions). */

/*
 * Computes the rules that a CIE's instructions set up for its FDEs. Returns false if these are not
 * understood, and so neither is any FDE of this CIE; *rules is then untouched.
 */
bool cfi_run_cie(const struct eh_section *section, const struct eh_cie *cie,
		 struct cfa_rules *rules);

/*
 * Adds the rows of one FDE. From an instruction on that is unknown, truncated, goes backwards or
 * breaks DWARF's rules, the rest of the function is LM_UNWIND_UNSUPPORTED. `initial` NULL: all of
 * it is. Returns as row_builder_add().
 */
int cfi_run_fde(const struct eh_section *section, const struct eh_cie *cie,
		const struct eh_fde *fde, const struct cfa_rules *initial,
		struct row_builder *builder);

#endif
