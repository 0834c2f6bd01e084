// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/values.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#define NS_PER_SECOND 1000000000ull

/* Reads the digits that *text begins with and moves it behind them. */
static int digits(const char **text, uint64_t *number)
{
	const char *at = *text;
	uint64_t value = 0;
	int overflow = 0;

	if (!isdigit((unsigned char)*at))
		return -EINVAL;
	for (; isdigit((unsigned char)*at); at++) {
		overflow |= __builtin_mul_overflow(value, 10, &value);
		overflow |= __builtin_add_overflow(value, (uint64_t)(*at - '0'), &value);
	}
	*text = at;
	*number = value;
	return overflow ? -ERANGE : 0;
}

int value_parse_number(const char *text, uint64_t *number)
{
	uint64_t value;
	int error = digits(&text, &value);

	if (error == -EINVAL || *text)
		return -EINVAL;
	if (!error)
		*number = value;
	return error;
}

int value_parse_size(const char *text, uint64_t *bytes)
{
	static const char units[] = "KMG";
	uint64_t value, factor = 1;
	const char *unit;
	int error = digits(&text, &value);

	if (error == -EINVAL)
		return error;
	if (*text) {
		unit = strchr(units, toupper((unsigned char)*text));
		if (!unit || text[1])
			return -EINVAL;
		factor = 1ull << (10 * (unit - units + 1));
	}
	if (error || __builtin_mul_overflow(value, factor, &value))
		return -ERANGE;
	*bytes = value;
	return 0;
}

int value_parse_seconds(const char *text, uint64_t *ns)
{
	uint64_t seconds, fraction = 0, unit = NS_PER_SECOND;
	int error = digits(&text, &seconds);

	if (error == -EINVAL)
		return error;
	if (*text == '.') {
		if (!isdigit((unsigned char)*++text))
			return -EINVAL;
		for (; isdigit((unsigned char)*text) && unit > 1; text++) {
			unit /= 10;
			fraction += unit * (uint64_t)(*text - '0');
		}
	}
	if (*text)
		return -EINVAL;
	if (error || __builtin_mul_overflow(seconds, NS_PER_SECOND, &seconds) ||
	    __builtin_add_overflow(seconds, fraction, &seconds))
		return -ERANGE;
	*ns = seconds;
	return 0;
}
