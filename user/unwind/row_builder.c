// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/row_builder.h"

#include <errno.h>
#include <stdbool.h>

#include "base/cleanup.h"

static bool same_rule(const struct lm_unwind_row *a, const struct lm_unwind_row *b)
{
	return a->kind == b->kind && a->cfa_words == b->cfa_words && a->fp_words == b->fp_words;
}

static int push(struct row_builder *builder, uint64_t start, const struct lm_unwind_row *row)
{
	struct lm_unwind_row *pushed;

	if (builder->rows.count && same_rule(&builder->rows.items[builder->rows.count - 1], row))
		return 0;
	if (builder->rows.count >= UNWIND_MAX_ROWS)
		return -EFBIG;
	pushed = vec_push(&builder->rows);
	if (!pushed)
		return -ENOMEM;
	*pushed = *row;
	pushed->pc = (__u32)(start - builder->base);
	return 0;
}

int row_builder_add(struct row_builder *builder, uint64_t start, uint64_t end,
		    struct lm_unwind_row row)
{
	static const struct lm_unwind_row none = {.kind = LM_UNWIND_NONE};
	int err = 0;

	if (!builder->rows.count)
		builder->end = start;
	start = MAX(start, builder->end);
	if (start >= end)
		return 0;
	if (start > builder->end)
		err = push(builder, builder->end, &none);
	if (!err)
		err = push(builder, start, &row);
	if (!err)
		builder->end = end;
	return err;
}

int row_builder_finish(struct row_builder *builder)
{
	static const struct lm_unwind_row none = {.kind = LM_UNWIND_NONE};

	return builder->rows.count ? push(builder, builder->end, &none) : 0;
}
