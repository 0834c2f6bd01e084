/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The few DWARF expressions in .eh_frame that compilers and linkers really emit. */
#ifndef LEAKMON_UNWIND_CFA_EXPRESSION_H
#define LEAKMON_UNWIND_CFA_EXPRESSION_H

#include <stddef.h>
#include <stdint.h>

#include "unwind/cfa_rules.h"

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

#endif
