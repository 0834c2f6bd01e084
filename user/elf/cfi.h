/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How to find the caller's registers at one place in a function (DWARF 5, 6.4.1), as far as a walk
 * needs it: the CFA, rbp, rsp and the return address. And the unwind row that says the same.
 */
#ifndef LEAKMON_ARCH_CFA_H
#define LEAKMON_ARCH_CFA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "elf/byte_reader.h"
#include "elf/eh_frame.h"
#include "leakmon_abi.h"

/* What the CFA is computed from. */
enum cfa_base {
	CFA_UNSET,
	CFA_SP,		    /* rsp + offset */
	CFA_FP,		    /* rbp + offset */
	CFA_OTHER_REGISTER, /* + offset: it may become rsp or rbp again */
	CFA_SP_DEREF,	    /* *(rsp + offset) */
	CFA_FP_DEREF,	    /* *(rbp + offset) */
	CFA_PLT,	    /* rsp + 8 + ((rip & 15) >= offset ? 8 : 0) */
	CFA_OTHER_EXPRESSION,
	CFA_MAX_,
};

/* Where a register of the caller is. */
enum saved_place {
	SAVED_UNSPECIFIED, /* for rbp: still in the register, as in the psABI; for rsp: the CFA */
	SAVED_UNDEFINED,
	SAVED_SAME,
	SAVED_AT_CFA, /* *(CFA + offset) */
	SAVED_AT_SP,  /* *(rsp + offset) */
	SAVED_AT_FP,  /* *(rbp + offset) */
	SAVED_OTHER,
};

struct saved_rule {
	int64_t offset;
	enum saved_place place;
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

/* rbp, rsp and the return address by their DWARF numbers (psABI x86-64, figure 3.36). */
#define DWARF_RBP 6
#define DWARF_RSP 7
#define DWARF_RA 16

/*
 * The row (its pc is 0) that says what `rules` say; LM_UNWIND_UNSUPPORTED when none does: offsets
 * that are no multiples of 8 or do not fit, a CFA from another register or expression, a return
 * address or rsp elsewhere than psABI code has them, rbp in another register.
 *
 * `signal_frame` ('S' of the CIE) makes a LM_UNWIND_SIGNAL of rules that take the return address
 * from the ucontext on the stack; other rules keep their meaning, since an author may mark a
 * function of his own so.
 *
 * LM_UNWIND_FP_DEREF with fp_words 0 stands for rbp saved at *(rbp): what gcc emits for functions
 * that realign their stack (DRAP) is
 *     DW_CFA_expression rbp (DW_OP_breg6 0); DW_CFA_def_cfa_expression (DW_OP_breg6 n;
 * DW_OP_deref).
 */
struct lm_unwind_row cfa_rules_row(const struct cfa_rules *rules, bool signal_frame);

/* Puts rows together from ranges that come in ascending order. */

#define UNWIND_MAX_ROWS (4u << 20)

struct row_builder {
	uint64_t base; /* address that rows count from */
	uint64_t end;  /* what is covered up to now */
	VEC(struct lm_unwind_row) rows;
};

/*
 * `row` (its pc is ignored) holds for [start, end). What is covered already stays as it is, what
 * is left out in between becomes LM_UNWIND_NONE, and a row like the one before only extends it.
 * `end` must not be more than base + UINT32_MAX. 0; -EFBIG: over UNWIND_MAX_ROWS; -ENOMEM.
 */
int row_builder_add(struct row_builder *builder, uint64_t start, uint64_t end,
		    struct lm_unwind_row row);

/* Closes the last range with a LM_UNWIND_NONE row, if there is any. Errors as above. */
int row_builder_finish(struct row_builder *builder);

/* The few DWARF expressions in .eh_frame that compilers and linkers really emit. */

/*
 * DW_CFA_def_cfa_expression: sets base and offset of the CFA.
 *   breg7 n, deref                          CFA_SP_DEREF
 *   breg6 n, deref                          CFA_FP_DEREF
 *   breg7 8, breg16 0, lit15, and, litN, ge, lit3, shl, plus
 *                                           CFA_PLT with offset N: the linkers' lazy PLT
 *   all others                              CFA_OTHER_EXPRESSION
 */
void cfa_expression_cfa(const uint8_t *bytes, size_t size, struct cfa_rules *rules);

/* DW_CFA_expression: breg6 n and breg7 n are places; all others SAVED_OTHER. */
struct saved_rule cfa_expression_saved(const uint8_t *bytes, size_t size);

/*
 * What each call frame instruction does: DW_CFA_* of DWARF 5, 6.4.2 and 7.24, and the GNU ones of
 * LSB Core 5.0, 10.5.3. Internal to cfa.c and its tests.
 */

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
	int error; /* of the builder */
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
	/* False: it breaks DWARF's rules, or machine->error says why. */
	bool (*execute)(struct cfa_machine *machine, const struct cfa_operands *operands);
	enum cfa_operand operands[2];
};

/* Runs the call frame instructions of CIEs and FDEs (DWARF 5, 6.4.2, and the GNU ones). */

/*
 * The rules that a CIE's instructions set up for its FDEs. False: they cannot be understood, and
 * so neither can any FDE of this CIE; *rules is then untouched.
 */
bool cfa_program_initial(const struct eh_section *section, const struct eh_cie *cie,
			 struct cfa_rules *rules);

/*
 * Adds the rows of one FDE. From an instruction on that is unknown, cut off, goes backwards or
 * breaks DWARF's rules, the rest of the function is LM_UNWIND_UNSUPPORTED.
 * `initial` NULL: all of it is. 0, or what row_builder_add returns.
 */
int cfa_program_run(const struct eh_section *section, const struct eh_cie *cie,
		    const struct eh_fde *fde, const struct cfa_rules *initial,
		    struct row_builder *builder);

#endif
