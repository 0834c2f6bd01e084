/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside the arm64 folder: one instruction of four bytes, by its encoding ("Arm Architecture
 * Reference Manual", C4.1). The disassembler only writes text for people; all proofs about code
 * rest on this decoder.
 */
#ifndef LEAKMON_ARCH_ARM64_INSTRUCTION_H
#define LEAKMON_ARCH_ARM64_INSTRUCTION_H

#include <stdbool.h>
#include <stdint.h>

#define A64_LINK 30
#define A64_STACK_POINTER 31 /* or the zero register; masks have the pointer only */

enum a64_kind {
	A64_OTHER,     /* unknown */
	A64_PLAIN,     /* reads and writes registers and memory, as the masks say */
	A64_HINT,      /* nop, bti, paciasp, ... */
	A64_BRANCH,    /* b */
	A64_CONDITION, /* b.cond */
	A64_COMPARE,   /* cbz, cbnz, tbz, tbnz */
	A64_CALL,      /* bl */
	A64_INDIRECT,  /* br, blr */
	A64_RETURN,    /* ret */
	A64_SIGNED,    /* braa, blraa, retaa, ...: with authentication */
	A64_LITERAL,   /* ldr, ldrsw, prfm relative to the instruction; also of vector registers */
	A64_EXCLUSIVE, /* ldxr, stxr, and others of the same encoding group: ldar, stlr, cas */
	A64_EXCEPTION, /* svc, brk, udf, ...; also eret, msr */
};

struct a64 {
	enum a64_kind kind;
	bool flags;    /* writes the flags */
	bool is_move;  /* of a whole register: mov rd, rn */
	uint8_t rd;    /* the first register operand: Rd, Rt */
	uint8_t rn;    /* the base of an address, or the target of a jump */
	uint8_t rm;    /* the second one: Rm, Rt2, Rs */
	uint64_t jump; /* target of a direct jump, from `vaddr` on; the address of adr, adrp */
	int64_t added; /* immediate of add, sub; offset of an address */
	/* general registers, a bit for each number; 31: the stack pointer */
	uint32_t reads, writes;
};

struct a64 a64_decode(uint32_t word, uint64_t vaddr);

static inline uint32_t a64_word(const uint8_t *bytes)
{
	return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
	       (uint32_t)bytes[3] << 24;
}

/* hint #number */
static inline bool a64_is_hint(uint32_t word)
{
	return (word & 0xfffff01fu) == 0xd503201fu;
}

static inline uint32_t a64_hint(uint32_t word)
{
	return word >> 5 & 0x7f;
}

enum {
	A64_HINT_NOP = 0,
	A64_HINT_XPACLRI = 7,
	A64_HINT_PACIA1716 = 8,
	A64_HINT_PACIB1716 = 10,
	A64_HINT_PACIAZ = 24,
	A64_HINT_PACIASP = 25,
	A64_HINT_PACIBZ = 26,
	A64_HINT_PACIBSP = 27,
	A64_HINT_AUTIAZ = 28,
	A64_HINT_AUTIASP = 29,
	A64_HINT_AUTIBZ = 30,
	A64_HINT_AUTIBSP = 31,
	A64_HINT_BTI = 32,
	A64_HINT_BTI_C = 34,
	A64_HINT_BTI_J = 36,
	A64_HINT_BTI_JC = 38,
};

#endif
