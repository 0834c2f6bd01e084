// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The OCaml compiler's table of call sites: which words of a frame are values, and, with -g, the
 * line. Sources: runtime/caml/frame_descriptors.h and backtrace_nat.c of 4.13 and 5.3,
 * asmcomp/emitaux.ml.
 */
#include "heap/runtime/ocaml/ocaml.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/search.h"

#define TABLES_MAX 65536
#define FRAMES_MAX (1u << 23)
#define FRAME_HEAD 12 /* address, size with flags, number of live words */
#define FRAME_DEBUG 1u
#define FRAME_ALLOCATES 2u
#define FRAME_FLAGS 3u
#define FRAME_OF_C 0xffffu /* OCaml was called from C */
#define INLINED_MAX 32

struct frame_head {
	uint64_t address;
	uint16_t size, live;
};

static bool read_head(const struct ocaml *ocaml, uint64_t at, struct frame_head *head)
{
	unsigned char bytes[FRAME_HEAD];

	if (target_read(ocaml->memory, at, bytes, sizeof(bytes)))
		return false;
	memcpy(&head->address, bytes, 8);
	memcpy(&head->size, bytes + 8, 2);
	memcpy(&head->live, bytes + 10, 2);
	return true;
}

/*
 * Returns the address of a descriptor's debug information; 0: none. *next: end of the descriptor.
 */
static uint64_t frame_debug(const struct ocaml *ocaml, uint64_t at, const struct frame_head *head,
			    uint64_t *next)
{
	uint64_t end = at + FRAME_HEAD, debug = 0;
	uint8_t allocations = 0;

	if (head->size != FRAME_OF_C) {
		end += head->live * 2ull;
		if (head->size & FRAME_ALLOCATES &&
		    !target_read(ocaml->memory, end, &allocations, 1))
			end += 1 + allocations;
		if (head->size & FRAME_DEBUG) {
			debug = align_up(end, 4);
			end = debug + 4ull * (head->size & FRAME_ALLOCATES ? allocations : 1);
		}
	}
	*next = align_up(end, 8);
	return head->size & FRAME_ALLOCATES && !allocations ? 0 : debug;
}

static int read_table(struct ocaml *ocaml, uint64_t table)
{
	uint64_t count = target_word(ocaml->memory, table), at = table + 8;

	for (uint64_t i = 0; i < count && ocaml->frames.count < FRAMES_MAX; i++) {
		struct frame_head head;
		struct ocaml_frame *frame;

		if (!read_head(ocaml, at, &head))
			break;
		frame = vec_push(&ocaml->frames);
		if (!frame)
			return -ENOMEM;
		*frame = (struct ocaml_frame){head.address, at};
		frame_debug(ocaml, at, &head, &at);
	}
	return 0;
}

static int compare_frames(const void *left_pointer, const void *right_pointer)
{
	const struct ocaml_frame *left = left_pointer, *right = right_pointer;

	return left->address < right->address ? -1 : left->address > right->address;
}

int ocaml_read_frames(struct ocaml *ocaml)
{
	uint64_t tables = ocaml_symbol(ocaml, "caml_frametable");
	int error = 0;

	for (size_t i = 0; !error && tables && i < TABLES_MAX; i++) {
		uint64_t table = target_word(ocaml->memory, tables + i * 8);

		if (!table)
			break;
		error = read_table(ocaml, table);
	}
	if (ocaml->frames.count)
		qsort(ocaml->frames.items, ocaml->frames.count, sizeof(*ocaml->frames.items),
		      compare_frames);
	return error;
}

/* Frames on stacks. */

static const struct ocaml_frame *frame_at(const struct ocaml *ocaml, uint64_t address)
{
	size_t at = SORTED_BEFORE(frame, ocaml->frames.items, ocaml->frames.count,
				  frame->address < address);

	return at < ocaml->frames.count && ocaml->frames.items[at].address == address
		       ? &ocaml->frames.items[at]
		       : NULL;
}

/* stack.h: behind the frame called from C are a trap, the registers of C's caller, and more. */
#define CHUNK_REGISTERS 24
#define CHUNK_HEAD 32
#define REGISTERS 32

static int visit_live(const struct ocaml *ocaml, uint64_t at, const struct frame_head *head,
		      uint64_t frame, uint64_t registers, ocaml_visit_value *visit, void *context)
{
	int error = 0;

	for (uint16_t i = 0; !error && i < head->live; i++) {
		uint16_t place;

		if (target_read(ocaml->memory, at + FRAME_HEAD + i * 2ull, &place, sizeof(place)))
			break;
		if (place & 1 && (!registers || place / 2 >= REGISTERS))
			continue;
		error = visit(context,
			      target_word(ocaml->memory, place & 1 ? registers + place / 2 * 8ull
								   : frame + place));
	}
	return error;
}

int ocaml_visit_frames(const struct ocaml *ocaml, uint64_t pointer, uint64_t end,
		       uint64_t registers, ocaml_visit_value *visit, void *context, uint64_t *left)
{
	/* Each word of a stack holds at most one value; arguments may count for the caller and for
	 * the callee. */
	uint64_t at = pointer + 8, values = (end - MIN(pointer, end)) / 8 * 2 + REGISTERS;
	int error = 0;

	while (!error && at < end) {
		const struct ocaml_frame *frame =
			frame_at(ocaml, target_word(ocaml->memory, at - 8));
		struct frame_head head;

		if (!frame || !read_head(ocaml, frame->descriptor, &head))
			break;
		if (head.size == FRAME_OF_C) {
			registers = target_word(ocaml->memory, at + CHUNK_REGISTERS);
			values += REGISTERS;
			at += CHUNK_HEAD;
			if (at >= end)
				break;
			at += 8;
			continue;
		}
		if (head.live > values)
			break;
		values -= head.live;
		error = visit_live(ocaml, frame->descriptor, &head, at, registers, visit, context);
		if (!(head.size & ~FRAME_FLAGS))
			break;
		at += head.size & ~FRAME_FLAGS;
	}
	*left = at < end ? at - 8 : end;
	return error;
}

/* Lines. */

/* Returns the debug information of the outermost of inlined frames, the last one. */
static uint64_t outermost(const struct ocaml *ocaml, uint64_t debug)
{
	for (unsigned i = 0; i < INLINED_MAX; i++) {
		uint32_t first;

		if (target_read(ocaml->memory, debug, &first, sizeof(first)))
			return 0;
		if (!(first & 1))
			return debug;
		debug += 8;
	}
	return 0;
}

/* Returns the line in the second word: in two formats since 5.2, in one before. */
static uint32_t line_of(const struct ocaml *ocaml, uint32_t word)
{
	if (!ocaml->domains.count)
		return word >> 12;
	return word & 0x80000000u ? word >> 12 & 0x7ffff : word >> 19;
}

static bool read_file(const struct ocaml *ocaml, uint64_t name, char *file, size_t size)
{
	const uint64_t end = name + PATH_MAX;
	size_t length = 0;
	char letter;

	while (name < end && !target_read(ocaml->memory, name++, &letter, 1) &&
	       isprint((unsigned char)letter)) {
		if (letter == '/')
			length = 0;
		else if (length + 1 < size)
			file[length++] = letter;
		else
			return false;
	}
	file[length] = '\0';
	return length != 0;
}

bool ocaml_line(const struct ocaml *ocaml, uint64_t code, uint64_t end, char *line, size_t size)
{
	size_t at = SORTED_BEFORE(frame, ocaml->frames.items, ocaml->frames.count,
				  frame->address <= code);
	uint64_t debug, next, names;
	struct frame_head head;
	char file[128];
	uint32_t words[2], offset;

	if (at >= ocaml->frames.count || ocaml->frames.items[at].address > end ||
	    !read_head(ocaml, ocaml->frames.items[at].descriptor, &head))
		return false;
	debug = frame_debug(ocaml, ocaml->frames.items[at].descriptor, &head, &next);
	if (!debug || target_read(ocaml->memory, debug, &offset, sizeof(offset)))
		return false;
	debug = outermost(ocaml, debug + offset);
	if (!debug || target_read(ocaml->memory, debug, words, sizeof(words)))
		return false;
	names = debug + (words[0] & 0x3fffffc);
	if (target_read(ocaml->memory, names, &offset, sizeof(offset)) ||
	    !read_file(ocaml, names + (uint64_t)(int64_t)(int32_t)offset, file, sizeof(file)))
		return false;
	snprintf(line, size, "%s:%u", file, line_of(ocaml, words[1]));
	return true;
}
