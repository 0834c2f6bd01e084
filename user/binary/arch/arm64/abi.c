// SPDX-License-Identifier: GPL-2.0-or-later
#include "binary/elf/elf_abi.h"

#include <elf.h>

#include "base/cleanup.h"
#include "binary/arch/machine.h"

/* "DWARF for the Arm 64-bit Architecture (AArch64)", 4.1 */
#define DWARF_X29 29
#define DWARF_X30 30
#define DWARF_SP 31

/* The same, 4.4: from there on x30 is signed, or no longer signed. A walk strips signatures. */
#define DW_CFA_AARCH64_NEGATE_RA_STATE 0x2d

#define SIGNAL .kind = LM_UNWIND_SIGNAL
/* Nothing is on the stack yet, and the return address is in x30. */
#define JUMP .kind = LM_UNWIND_SP
/* x16 and x30 are on the stack. */
#define PUSHED .kind = (int)LM_UNWIND_SP | (int)LM_RETURN_ALONE, .cfa_words = 2, .fp_words = -1
#define STP_X16_X30 0xa9bf7bf0u, ~0u	     /* stp x16, x30, [sp, #-16]! */
#define ADRP_X16 0x90000010u, 0x9f00001fu    /* adrp x16, page */
#define LDR_X17_X16 0xf9400211u, 0xffc003ffu /* ldr x17, [x16, #at] */
#define ADD_X16_X16 0x91000210u, 0xffc003ffu /* add x16, x16, #at */
#define BR_X16 0xd61f0200u, ~0u
#define BR_X17 0xd61f0220u, ~0u
#define BTI_C 0xd503245fu, ~0u
#define AUTIA1716 0xd503219fu, ~0u
#define MOV_X8_139 0xd2801168u, ~0u /* rt_sigreturn */
#define SVC 0xd4000001u, ~0u

/*
 * Linkers write no unwind information for this code ("ELF for the Arm 64-bit Architecture", and
 * bfd/elfnn-aarch64.c): stubs of the procedure linkage table; its head, which has pushed two
 * registers when it jumps to the resolver; and veneers. Landing pads and signatures make them
 * longer.
 */
static const struct cfi_bare_code bare_code[] = {
	/*
	 * In the kernel's vdso and in musl. A return address is looked up by the preceding
	 * instruction: one more word.
	 */
	{{{0, 0, SIGNAL}, {MOV_X8_139, SIGNAL}, {SVC, SIGNAL}}, 3},
	{{{STP_X16_X30, JUMP},
	  {ADRP_X16, PUSHED},
	  {LDR_X17_X16, PUSHED},
	  {ADD_X16_X16, PUSHED},
	  {BR_X17, PUSHED}},
	 5},
	{{{BTI_C, JUMP},
	  {ADRP_X16, JUMP},
	  {LDR_X17_X16, JUMP},
	  {ADD_X16_X16, JUMP},
	  {BR_X17, JUMP}},
	 5},
	{{{ADRP_X16, JUMP},
	  {LDR_X17_X16, JUMP},
	  {ADD_X16_X16, JUMP},
	  {AUTIA1716, JUMP},
	  {BR_X17, JUMP}},
	 5},
	{{{ADRP_X16, JUMP}, {LDR_X17_X16, JUMP}, {ADD_X16_X16, JUMP}, {BR_X17, JUMP}}, 4},
	{{{ADRP_X16, JUMP}, {ADD_X16_X16, JUMP}, {BR_X16, JUMP}}, 3},
};

const struct elf_abi machine_abi = {
	.machine = EM_AARCH64,
	.jump_slot = R_AARCH64_JUMP_SLOT,
	.glob_dat = R_AARCH64_GLOB_DAT,
	/* glibc, sysdeps/aarch64/nptl/tls.h: tcbhead_t is the vector and a private word. */
	.tls = {.is_variant_1 = true, .head_bytes = 16, .vector_at = 0},
	.cfi =
		{
			.sp = DWARF_SP,
			.fp = DWARF_X29,
			.return_column = DWARF_X30,
			.no_effect = DW_CFA_AARCH64_NEGATE_RA_STATE,
			.frame = &machine_frame,
			.signal_return = {FRAME_SIGNAL_SP + 8, SAVED_AT_SP},
			.bare = bare_code,
			.bare_count = ARRAY_SIZE(bare_code),
		},
};
