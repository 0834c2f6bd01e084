/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The constants of a processor's ABI in ELF files. A reader gets them as an argument: those of the
 * machine that leakmon runs on are machine_abi (binary/arch/machine.h).
 */
#ifndef LEAKMON_ELF_ELF_ABI_H
#define LEAKMON_ELF_ELF_ABI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lm_frame_abi;

/* A place of a caller's register, by call frame information. */
enum saved_place {
	/* the ABI's default: fp and a link register are unchanged, sp is the CFA */
	SAVED_UNSPECIFIED,
	SAVED_UNDEFINED,
	SAVED_SAME,
	SAVED_AT_CFA, /* *(CFA + offset) */
	SAVED_AT_SP,  /* *(sp + offset) */
	SAVED_AT_FP,  /* *(fp + offset) */
	SAVED_OTHER,
};

struct saved_rule {
	int64_t offset;
	enum saved_place place;
};

/* The CFA in a stub of the procedure linkage table: an expression that linkers write. */
struct cfi_plt_formula {
	const uint8_t *bytes;
	size_t size;	/* 0: stubs need no formula */
	size_t literal; /* index of the DW_OP_lit0..15 that becomes the row's offset */
};

/* One instruction of 4 bytes, and the row that holds while it is the next to run. */
struct cfi_bare_word {
	uint32_t value, mask; /* the bits of `value` in `mask`; 0, 0: any */
	uint8_t kind;	      /* as in struct lm_unwind_row */
	int8_t cfa_words, fp_words;
};

#define CFI_BARE_WORDS 5

/* Code without unwind information: where these words occur in sequence, their rows hold. */
struct cfi_bare_code {
	struct cfi_bare_word words[CFI_BARE_WORDS];
	size_t count;
};

/*
 * Code recognised by its bytes, in files of one compiler; its row holds from `before` bytes before
 * them to their end. The mask covers the first CFI_ANCHOR_BYTES fully.
 */
struct cfi_known_code {
	const char *section; /* only files with a section of that name have such code */
	const uint8_t *bytes, *mask;
	size_t size;
	uint8_t before;
	uint8_t kind; /* as in struct lm_unwind_row */
	int8_t cfa_words, fp_words;
};

#define CFI_ANCHOR_BYTES 4

/* Call frame information (.eh_frame). Registers are DWARF numbers below 32. */
struct cfi_abi {
	uint8_t sp, fp;
	uint8_t return_column; /* the column of the return address */
	uint8_t no_effect;     /* an ABI-specific opcode that moves no register; 0: none */
	const struct lm_frame_abi *frame;
	struct saved_rule signal_return; /* of the return address in the kernel's signal frame */
	struct cfi_plt_formula plt;
	const struct cfi_bare_code *bare; /* the longest of each kind first */
	size_t bare_count;
	const struct cfi_known_code *known;
	size_t known_count;
};

/*
 * Thread-locals (Drepper, "ELF Handling For Thread-Local Storage", 3.4). In variant II the modules'
 * blocks lie below the thread pointer, and glibc's struct pthread begins at it. In variant I they
 * lie above, after a head, and struct pthread ends where the head begins: at the thread pointer.
 */
struct tls_abi {
	bool is_variant_1;
	uint32_t head_bytes; /* variant I */
	uint32_t vector_at;  /* from the thread pointer to the pointer to the vector (DTV) */
};

struct elf_abi {
	uint16_t machine; /* e_machine */
	/* Relocations that fill a word with a symbol's address. */
	uint32_t jump_slot, glob_dat;
	struct tls_abi tls;
	struct cfi_abi cfi;
};

#endif
