/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs the call frame instructions of CIEs and FDEs (DWARF 5, 6.4.2, and the GNU ones). */
#ifndef LEAKMON_UNWIND_CFA_PROGRAM_H
#define LEAKMON_UNWIND_CFA_PROGRAM_H

#include <stdbool.h>

#include "unwind/cfa_rules.h"
#include "unwind/eh_frame.h"
#include "unwind/eh_section.h"
#include "unwind/row_builder.h"

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
