// SPDX-License-Identifier: GPL-2.0-or-later
#include "store/retain_columns.h"

/* The columns are in the order of the verdicts. */
_Static_assert(VERDICT_HELD == 0 && VERDICT_UNTRACKED == 1 && VERDICT_LOST == 2, "columns");
/* One column each in schema_retain.c, and a mark in the statement that writes them. */
_Static_assert(RETAINED_NUMBER_MAX_ == 18, "columns");

struct retention_total *retain_total_at(struct retain_result *result, size_t i)
{
	if (i < VERDICT_MAX_)
		return &result->totals[i];
	if (i == VERDICT_MAX_)
		return &result->direct;
	return i == VERDICT_MAX_ + 1 ? &result->indirect : &result->through;
}

const struct retention_total *retain_total_at_const(const struct retain_result *result, size_t i)
{
	return retain_total_at((struct retain_result *)result, i);
}
