// SPDX-License-Identifier: GPL-2.0-or-later
#include "elf/elf_abi.h"

#include <dwarf.h>
#include <elf.h>

#include "arch/machine.h"

/* psABI, figure 3.36 */
#define DWARF_RBP 6
#define DWARF_RSP 7
#define DWARF_RIP 16

/* Where in a stub its push has been done. */
static const uint8_t plt_formula[] = {
	DW_OP_breg7, 8,	       DW_OP_breg16, 0,		DW_OP_lit15, DW_OP_and,
	DW_OP_lit0,  DW_OP_ge, DW_OP_lit3,   DW_OP_shl, DW_OP_plus,
};

const struct elf_abi machine_abi = {
	.machine = EM_X86_64,
	.jump_slot = R_X86_64_JUMP_SLOT,
	.glob_dat = R_X86_64_GLOB_DAT,
	/* psABI, 3.4.6: the thread control block begins with its own address; its vector comes
	   next. */
	.tls = {.vector_at = 8},
	.cfi =
		{
			.sp = DWARF_RSP,
			.fp = DWARF_RBP,
			.return_column = DWARF_RIP,
			.frame = &machine_frame,
			.signal_return = {FRAME_SIGNAL_SP + 8, SAVED_AT_SP},
			.plt = {plt_formula, sizeof(plt_formula), 6},
		},
};
