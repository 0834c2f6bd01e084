/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * file:line of one ELF file, through elfutils' libdw, from the file itself or its separate debug
 * file. A handle holds the sections it has read in memory: close it after use.
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
 * Opens the line information in `fd`, which came through debug_describe(), and in `alternate_fd`
 * what dwz moved out of it; -1: there is none. Both stay the caller's.
 * 0; -ENOENT: there is none, or the alternate is missing; -ENOTSUP: compressed in a way this libdw
 * cannot read (zstd); -EFBIG: more than 1 GiB of it; -EBADMSG; -ENOMEM; -EMFILE.
 */
int lines_open(int fd, int alternate_fd, struct lines **lines);
void lines_close(struct lines *lines);

/* For others that look into the same file (binary/parse/slots.c): libdw's handle, which stays ours;
 * and the entry of the function that an instruction belongs to. 0 or -ENOENT. */
struct Dwarf *lines_dwarf(struct lines *lines);
int lines_function(struct lines *lines, uint64_t vaddr, uint64_t *offset);

struct line_frame {
	const char *function; /* of one that was inlined: its raw name; else NULL */
	const char *file;     /* untrusted; NULL: unknown */
	uint32_t line;
};

/*
 * The line of the instruction at `vaddr`, in the file's own numbering, as up to `max` frames: first
 * the innermost inlined function, last the function itself. For a return address ask for the byte
 * before it. Strings are owned by `lines`. Returns how many frames were filled; 0: no line.
 */
size_t lines_find(struct lines *lines, uint64_t vaddr, struct line_frame *frames, size_t max);

/* The answer to a request for lines. */

/* The frames of the addresses that were asked for, in their order. */
struct line_answer {
	struct line_range {
		uint32_t first, count; /* in frames; innermost first */
	} * ranges;
	size_t count; /* of ranges */
	struct line_frame *frames;
	char *strings; /* the frames' */
};

void line_answer_free(struct line_answer *answer);

extern const struct parse_kind lines_kind; /* struct wire_lines_question -> struct line_answer */

/* Lines are collected address by address. */
struct line_encoder {
	uint32_t counts[WIRE_MAX_ADDRESSES];
	uint32_t address_count;
	VEC(struct wire_frame) frames;
	struct bytes strings;
};

/* The next address' frames, innermost first; may be none. Strings are copied. */
int line_encoder_add(struct line_encoder *encoder, const struct line_frame *frames, size_t count);
int line_encoder_finish(const struct line_encoder *encoder, struct bytes *body);
void line_encoder_free(struct line_encoder *encoder);

#endif
