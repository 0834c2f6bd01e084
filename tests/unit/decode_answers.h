/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Answers of the parser processes, decoded as the monitor does it: by the kind of question. */
#ifndef LEAKMON_TESTS_UNIT_DECODE_ANSWERS_H
#define LEAKMON_TESTS_UNIT_DECODE_ANSWERS_H

#include <stddef.h>

#include "binary/parse/questions.h"
#include "binary/parse/wire.h"

static inline int decode_of_file(const struct parse_kind *kind, const struct bytes *body,
				 uint64_t file_size, void *out)
{
	const struct parse_origin origin = {.file_size = file_size};

	return kind->decode(body, &origin, out);
}

static inline int decode_description(const struct bytes *body,
				     struct debug_description *description)
{
	return decode_of_file(parse_kinds.rows[PARSE_DESCRIPTION], body, 0, description);
}

static inline int decode_plan(const struct bytes *body, uint64_t file_size, struct probe_plan *plan)
{
	return decode_of_file(&plan_kind, body, file_size, plan);
}

static inline int decode_core_layout(const struct bytes *body, uint64_t file_size,
				     struct core_layout *layout)
{
	return decode_of_file(&core_layout_kind, body, file_size, layout);
}

static inline int decode_unwind(const struct bytes *body, struct elf_file *file,
				struct unwind_table *table)
{
	return decode_of_file(&unwind_kind, body, 0, &(struct unwind_answer){file, table});
}

static inline int decode_lines(const struct bytes *body, size_t addresses,
			       struct line_answer *answer)
{
	const struct parse_origin origin = {
		.question_size = offsetof(struct wire_lines_question, addresses) +
				 addresses * sizeof(uint64_t)};

	return lines_kind.decode(body, &origin, answer);
}

static inline int decode_slots(const struct bytes *body, size_t addresses,
			       struct slot_answer *answer)
{
	const struct parse_origin origin = {.question_size = addresses * sizeof(uint64_t)};

	return slots_kind.decode(body, &origin, answer);
}

#endif
