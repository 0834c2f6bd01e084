// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/diff.h"

#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"

static const char *const group_names[] = {
	[DIFF_BY_SITE] = "site", [DIFF_BY_FUNCTION] = "function",   [DIFF_BY_MODULE] = "module",
	[DIFF_BY_FILE] = "file", [DIFF_BY_CONTAINER] = "container", [DIFF_BY_BUILD] = "build",
	[DIFF_BY_HOST] = "host",
};

_Static_assert(ARRAY_SIZE(group_names) == DIFF_GROUP_MAX_, "a name for every group");

static const char *const state_names[] = {
	[DIFF_NEW] = "new",   [DIFF_GROWN] = "grown", [DIFF_SHRUNK] = "shrunk",
	[DIFF_GONE] = "gone", [DIFF_SAME] = "same",
};

_Static_assert(ARRAY_SIZE(state_names) == DIFF_STATE_MAX_, "a name for every state");

const char *diff_group_name(enum diff_group group)
{
	return group_names[group];
}

const char *diff_state_name(enum diff_state state)
{
	return state_names[state];
}

static bool counted_since(const struct poisson_sum *before, const struct poisson_sum *after,
			  struct poisson_sum *since)
{
	*since = (struct poisson_sum){after->sum - before->sum, after->variance - before->variance,
				      after->largest};
	return since->sum >= 0 && since->variance >= 0;
}

bool diff_limits(const struct diff *diff, const struct diff_row *row, struct bounds *limits)
{
	const struct diff_hits *before = row ? &row->hits_before : &diff->hits_before;
	const struct diff_hits *after = row ? &row->hits_after : &diff->hits_after;
	struct poisson_sum held_before = before->held, held_after = after->held, come = {0},
			   gone = {0};
	double largest = fmax(held_before.largest, held_after.largest);
	bool flow = diff->same_run && counted_since(&before->allocated, &after->allocated, &come) &&
		    counted_since(&before->freed, &after->freed, &gone);

	if (largest <= 0)
		return false;
	/* Without observed samples, one may just have been missed. */
	held_before.largest = held_after.largest = come.largest = gone.largest = largest;
	*limits =
		poisson_growth(&held_before, &held_after, flow ? &come : NULL, flow ? &gone : NULL);
	return true;
}

enum diff_state diff_state_of(const struct diff_amount *before, const struct diff_amount *after)
{
	int64_t bytes = (int64_t)(after->bytes - before->bytes);
	int64_t count = (int64_t)(after->count - before->count);

	if (!before->count && !before->bytes)
		return after->count || after->bytes ? DIFF_NEW : DIFF_SAME;
	if (!after->count && !after->bytes)
		return DIFF_GONE;
	if (bytes > 0 || (!bytes && count > 0))
		return DIFF_GROWN;
	return bytes || count ? DIFF_SHRUNK : DIFF_SAME;
}

void diff_free(struct diff *diff)
{
	for (size_t i = 0; i < diff->rows.count; i++)
		free(diff->rows.items[i].name);
	vec_free(&diff->rows);
	vec_free(&diff->dead);
	memory_changes_free(&diff->memory);
}
