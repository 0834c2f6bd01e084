/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a request for lines brought. */
#ifndef LEAKMON_WORKER_LINE_ANSWER_H
#define LEAKMON_WORKER_LINE_ANSWER_H

#include "symbol/lines.h"

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

#endif
