// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/top/attention.h"

#include "base/cleanup.h"

bool attention_is_left(const struct attention *attention, double now_s)
{
	return !(attention->chosen > 0) && now_s - attention->typed_s >= ATTENTION_S;
}

double attention_limit(const struct attention *attention, double now_s)
{
	if (attention->chosen > 0)
		return attention->chosen;
	return attention_is_left(attention, now_s) ? ATTENTION_LEFT : ATTENTION_WATCHED;
}

void attention_change(struct attention *attention, bool more, double now_s)
{
	double limit = attention_limit(attention, now_s) * (more ? 2 : 0.5);

	attention->chosen = MIN(MAX(limit, ATTENTION_LIMIT_MIN), ATTENTION_LIMIT_MAX);
}
