/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside the arch room: the processor's decoder of single instructions, for code.c and
 * control_flow.c; and their shared state. The disassembler's types are not visible outside.
 */
#ifndef LEAKMON_ARCH_DECODER_H
#define LEAKMON_ARCH_DECODER_H

#include <capstone/capstone.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "binary/arch/code.h"
#include "binary/arch/control_flow.h"

/* A word that the dynamic loader fills with the address of a symbol. */
struct code_slot {
	uint64_t address;
	uint64_t symbol; /* file offset of its Elf64_Sym */
	uint64_t names, names_size;
};

#define CODE_WINDOW_BYTES 4096
#define CODE_MAX_SLOTS (1u << 20)
/* Limit for all functions of a file together; tcmalloc's take 1,400. */
#define CODE_MAX_DECODED 20000

struct code {
	const struct elf_file *file; /* borrowed */
	csh decoder;
	cs_insn *instruction; /* decoded last */
	/* By ascending start: from unwind information; from symbols. */
	VEC(struct code_extent) frames, sized;
	VEC(struct code_slot) slots; /* by address */
	size_t decoded;
	uint64_t window_at;
	size_t window_size;
	uint8_t window[CODE_WINDOW_BYTES];
};

/* Opens the disassembler for this processor. Returns 0, or nonzero on failure. */
int decoder_open(csh *decoder);

/* Properties of the instruction decoded last. */
enum step_kind decoder_step_kind(const struct code *code);
bool decoder_is_plain_return(const struct code *code); /* valid for a return only */

/* Returns whether a PLT entry begins at `vaddr`, and the word it jumps through; decodes. */
bool decoder_plt_slot(struct code *code, uint64_t vaddr, uint64_t *slot);

#endif
