/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a request for lines brought. */
#ifndef LEAKMON_PARSE_LINE_ANSWER_H
#define LEAKMON_PARSE_LINE_ANSWER_H

#include "base/vec.h"
#include "parse/lines.h"
#include "parse/wire.h"
#include "sandbox/parse_kind.h"

/* The frames of the addresses that were asked for, in their order. */
struct line_answer {
	struct line_range {
		uint32_t first, count; /* in frames; innermost first */
	} * ranges;
	size_t count; /* of ranges */
	struct line_frame *frames;
	char *strings; /* the frames' */
};

/* Room for as many, zeroed. 0 or -ENOMEM; line_answer_free() in any case. */
int line_answer_allocate(struct line_answer *answer, size_t ranges, size_t frames);
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

int decode_lines(const struct bytes *body, size_t addresses, struct line_answer *answer);

#endif
