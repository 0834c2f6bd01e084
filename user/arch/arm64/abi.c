// SPDX-License-Identifier: GPL-2.0-or-later
#include "elf/elf_abi.h"

#include <elf.h>

#include "arch/machine.h"

/* "DWARF for the Arm 64-bit Architecture (AArch64)", 4.1 */
#define DWARF_X29 29
#define DWARF_X30 30
#define DWARF_SP 31

/* The same, 4.4: x30 is signed from there on, or is no longer. A walk takes signatures off. */
#define DW_CFA_AARCH64_NEGATE_RA_STATE 0x2d

/* mov x8, #139 (rt_sigreturn); svc #0: the kernel's vdso and musl give it no unwind information. */
static const uint8_t signal_code[] = {0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4};

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
			.signal_code = {signal_code, sizeof(signal_code)},
		},
};
