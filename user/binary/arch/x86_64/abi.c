// SPDX-License-Identifier: GPL-2.0-or-later
#include "binary/elf/elf_abi.h"

#include <dwarf.h>
#include <elf.h>

#include "base/cleanup.h"
#include "binary/arch/machine.h"

/* psABI, figure 3.36 */
#define DWARF_RBP 6
#define DWARF_RSP 7
#define DWARF_RIP 16

/* Offsets in a stub at which its push has been done. */
static const uint8_t plt_formula[] = {
	DW_OP_breg7, 8,	       DW_OP_breg16, 0,		DW_OP_lit15, DW_OP_and,
	DW_OP_lit0,  DW_OP_ge, DW_OP_lit3,   DW_OP_shl, DW_OP_plus,
};

/*
 * Go's runtime.asmcgocall, which calls C on the thread's stack from a goroutine's: when C returns,
 * the frame pointer is that of Go code on the goroutine's stack, because C preserves it
 * (src/runtime/asm_amd64.s of Go 1.19 and 1.24). Recognised by the code after the call: it loads
 * the saved g, its stack's end, and computes the stack pointer from that and the saved depth:
 *
 *     mov N(%rsp),%rdi; mov 8(%rdi),%rsi; sub M(%rsp),%rsi; mov %rdi,%fs:…
 *
 * Position-independent code first loads the offset of thread-locals: 7 bytes.
 */
static const uint8_t cgo_return[] = {0x48, 0x8b, 0x7c, 0x24, 0x30, 0x48, 0x8b, 0x77, 0x08,
				     0x48, 0x2b, 0x74, 0x24, 0x28, 0x64, 0x48, 0x89};
static const uint8_t cgo_return_mask[] = {0xff, 0xff, 0xff, 0xff, 0x80, 0xff, 0xff, 0xff, 0xff,
					  0xff, 0xff, 0xff, 0xff, 0x80, 0xff, 0xff, 0xff};
/* The same with M = 0, as in Go 1.24. */
static const uint8_t cgo_return_top[] = {0x48, 0x8b, 0x7c, 0x24, 0x08, 0x48, 0x8b, 0x77,
					 0x08, 0x48, 0x2b, 0x34, 0x24, 0x64, 0x48, 0x89};
static const uint8_t cgo_return_top_mask[] = {0xff, 0xff, 0xff, 0xff, 0x80, 0xff, 0xff, 0xff,
					      0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

/* From the last byte of the call on. */
#define CGO_BEFORE (1 + 7)
#define CGO_RETURN(code)                                                                           \
	{                                                                                          \
		.section = ".go.buildinfo", .bytes = (code), .mask = code##_mask,                  \
		.size = sizeof(code), .before = CGO_BEFORE, .kind = LM_UNWIND_FP, .cfa_words = 2,  \
		.fp_words = -2,                                                                    \
	}

static const struct cfi_known_code known_code[] = {
	CGO_RETURN(cgo_return),
	CGO_RETURN(cgo_return_top),
};

const struct elf_abi machine_abi = {
	.machine = EM_X86_64,
	.jump_slot = R_X86_64_JUMP_SLOT,
	.glob_dat = R_X86_64_GLOB_DAT,
	/*
	 * psABI, 3.4.6: the thread control block begins with its own address; its vector comes
	 * next.
	 */
	.tls = {.vector_at = 8},
	.cfi =
		{
			.sp = DWARF_RSP,
			.fp = DWARF_RBP,
			.return_column = DWARF_RIP,
			.frame = &machine_frame,
			.signal_return = {FRAME_SIGNAL_SP + 8, SAVED_AT_SP},
			.plt = {plt_formula, sizeof(plt_formula), 6},
			.known = known_code,
			.known_count = ARRAY_SIZE(known_code),
		},
};
