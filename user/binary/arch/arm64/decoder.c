// SPDX-License-Identifier: GPL-2.0-or-later
#include "binary/arch/decoder.h"

#include "binary/arch/arm64/instruction.h"
#include "binary/arch/machine.h"

/* An instruction unknown to the disassembler still has four bytes, and an encoding. */
int decoder_open(csh *decoder)
{
	int error = cs_open(CS_ARCH_ARM64, CS_MODE_LITTLE_ENDIAN, decoder);

	return error ? error : (int)cs_option(*decoder, CS_OPT_SKIPDATA, CS_OPT_ON);
}

static struct a64 decoded(const struct code *code)
{
	return a64_decode(a64_word(code->instruction->bytes), code->instruction->address);
}

static uint32_t word_of(const struct code *code)
{
	return a64_word(code->instruction->bytes);
}

/* Returns the kind of br, blr, and their signed forms. */
static enum step_kind indirect_kind(uint32_t word)
{
	return word & 1u << 21 ? STEP_CALL : STEP_JUMP;
}

enum step_kind decoder_step_kind(const struct code *code)
{
	struct a64 a64 = decoded(code);
	uint32_t word = word_of(code);

	switch (a64.kind) {
	case A64_BRANCH:
		return STEP_JUMP;
	case A64_CONDITION:
	case A64_COMPARE:
		return STEP_BRANCH;
	case A64_CALL:
		return STEP_CALL;
	case A64_INDIRECT:
		return indirect_kind(word);
	case A64_RETURN:
		return STEP_RETURN;
	case A64_SIGNED:
		/* retaa, retab */
		return (word & 0xfffffbffu) == 0xd65f0bffu ? STEP_RETURN : indirect_kind(word);
	case A64_EXCEPTION:
		/* Execution continues after svc, but not after brk, udf, hlt. */
		return (word & 0xffe0001fu) == 0xd4000001u || word >> 24 == 0xd5 ? STEP_PLAIN
										 : STEP_END;
	default:
		return STEP_PLAIN;
	}
}

/* By way of x30: a return through another register, or with a signature check, is not plain. */
bool decoder_is_plain_return(const struct code *code)
{
	return word_of(code) == 0xd65f03c0u;
}

bool code_direct_target(const struct code *code, uint64_t *target)
{
	struct a64 a64 = decoded(code);

	if (a64.kind < A64_BRANCH || a64.kind > A64_CALL)
		return false;
	*target = a64.jump;
	return true;
}

static bool is_landing_pad(uint32_t word)
{
	return a64_is_hint(word) && a64_hint(word) >= A64_HINT_BTI &&
	       a64_hint(word) <= A64_HINT_BTI_JC;
}

/* Decodes at *vaddr, or after a landing pad there. */
static bool decode_behind_pad(struct code *code, uint64_t *vaddr)
{
	if (code_decode(code, *vaddr))
		return false;
	if (!is_landing_pad(word_of(code)))
		return true;
	*vaddr += MACHINE_INSTRUCTION_MAX;
	return !code_decode(code, *vaddr);
}

/* `[bti c;] adrp x16, page; ldr x17, [x16, at]; ...; br x17` */
bool decoder_plt_slot(struct code *code, uint64_t vaddr, uint64_t *slot)
{
	struct a64 page, load;
	uint32_t word;

	if (!decode_behind_pad(code, &vaddr))
		return false;
	page = decoded(code);
	if ((word_of(code) & 0x9f000000u) != 0x90000000u || page.rd != 16 ||
	    code_decode(code, vaddr + MACHINE_INSTRUCTION_MAX))
		return false;
	load = decoded(code);
	word = word_of(code);
	if ((word & 0xffc00000u) != 0xf9400000u || load.rd != 17 || load.rn != 16)
		return false;
	*slot = page.jump + (uint64_t)load.added;
	return true;
}

bool code_writes_argument(const struct code *code)
{
	struct a64 a64 = decoded(code);

	return a64.kind == A64_OTHER || a64.writes & 1;
}

/* Instructions of a function examined before a compare-and-exchange. */
#define EXCHANGE_LEAD 32

static bool read_words(const struct code *code, uint64_t vaddr, uint32_t *words, size_t count)
{
	uint64_t offset;

	return !elf_file_offset(code->file, vaddr, &offset) &&
	       !elf_file_read_exact(code->file, offset, words, count * sizeof(*words));
}

/* cas x0, x1, [x2]: of 32 or 64 bits, with any ordering. */
static bool is_exchange_word(uint32_t word)
{
	return (word & 0xbfbf7fffu) == 0x88a07c41u;
}

/*
 * gcc's outline atomics (libgcc, config/aarch64/lse.S), called for a compare-and-exchange: `[bti
 * c;] adrp x16; ldrb w16, [x16, ...]; cbz w16, ...; cas x0, x1, [x2]`.
 */
bool code_is_exchange(const struct code *code)
{
	uint32_t words[5];
	size_t at;

	if (decoded(code).kind != A64_CALL || !read_words(code, decoded(code).jump, words, 5))
		return false;
	at = is_landing_pad(words[0]);
	return (words[at] & 0x9f00001fu) == 0x90000010u && words[at + 2] >> 24 == 0x34 &&
	       is_exchange_word(words[at + 3]);
}

/*
 * Finds the instruction that set a register, looking back from `count`. Returns false if unknown.
 */
static bool find_made(const uint32_t *words, size_t count, uint32_t number, struct a64 *made)
{
	while (count--) {
		*made = a64_decode(words[count], 0);
		if (made->writes & 1u << number)
			return made->kind == A64_PLAIN && made->rd == number;
		if (made->kind != A64_PLAIN && made->kind != A64_COMPARE &&
		    made->kind != A64_CONDITION && made->kind != A64_HINT)
			return false;
	}
	return false;
}

/* `mov xN, x0; ...; add x2, xN, at; mov x1, xN; ...; bl`: the argument goes into itself. */
bool code_exchanges_argument(const struct code *code, int64_t *at)
{
	uint32_t words[EXCHANGE_LEAD];
	uint64_t here = code->instruction->address, end = code_function_end(code, here);
	struct a64 place, value, kept;
	size_t count = EXCHANGE_LEAD;

	if (!code_is_exchange(code))
		return false;
	while (count && (code_function_end(code, here - 4 * count) != end ||
			 !read_words(code, here - 4 * count, words, count)))
		count--;
	if (!find_made(words, count, 2, &place) || !find_made(words, count, 1, &value) ||
	    !value.is_move || value.rm != place.rn || place.added <= 0 ||
	    !find_made(words, count, place.rn, &kept) || !kept.is_move || kept.rm != 0)
		return false;
	*at = place.added;
	return true;
}

bool code_stores(const struct code *code, int32_t constant, int64_t distance)
{
	(void)code, (void)constant, (void)distance;
	return false;
}

/* bti c, where control-flow enforcement allows indirect calls of the function; `b`. */
bool code_may_forward(const uint8_t first[CODE_FORWARD_BYTES])
{
	size_t at = is_landing_pad(a64_word(first)) ? MACHINE_INSTRUCTION_MAX : 0;

	return a64_decode(a64_word(first + at), 0).kind == A64_BRANCH;
}

bool code_forwards(struct code *code, uint64_t vaddr, uint64_t *target)
{
	return decode_behind_pad(code, &vaddr) && decoded(code).kind == A64_BRANCH &&
	       code_direct_target(code, target);
}

/* [bti c;] mrs x0, tpidr_el0; sub x0, x0, distance; ret */
bool code_thread_self_below(struct code *code, uint64_t vaddr, uint64_t *distance)
{
	struct a64 below;

	if (!vaddr || !decode_behind_pad(code, &vaddr) || word_of(code) != 0xd53bd040u ||
	    code_decode(code, vaddr + MACHINE_INSTRUCTION_MAX))
		return false;
	below = decoded(code);
	if (below.kind != A64_PLAIN || below.rd || below.rn || below.added >= 0 ||
	    code_decode(code, vaddr + 2 * MACHINE_INSTRUCTION_MAX) ||
	    !decoder_is_plain_return(code))
		return false;
	*distance = (uint64_t)-below.added;
	return true;
}
