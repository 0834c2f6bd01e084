/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Puts rows together from ranges that come in ascending order. */
#ifndef LEAKMON_UNWIND_ROW_BUILDER_H
#define LEAKMON_UNWIND_ROW_BUILDER_H

#include <stdint.h>

#include "base/vec.h"
#include "leakmon_abi.h"

#define UNWIND_MAX_ROWS (4u << 20)

struct row_builder {
	uint64_t base; /* address that rows count from */
	uint64_t end;  /* what is covered up to now */
	VEC(struct lm_unwind_row) rows;
};

/*
 * `row` (its pc is ignored) holds for [start, end). What is covered already stays as it is, what
 * is left out in between becomes LM_UNWIND_NONE, and a row like the one before only extends it.
 * `end` must not be more than base + UINT32_MAX. 0; -EFBIG: over UNWIND_MAX_ROWS; -ENOMEM.
 */
int row_builder_add(struct row_builder *builder, uint64_t start, uint64_t end,
		    struct lm_unwind_row row);

/* Closes the last range with a LM_UNWIND_NONE row, if there is any. Errors as above. */
int row_builder_finish(struct row_builder *builder);

#endif
