// SPDX-License-Identifier: GPL-2.0-or-later
#include "binary/arch/arm64/instruction.h"

#define FIELD(word, at, bits) ((word) >> (at) & ((1u << (bits)) - 1))
#define RD(word) FIELD(word, 0, 5)
#define RN(word) FIELD(word, 5, 5)
#define RM(word) FIELD(word, 16, 5)

/* A general register; 31 is the zero register, which has no bit. */
static uint32_t general(uint32_t number)
{
	return number == A64_STACK_POINTER ? 0 : 1u << number;
}

/* As above, but 31 is the stack pointer. */
static uint32_t or_pointer(uint32_t number)
{
	return 1u << number;
}

static int64_t signed_field(uint32_t word, unsigned at, unsigned bits)
{
	return (int64_t)((uint64_t)FIELD(word, at, bits) << (64 - bits)) >> (64 - bits);
}

static void jump_to(struct a64 *a64, uint64_t vaddr, int64_t words)
{
	a64->jump = vaddr + (uint64_t)words * 4;
}

/* C4.1.65: branches, exceptions, system instructions. */
static void decode_branch(uint32_t word, uint64_t vaddr, struct a64 *a64)
{
	uint32_t hint = a64_hint(word);

	if ((word & 0x7c000000u) == 0x14000000u) {
		a64->kind = word >> 31 ? A64_CALL : A64_BRANCH;
		jump_to(a64, vaddr, signed_field(word, 0, 26));
	} else if ((word & 0xff000010u) == 0x54000000u) {
		a64->kind = A64_CONDITION;
		jump_to(a64, vaddr, signed_field(word, 5, 19));
	} else if ((word & 0x7e000000u) == 0x34000000u) {
		a64->kind = A64_COMPARE;
		a64->reads = general(RD(word));
		jump_to(a64, vaddr, signed_field(word, 5, 19));
	} else if ((word & 0x7e000000u) == 0x36000000u) {
		a64->kind = A64_COMPARE;
		a64->reads = general(RD(word));
		jump_to(a64, vaddr, signed_field(word, 5, 14));
	} else if ((word & 0xfe000000u) == 0xd6000000u) {
		a64->reads = general(RN(word));
		if ((word & 0xfffffc1fu) == 0xd65f0000u)
			a64->kind = A64_RETURN;
		else if ((word & 0xffdffc1fu) == 0xd61f0000u)
			a64->kind = A64_INDIRECT;
		else
			a64->kind =
				(word & 0xffe00000u) == 0xd6800000u ? A64_EXCEPTION : A64_SIGNED;
	} else if (a64_is_hint(word)) {
		a64->kind = A64_HINT;
		if (hint == A64_HINT_XPACLRI ||
		    (hint >= A64_HINT_PACIAZ && hint <= A64_HINT_AUTIBSP))
			a64->reads = a64->writes = 1u << A64_LINK;
		else if (hint >= A64_HINT_PACIA1716 && hint < 16)
			a64->reads = a64->writes = 1u << 17;
	} else if ((word & 0xfff00000u) == 0xd5300000u) { /* mrs */
		a64->kind = A64_PLAIN;
		a64->writes = general(RD(word));
	} else {
		a64->kind = A64_EXCEPTION;
	}
}

/* C4.1.64: data processing, immediate. */
static void decode_immediate(uint32_t word, uint64_t vaddr, struct a64 *a64)
{
	uint32_t group = FIELD(word, 23, 3);
	bool is_64 = word >> 31;

	a64->kind = A64_PLAIN;
	if (group <= 1) { /* adr, adrp */
		int64_t far =
			(int64_t)((uint64_t)signed_field(word, 5, 19) << 2 | FIELD(word, 29, 2));

		a64->writes = general(RD(word));
		a64->jump =
			is_64 ? (vaddr & ~4095ull) + (uint64_t)far * 4096 : vaddr + (uint64_t)far;
	} else if (group == 2) { /* add, sub */
		a64->flags = FIELD(word, 29, 1);
		a64->reads = or_pointer(RN(word));
		a64->writes = a64->flags ? general(RD(word)) : or_pointer(RD(word));
		a64->added = (int64_t)FIELD(word, 10, 12) << (FIELD(word, 22, 1) ? 12 : 0);
		a64->is_move = is_64 && !FIELD(word, 30, 1) && !a64->flags && !a64->added;
		if (FIELD(word, 30, 1))
			a64->added = -a64->added;
	} else if (group == 3) { /* with tags (MTE) */
		a64->reads = or_pointer(RN(word));
		a64->writes = or_pointer(RD(word));
	} else if (group == 4) { /* and, orr, eor, ands */
		a64->flags = FIELD(word, 29, 2) == 3;
		a64->reads = general(RN(word));
		a64->writes = a64->flags ? general(RD(word)) : or_pointer(RD(word));
	} else if (group == 5) { /* movn, movz, movk */
		a64->writes = general(RD(word));
		a64->reads = FIELD(word, 29, 2) == 3 ? general(RD(word)) : 0;
	} else { /* bitfields; extr */
		a64->writes = general(RD(word));
		a64->reads = general(RN(word)) | general(RD(word)) |
			     (group == 7 ? general(RM(word)) : 0);
	}
}

/* C4.1.67: data processing, registers. Some read fewer than three. */
static void decode_registers(uint32_t word, struct a64 *a64)
{
	uint32_t group = FIELD(word, 21, 4), operation = FIELD(word, 29, 2);

	a64->kind = A64_PLAIN;
	a64->writes = general(RD(word));
	a64->reads = general(RN(word)) | general(RM(word));
	if (!FIELD(word, 28, 1)) {
		if (!(group & 8)) { /* logical */
			a64->flags = operation == 3;
			a64->is_move = word >> 31 && operation == 1 && RN(word) == 31 &&
				       RM(word) != 31 && !FIELD(word, 21, 3) && !FIELD(word, 10, 6);
		} else { /* add, sub; shifted or extended */
			a64->flags = operation & 1;
			if (group & 1) {
				a64->reads |= or_pointer(RN(word));
				a64->writes = a64->flags ? general(RD(word)) : or_pointer(RD(word));
			}
		}
	} else if (group == 0) { /* adc, sbc; rmif, setf */
		a64->flags = operation & 1;
	} else if (group == 2) { /* ccmp, ccmn */
		a64->flags = true;
		a64->writes = 0;
	} else if (group == 6 && FIELD(word, 30, 1)) { /* one source; the signing ones read two */
		a64->reads = general(RN(word)) | general(RD(word));
	} else if (group >= 8) { /* madd, ... */
		a64->reads |= general(FIELD(word, 10, 5));
	}
}

/* ldp, stp, ldnp, stnp; `vector`: of vector registers. */
static void decode_pair(uint32_t word, bool vector, struct a64 *a64)
{
	uint32_t scale = vector ? 2 + FIELD(word, 30, 2) : FIELD(word, 31, 1) ? 3 : 2;
	uint32_t both = vector ? 0 : general(RD(word)) | general(FIELD(word, 10, 5));
	bool writes_back = FIELD(word, 23, 1);

	a64->kind = A64_PLAIN;
	a64->rm = (uint8_t)FIELD(word, 10, 5);
	a64->added = (int64_t)((uint64_t)signed_field(word, 15, 7) << scale);
	a64->reads = or_pointer(RN(word));
	if (FIELD(word, 22, 1))
		a64->writes = both;
	else
		a64->reads |= both;
	if (writes_back)
		a64->writes |= or_pointer(RN(word));
}

/* ldr, str of one register. */
static void decode_single(uint32_t word, bool vector, struct a64 *a64)
{
	uint32_t operation = FIELD(word, 22, 2), size = word >> 30;
	bool prefetches = !vector && size == 3 && operation == 2;
	bool unscaled = !FIELD(word, 24, 1), loads = operation != 0;

	if (unscaled && FIELD(word, 21, 1) && FIELD(word, 10, 2) != 2)
		return; /* atomics; ldraa */
	a64->kind = A64_PLAIN;
	a64->reads = or_pointer(RN(word));
	if (!unscaled)
		a64->added = (int64_t)FIELD(word, 10, 12) << size;
	else if (FIELD(word, 21, 1))
		a64->reads |= general(RM(word));
	else
		a64->added = signed_field(word, 12, 9);
	if (unscaled && !FIELD(word, 21, 1) && FIELD(word, 10, 1))
		a64->writes |= or_pointer(RN(word));
	if (vector || prefetches)
		return;
	if (loads)
		a64->writes |= general(RD(word));
	else
		a64->reads |= general(RD(word));
}

/* C4.1.66: loads and stores. Those of structures, and with tags, are left unknown. */
static void decode_memory(uint32_t word, uint64_t vaddr, struct a64 *a64)
{
	bool vector = FIELD(word, 26, 1);

	if ((word & 0x3f000000u) == 0x08000000u) {
		a64->kind = A64_EXCLUSIVE;
	} else if ((word & 0x3b000000u) == 0x18000000u) {
		a64->kind = A64_LITERAL;
		a64->writes = vector ? 0 : general(RD(word));
		jump_to(a64, vaddr, signed_field(word, 5, 19));
	} else if ((word & 0x3a000000u) == 0x28000000u) {
		decode_pair(word, vector, a64);
	} else if ((word & 0x3a000000u) == 0x38000000u) {
		decode_single(word, vector, a64);
	}
}

struct a64 a64_decode(uint32_t word, uint64_t vaddr)
{
	struct a64 a64 = {.kind = A64_OTHER,
			  .rd = (uint8_t)RD(word),
			  .rn = (uint8_t)RN(word),
			  .rm = (uint8_t)RM(word)};
	uint32_t group = FIELD(word, 25, 4);

	if (!(word >> 16))
		a64.kind = A64_EXCEPTION; /* udf */
	else if ((group & 0xe) == 0x8)
		decode_immediate(word, vaddr, &a64);
	else if ((group & 0xe) == 0xa)
		decode_branch(word, vaddr, &a64);
	else if ((group & 0x5) == 0x4)
		decode_memory(word, vaddr, &a64);
	else if ((group & 0x7) == 0x5)
		decode_registers(word, &a64);
	return a64;
}
