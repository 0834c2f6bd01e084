// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/turns.h"

#include <math.h>

#include "base/cleanup.h"

/* So many windows each, before growth decides. */
#define FIRST_WINDOWS 3
/* Of the limit, what windows and looks may use whatever else costs. */
#define WINDOWS_SHARE 0.5

void turns_begin(struct turns *turns, double limit, double now_s)
{
	*turns = (struct turns){.limit = limit,
				.clock_s = now_s,
				.total_credit_s = TURNS_CREDIT_S,
				.windows_credit_s = TURNS_CREDIT_S};
}

/* A bucket that fills by the clock and is emptied by what is used. */
static double credit_after(double credit_s, double earned_s, double used_s)
{
	return fmin(credit_s + earned_s, TURNS_CREDIT_S) - used_s;
}

bool turns_afford(struct turns *turns, double now_s, double total_s, double windows_s)
{
	double earned_s = turns->limit * fmax(now_s - turns->clock_s, 0);

	turns->total_credit_s =
		credit_after(turns->total_credit_s, earned_s, total_s - turns->total_s);
	turns->windows_credit_s = credit_after(turns->windows_credit_s, earned_s * WINDOWS_SHARE,
					       windows_s - turns->windows_s);
	turns->clock_s = fmax(now_s, turns->clock_s);
	turns->total_s = total_s;
	turns->windows_s = windows_s;
	return turns->total_credit_s > 0 || turns->windows_credit_s > 0;
}

/* Whether `one` comes before `other`. */
static bool is_less_known(const struct turn_candidate *one, const struct turn_candidate *other)
{
	unsigned a = MIN(one->windows, FIRST_WINDOWS), b = MIN(other->windows, FIRST_WINDOWS);

	return a != b ? a < b : one->since_s < other->since_s;
}

static size_t least_known(const struct turn_candidate *candidates, size_t count)
{
	size_t found = count;

	for (size_t i = 0; i < count; i++) {
		if (candidates[i].wants &&
		    (found == count || is_less_known(&candidates[i], &candidates[found])))
			found = i;
	}
	return found;
}

static size_t fastest(const struct turn_candidate *candidates, size_t count)
{
	size_t found = count;

	for (size_t i = 0; i < count; i++) {
		if (candidates[i].wants && candidates[i].growth > 0 &&
		    (found == count || candidates[i].growth > candidates[found].growth))
			found = i;
	}
	return found;
}

size_t turns_next(struct turns *turns, const struct turn_candidate *candidates, size_t count)
{
	/* By windows first, then by who has waited longest. */
	size_t oldest = least_known(candidates, count), grows = fastest(candidates, count);

	if (oldest == count || candidates[oldest].windows < FIRST_WINDOWS)
		return oldest;
	turns->oldest_next = !turns->oldest_next;
	return turns->oldest_next || grows == count ? oldest : grows;
}
