/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside the arch room: what the processor's folder says of single instructions, for code.c and
 * control_flow.c; and the state that they share. Nothing outside sees the disassembler's types.
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
	uint64_t symbol; /* where its Elf64_Sym lies in the file */
	uint64_t names, names_size;
};

#define CODE_WINDOW_BYTES 4096
#define CODE_MAX_SLOTS (1u << 20)
/* For all functions of a file together; tcmalloc's take 1,400. */
#define CODE_MAX_DECODED 20000

struct code {
	const struct elf_file *file; /* borrowed */
	csh decoder;
	cs_insn *instruction; /* the one decoded last */
	/* By ascending start: as unwind information has them; as symbols do. */
	VEC(struct code_extent) frames, sized;
	VEC(struct code_slot) slots; /* by address */
	size_t decoded;
	uint64_t window_at;
	size_t window_size;
	uint8_t window[CODE_WINDOW_BYTES];
};

/* The disassembler for this processor. 0, or not. */
int decoder_open(csh *decoder);

/* The instruction that was decoded last. */
enum step_kind decoder_step_kind(const struct code *code);
bool decoder_is_plain_return(const struct code *code); /* of one that is a return */

/* Whether a PLT entry begins at `vaddr`, and which word it jumps through; decodes. */
bool decoder_plt_slot(struct code *code, uint64_t vaddr, uint64_t *slot);

#endif
