// SPDX-License-Identifier: GPL-2.0-or-later
#include "binary/parse/slots.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "binary/parse/lines.h"

#define WORD 8
/* Limits of nested scopes and of their contents; a hostile file is endless. */
#define MAX_DEPTH 64
#define MAX_DIES 20000u
/* A larger variable, or a frame with more variables, is skipped. */
#define MAX_BYTES (64u << 10)
#define MAX_WORDS 65536u

struct words {
	VEC(int32_t) list; /* offsets from the CFA */
};

struct survey {
	Dwarf_Addr pc;
	struct words homes, live;
	size_t dies;
	bool unknown; /* something live is in memory at an unknown place */
};

static bool size_of(Dwarf_Die *variable, Dwarf_Word *size)
{
	Dwarf_Attribute attribute;
	Dwarf_Die type;

	return dwarf_attr_integrate(variable, DW_AT_type, &attribute) &&
	       dwarf_formref_die(&attribute, &type) && !dwarf_aggregate_size(&type, size) &&
	       *size > 0 && *size <= MAX_BYTES;
}

/* Adds each word that a live variable touches, or that a home fills. */
static bool add_words(struct words *words, int64_t low, uint64_t size, bool touched)
{
	int64_t high;

	/* An argument on the stack is in the caller's frame; or there is no such frame. */
	if (low < -(int64_t)(16u << 20) || low >= 0 || low + (int64_t)size > 0)
		return true;
	high = low + (int64_t)size;
	low = touched ? low & -WORD : -(-low & -WORD);
	high = touched ? -(-high & -WORD) : high & -WORD;
	for (; low < high; low += WORD) {
		int32_t *slot = words->list.count < MAX_WORDS ? vec_push(&words->list) : NULL;

		if (!slot)
			return false;
		*slot = (int32_t)low;
	}
	return true;
}

static bool is_register(uint8_t atom)
{
	return (atom >= DW_OP_reg0 && atom <= DW_OP_reg31) || atom == DW_OP_regx;
}

/*
 * Returns the end of the part of an expression that begins at `at`: at a piece, or with the
 * expression.
 */
static size_t part_end(const Dwarf_Op *ops, size_t count, size_t at)
{
	while (at < count && ops[at].atom != DW_OP_piece && ops[at].atom != DW_OP_bit_piece)
		at++;
	return at;
}

/* A value, not a place. */
static bool is_value(const Dwarf_Op *ops, size_t from, size_t end)
{
	uint8_t last = end > from ? ops[end - 1].atom : DW_OP_stack_value;

	return last == DW_OP_stack_value || last == DW_OP_implicit_value ||
	       last == DW_OP_implicit_pointer || last == DW_OP_GNU_implicit_pointer ||
	       (end == from + 1 && is_register(last));
}

/* A value computed from frame words needs these. */
static bool add_needed(const Dwarf_Op *ops, size_t from, size_t end, struct words *words)
{
	bool done = true;

	for (size_t i = from; i < end && done; i++) {
		if (ops[i].atom == DW_OP_fbreg)
			done = add_words(words, (int64_t)ops[i].number, WORD, true);
	}
	return done;
}

/* Returns false if it is in memory, at an unknown place. */
static bool add_place(const Dwarf_Op *ops, size_t count, uint64_t size, bool alive,
		      struct words *words)
{
	for (size_t at = 0; at < count;) {
		size_t end = part_end(ops, count, at);
		uint64_t bytes = end < count ? ops[end].number : size;
		bool simple = end == at + 1 && ops[at].atom == DW_OP_fbreg;

		if (end < count && ops[end].atom == DW_OP_bit_piece)
			return false;
		if (simple && (!bytes || bytes > MAX_BYTES ||
			       !add_words(words, (int64_t)ops[at].number, bytes, alive)))
			return false;
		if (!simple && !is_value(ops, at, end))
			return false;
		if (!simple && alive && !add_needed(ops, at, end, words))
			return false;
		at = end + 1;
	}
	return true;
}

/* A call's own instruction counts, and the code after it: a variable may be used there. */
static bool holds(const struct survey *survey, Dwarf_Addr start, Dwarf_Addr end)
{
	return (start <= survey->pc && survey->pc < end) ||
	       (start <= survey->pc + 1 && survey->pc + 1 < end);
}

static void add_variable(struct survey *survey, Dwarf_Die *variable, bool in_scope)
{
	Dwarf_Addr base = 0, start, end;
	Dwarf_Attribute attribute;
	ptrdiff_t at = 0;
	Dwarf_Word size;
	Dwarf_Op *ops;
	size_t count;
	bool sized;

	if (!dwarf_attr(variable, DW_AT_location, &attribute))
		return;
	sized = size_of(variable, &size);
	while ((at = dwarf_getlocations(&attribute, at, &base, &start, &end, &ops, &count)) > 0) {
		bool alive = in_scope && holds(survey, start, end);
		struct words *words = alive ? &survey->live : &survey->homes;

		if (!sized || !add_place(ops, count, size, alive, words))
			survey->unknown |= alive;
	}
	survey->unknown |= at < 0 && in_scope;
}

static bool is_scope(int tag)
{
	return tag == DW_TAG_lexical_block || tag == DW_TAG_inlined_subroutine ||
	       tag == DW_TAG_try_block || tag == DW_TAG_catch_block;
}

/* A scope without addresses covers its parent's. */
static bool scope_holds(const struct survey *survey, Dwarf_Die *scope)
{
	if (!dwarf_hasattr(scope, DW_AT_low_pc) && !dwarf_hasattr(scope, DW_AT_ranges))
		return true;
	return dwarf_haspc(scope, survey->pc) > 0 || dwarf_haspc(scope, survey->pc + 1) > 0;
}

static void add_scope(struct survey *survey, Dwarf_Die *scope, bool in_scope, int depth)
{
	Dwarf_Die child;
	int more = dwarf_child(scope, &child);

	survey->unknown |= depth >= MAX_DEPTH || more < 0;
	for (; !more && !survey->unknown; more = dwarf_siblingof(&child, &child)) {
		int tag = dwarf_tag(&child);

		survey->unknown |= ++survey->dies > MAX_DIES;
		if (tag == DW_TAG_variable || tag == DW_TAG_formal_parameter)
			add_variable(survey, &child, in_scope);
		else if (is_scope(tag))
			add_scope(survey, &child, in_scope && scope_holds(survey, &child),
				  depth + 1);
	}
}

static bool has_known_base(Dwarf_Die *function)
{
	Dwarf_Attribute attribute;
	Dwarf_Op *ops;
	size_t count;

	return dwarf_attr(function, DW_AT_frame_base, &attribute) &&
	       !dwarf_getlocation(&attribute, &ops, &count) && count == 1 &&
	       ops[0].atom == DW_OP_call_frame_cfa;
}

static int compare_words(const void *left_pointer, const void *right_pointer)
{
	const int32_t *left = left_pointer, *right = right_pointer;

	return (*left > *right) - (*left < *right);
}

static void sort(struct words *words)
{
	if (words->list.count)
		qsort(words->list.items, words->list.count, sizeof(*words->list.items),
		      compare_words);
}

/*
 * Lists homes that nothing live touches, merging neighbours. The word below the CFA is the return
 * address.
 */
static size_t list_dead(struct survey *survey, struct slot_range slots[SLOTS_MAX])
{
	size_t count = 0, live = 0;

	sort(&survey->homes);
	sort(&survey->live);
	for (size_t i = 0; i < survey->homes.list.count; i++) {
		int32_t word = survey->homes.list.items[i];

		while (live < survey->live.list.count && survey->live.list.items[live] < word)
			live++;
		if ((live < survey->live.list.count && survey->live.list.items[live] == word) ||
		    word >= -WORD || (count && word < slots[count - 1].high))
			continue;
		if (count && word == slots[count - 1].high)
			slots[count - 1].high += WORD;
		else if (count < SLOTS_MAX)
			slots[count++] = (struct slot_range){word, word + WORD};
		else
			break;
	}
	return count;
}

/* Lists dead words by ascending offset. Returns their number; 0: none is known to be dead. */
static size_t slots_find(struct lines *lines, uint64_t vaddr, struct slot_range slots[SLOTS_MAX])
{
	struct survey survey = {.pc = vaddr};
	Dwarf_Die function;
	uint64_t offset;
	size_t count = 0;

	if (lines_function(lines, vaddr, &offset) ||
	    !dwarf_offdie(lines_dwarf(lines), offset, &function) || !has_known_base(&function))
		return 0;
	add_scope(&survey, &function, true, 0);
	if (!survey.unknown)
		count = list_dead(&survey, slots);
	vec_free(&survey.homes.list);
	vec_free(&survey.live.list);
	return count;
}

/* -------- the same for the parser process: a question and its answer */

void slot_answer_free(struct slot_answer *answer)
{
	free(answer->ranges);
	*answer = (struct slot_answer){0};
}

static size_t addresses_in(size_t question_size)
{
	return question_size / sizeof(uint64_t);
}

static int answer_all(struct lines *lines, const struct wire_slots_question *question, size_t count,
		      struct bytes *body)
{
	_cleanup_(bytes_free) struct bytes ranges = {0};
	uint32_t counts[WIRE_MAX_ADDRESSES];
	int error = 0;

	for (size_t i = 0; i < count && !error; i++) {
		struct slot_range slots[SLOTS_MAX];

		counts[i] = (uint32_t)slots_find(lines, question->addresses[i], slots);
		error = bytes_append(&ranges, slots, counts[i] * sizeof(slots[0]));
	}
	if (!error)
		error = bytes_append(body, counts, count * sizeof(counts[0]));
	return error ? error : bytes_append(body, ranges.data, ranges.size);
}

static int parse(const struct parse_input *input, struct bytes *body)
{
	int alternate = input->file_count > 1 ? input->files[1] : -1;
	struct lines *lines = NULL;
	int error = lines_open(input->files[0], alternate, &lines);

	if (!error)
		error = answer_all(lines, input->question, addresses_in(input->question_size),
				   body);
	lines_close(lines);
	return error;
}

static bool is_sound(const struct slot_range *ranges, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		if (ranges[i].low >= ranges[i].high || ranges[i].high > -WORD ||
		    ranges[i].low % WORD || ranges[i].high % WORD ||
		    (i && ranges[i].low < ranges[i - 1].high))
			return false;
	}
	return true;
}

static int decode(const struct bytes *body, const struct parse_origin *origin, void *out)
{
	size_t addresses = addresses_in(origin->question_size);
	struct slot_answer *answer = out;
	_cleanup_(slot_answer_free) struct slot_answer read = {.count = addresses};
	struct cursor cursor = {body->data, body->size};
	const void *counts = cursor_take(&cursor, addresses, sizeof(uint32_t));
	size_t all = 0;
	int error;

	if (!counts || addresses > WIRE_MAX_ADDRESSES)
		return -EPROTO;
	memcpy(read.counts, counts, addresses * sizeof(uint32_t));
	for (size_t i = 0; i < addresses; i++) {
		if (read.counts[i] > SLOTS_MAX)
			return -EPROTO;
		all += read.counts[i];
	}
	error = cursor_take_copy(&cursor, all, sizeof(struct slot_range), (void **)&read.ranges);
	if (error)
		return error;
	if (cursor.left)
		return -EPROTO;
	all = 0;
	for (size_t i = 0; i < addresses; i++) {
		if (!is_sound(read.ranges + all, read.counts[i]))
			return -EPROTO;
		all += read.counts[i];
	}
	*answer = read;
	read.ranges = NULL;
	return 0;
}

const struct parse_kind slots_kind = {
	.name = "slots",
	.lane = WORKER_LANE_AWAITED,
	.max_files = 2,
	.min_question = sizeof(uint64_t),
	.max_question = sizeof(struct wire_slots_question),
	.parse = parse,
	.decode = decode,
};
