/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * file:line of one ELF file, through elfutils' libdw, from the file itself or its separate debug
 * file. A handle keeps the sections it has read in memory: close it after use.
 */
#ifndef LEAKMON_PARSE_LINES_H
#define LEAKMON_PARSE_LINES_H

#include <stddef.h>
#include <stdint.h>

#include "base/sandbox/parse_kind.h"
#include "base/vec.h"
#include "binary/parse/wire.h"

struct lines;

/*
 * Opens the line information in `fd`, which passed debug_describe(), and in `alternate_fd`, the
 * supplementary file of dwz; -1: none. Both stay the caller's. Returns 0; -ENOENT: no line
 * information, or the supplementary file is missing; -ENOTSUP: a compression that this libdw cannot
 * read (zstd); -EFBIG: more than 1 GiB of it; -EBADMSG; -ENOMEM; -EMFILE.
 */
int lines_open(int fd, int alternate_fd, struct lines **lines);
void lines_close(struct lines *lines);

/*
 * For other readers of the same file (binary/parse/slots.c): returns libdw's handle, still owned by
 * `lines`; and the DIE of the function that contains an instruction. Returns 0 or -ENOENT.
 */
struct Dwarf *lines_dwarf(struct lines *lines);
int lines_function(struct lines *lines, uint64_t vaddr, uint64_t *offset);

struct line_frame {
	const char *function; /* of an inlined one: its raw name; else NULL */
	const char *file;     /* untrusted; NULL: unknown */
	uint32_t line;
};

/*
 * Finds the line of the instruction at `vaddr`, an address as in the file, as up to `max` frames:
 * first the innermost inlined function, last the function itself. For a return address ask for the
 * byte before it. Strings are owned by `lines`. Returns the number of frames filled; 0: no line.
 */
size_t lines_find(struct lines *lines, uint64_t vaddr, struct line_frame *frames, size_t max);

/* The answer to a request for lines. */

/* The frames of the requested addresses, in order. */
struct line_answer {
	struct line_range {
		uint32_t first, count; /* in frames; innermost first */
	} * ranges;
	size_t count; /* of ranges */
	struct line_frame *frames;
	char *strings; /* owned by the answer */
};

void line_answer_free(struct line_answer *answer);

extern const struct parse_kind lines_kind; /* struct wire_lines_question -> struct line_answer */

/* Collects lines address by address. */
struct line_encoder {
	uint32_t counts[WIRE_MAX_ADDRESSES];
	uint32_t address_count;
	VEC(struct wire_frame) frames;
	struct bytes strings;
};

/* Adds the next address's frames, innermost first; `count` may be 0. Strings are copied. */
int line_encoder_add(struct line_encoder *encoder, const struct line_frame *frames, size_t count);
int line_encoder_finish(const struct line_encoder *encoder, struct bytes *body);
void line_encoder_free(struct line_encoder *encoder);

#endif
