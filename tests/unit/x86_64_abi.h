/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * x86-64's numbers in ELF files, for fixtures with its bytes, on any machine that runs the tests
 * (psABI, figure 3.36; arch/x86/include/uapi/asm/sigcontext.h).
 */
#ifndef LEAKMON_TESTS_X86_64_ABI_H
#define LEAKMON_TESTS_X86_64_ABI_H

#include <dwarf.h>
#include <elf.h>

#include "binary/elf/elf_abi.h"
#include "leakmon_abi.h"

static const struct lm_frame_abi x86_64_frame = {
	.code_mask = ~0ull, .return_words = -1, .signal_fp = 120, .signal_sp = 160};

static const uint8_t x86_64_plt[] = {
	DW_OP_breg7, 8,	       DW_OP_breg16, 0,		DW_OP_lit15, DW_OP_and,
	DW_OP_lit0,  DW_OP_ge, DW_OP_lit3,   DW_OP_shl, DW_OP_plus,
};

static const struct elf_abi x86_64_abi = {
	.machine = EM_X86_64,
	.jump_slot = R_X86_64_JUMP_SLOT,
	.glob_dat = R_X86_64_GLOB_DAT,
	.tls = {.vector_at = 8},
	.cfi =
		{
			.sp = 7,
			.fp = 6,
			.return_column = 16,
			.frame = &x86_64_frame,
			.signal_return = {168, SAVED_AT_SP},
			.plt = {x86_64_plt, sizeof(x86_64_plt), 6},
		},
};

#endif
