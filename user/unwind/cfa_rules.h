/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How to find the caller's registers at one place in a function (DWARF 5, 6.4.1), as far as a walk
 * needs it: the CFA, rbp, rsp and the return address. And the unwind row that says the same.
 */
#ifndef LEAKMON_UNWIND_CFA_RULES_H
#define LEAKMON_UNWIND_CFA_RULES_H

#include <stdbool.h>
#include <stdint.h>

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

#endif
