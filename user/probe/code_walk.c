// SPDX-License-Identifier: GPL-2.0-or-later
#include "probe/code_walk.h"

#include <errno.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "unwind/eh_frame.h"
#include "unwind/eh_section.h"

#define INSTRUCTION_MAX_BYTES 15

struct walk {
	const struct elf_file *file;
	const struct code_bounds *bounds;
	code_visit visit;
	void *context;
	csh decoder;
	cs_insn *instruction;
	struct hash visited;
	VEC(uint64_t) pending;
	bool incomplete;
};

static int compare_ranges(const void *left, const void *right)
{
	const struct code_range *a = left, *b = right;

	return (a->start > b->start) - (a->start < b->start);
}

static int read_fdes(const struct elf_file *file, struct code_bounds *bounds)
{
	_cleanup_(eh_section_free) struct eh_section section = {0};
	_cleanup_(eh_frame_free) struct eh_frame frame = {0};
	int error = eh_section_read(file, &section);

	if (!error)
		error = eh_frame_parse(&section, &frame);
	for (size_t i = 0; !error && i < frame.fdes.count; i++) {
		struct code_range *range = vec_push(&bounds->fdes);

		if (!range)
			return -ENOMEM;
		*range = (struct code_range){frame.fdes.items[i].start, frame.fdes.items[i].end};
	}
	return error == -ENOMEM || error == -EIO ? error : 0;
}

int code_bounds_read(const struct elf_file *file, const struct elf_symbols *symbols,
		     struct code_bounds *bounds)
{
	_cleanup_(code_bounds_free) struct code_bounds read = {0};
	int error = read_fdes(file, &read);

	for (size_t i = 0; !error && i < symbols->list.count; i++) {
		const struct elf_symbol *symbol = &symbols->list.items[i];
		struct code_range *range;

		if (!symbol->size || symbol->size > UINT64_MAX - symbol->value)
			continue;
		range = vec_push(&read.symbols);
		if (!range)
			return -ENOMEM;
		*range = (struct code_range){symbol->value, symbol->value + symbol->size};
	}
	if (error)
		return error;
	if (read.fdes.count)
		qsort(read.fdes.items, read.fdes.count, sizeof(*read.fdes.items), compare_ranges);
	if (read.symbols.count)
		qsort(read.symbols.items, read.symbols.count, sizeof(*read.symbols.items),
		      compare_ranges);
	*bounds = read;
	read = (struct code_bounds){0};
	return 0;
}

void code_bounds_free(struct code_bounds *bounds)
{
	vec_free(&bounds->fdes);
	vec_free(&bounds->symbols);
}

/* The last range that starts at or below the address, if it holds it. */
static const struct code_range *range_find(const struct code_range *ranges, size_t count,
					   uint64_t address)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (ranges[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low && address < ranges[low - 1].end ? &ranges[low - 1] : NULL;
}

static const struct code_range *bounds_find(const struct code_bounds *bounds, uint64_t address)
{
	const struct code_range *range =
		range_find(bounds->fdes.items, bounds->fdes.count, address);

	return range ? range : range_find(bounds->symbols.items, bounds->symbols.count, address);
}

static bool direct_target(const cs_insn *instruction, uint64_t *target)
{
	const cs_x86 *x86 = &instruction->detail->x86;

	if (x86->op_count != 1 || x86->operands[0].type != X86_OP_IMM)
		return false;
	*target = (uint64_t)x86->operands[0].imm;
	return true;
}

bool code_is_call(csh decoder, const cs_insn *instruction, uint64_t *target)
{
	return cs_insn_group(decoder, instruction, CS_GRP_CALL) &&
	       direct_target(instruction, target);
}

static bool is_branch(csh decoder, const cs_insn *instruction)
{
	return !cs_insn_group(decoder, instruction, CS_GRP_CALL) &&
	       (cs_insn_group(decoder, instruction, CS_GRP_JUMP) ||
		cs_insn_group(decoder, instruction, CS_GRP_BRANCH_RELATIVE));
}

bool code_is_jump(csh decoder, const cs_insn *instruction, uint64_t *target)
{
	return is_branch(decoder, instruction) && direct_target(instruction, target);
}

/* Nothing follows. */
static bool is_end(const cs_insn *instruction)
{
	switch (instruction->id) {
	case X86_INS_RET:
	case X86_INS_RETF:
	case X86_INS_RETFQ:
	case X86_INS_JMP:
	case X86_INS_LJMP:
	case X86_INS_HLT:
	case X86_INS_UD2:
	case X86_INS_INT3:
		return true;
	default:
		return false;
	}
}

static bool decode_at(struct walk *walk, uint64_t address, uint64_t end)
{
	uint8_t code[INSTRUCTION_MAX_BYTES];
	const uint8_t *at = code;
	uint64_t offset, next = address;
	size_t left;
	ssize_t got;

	if (elf_file_offset(walk->file, address, &offset))
		return false;
	got = elf_file_read(walk->file, offset, code, MIN(sizeof(code), end - address));
	left = got > 0 ? (size_t)got : 0;
	return left && cs_disasm_iter(walk->decoder, &at, &left, &next, walk->instruction);
}

static int push(struct walk *walk, uint64_t address)
{
	uint64_t *slot = vec_push(&walk->pending);

	if (!slot)
		return -ENOMEM;
	*slot = address;
	return 0;
}

/* 1: seen before, or enough; 0: new; -ENOMEM. */
static int mark(struct walk *walk, uint64_t address)
{
	bool fresh = false;

	if (walk->visited.count >= CODE_WALK_MAX_INSTRUCTIONS &&
	    !hash_get(&walk->visited, address)) {
		walk->incomplete = true;
		return 1;
	}
	return hash_put(&walk->visited, address, &fresh) ? !fresh : -ENOMEM;
}

/* From `address` on, until the flow ends or joins what was visited. */
static int walk_straight(struct walk *walk, uint64_t address)
{
	const struct code_range *range = bounds_find(walk->bounds, address);
	uint64_t target;
	int error = 0;

	walk->incomplete |= !range;
	while (!error && range && address < range->end) {
		error = mark(walk, address);
		if (error)
			return error < 0 ? error : 0;
		if (!decode_at(walk, address, range->end)) {
			walk->incomplete = true;
			return 0;
		}
		error = walk->visit(walk->decoder, walk->instruction, walk->context);
		if (!error && is_branch(walk->decoder, walk->instruction)) {
			if (direct_target(walk->instruction, &target))
				error = push(walk, target);
			else
				walk->incomplete = true;
		}
		if (is_end(walk->instruction))
			return error;
		address += walk->instruction->size;
	}
	return error; /* off the end: the last call does not return */
}

static int walk_all(struct walk *walk, uint64_t entry)
{
	int error = push(walk, entry);

	while (!error && walk->pending.count)
		error = walk_straight(walk, walk->pending.items[--walk->pending.count]);
	return error;
}

int code_walk(const struct elf_file *file, const struct code_bounds *bounds, uint64_t entry,
	      code_visit visit, void *context)
{
	struct walk walk = {.file = file, .bounds = bounds, .visit = visit, .context = context};
	int error = -ENOMEM;

	if (cs_open(CS_ARCH_X86, CS_MODE_64, &walk.decoder))
		return -ENOMEM;
	cs_option(walk.decoder, CS_OPT_DETAIL, CS_OPT_ON);
	walk.instruction = cs_malloc(walk.decoder);
	if (walk.instruction) {
		error = walk_all(&walk, entry);
		cs_free(walk.instruction, 1);
	}
	cs_close(&walk.decoder);
	hash_free(&walk.visited);
	vec_free(&walk.pending);
	return error ? error : walk.incomplete ? -EOPNOTSUPP : 0;
}
