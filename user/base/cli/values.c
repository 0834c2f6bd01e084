// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/cli/values.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/cli/command_line.h"

#define NS_PER_SECOND 1000000000ull
#define NS_PER_MS 1000000ull

/* Reads the digits at *text and moves *text past them. */
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

int value_parse_age(const char *text, uint64_t *ns)
{
	static const struct {
		const char *name;
		uint64_t seconds;
	} units[] = {{"s", 1}, {"min", 60}, {"h", 3600}, {"d", 86400}};
	size_t length = strspn(text, "0123456789");
	char number[16];
	uint64_t value;

	if (!length || length >= sizeof(number))
		return -EINVAL;
	memcpy(number, text, length);
	number[length] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		if (strcmp(text + length, units[i].name) != 0)
			continue;
		if (value_parse_number(number, &value) || value > UINT32_MAX)
			return -ERANGE;
		*ns = value * units[i].seconds * NS_PER_SECOND;
		return 0;
	}
	return -EINVAL;
}

int value_check_range(const struct option_row *row, uint64_t value)
{
	return value < row->minimum || value > row->maximum ? -ERANGE : 0;
}

int value_set_flag(void *field, const struct option_row *row, const char *text)
{
	(void)row;
	(void)text;
	*(bool *)field = true;
	return 0;
}

int value_set_text(void *field, const struct option_row *row, const char *text)
{
	(void)row;
	if (!*text)
		return -EINVAL;
	*(const char **)field = text;
	return 0;
}

int value_set_prefix(void *field, const struct option_row *row, const char *text)
{
	(void)row;
	*(const char **)field = text;
	return 0;
}

/* The limits of a row apply to the value as typed, before it is scaled to the field's unit. */
static int set_scaled(uint64_t *field, const struct option_row *row, const char *text,
		      int (*parse)(const char *text, uint64_t *value), uint64_t unit)
{
	uint64_t value;
	int error = parse(text, &value);

	if (!error)
		error = value_check_range(row, value);
	if (!error)
		*field = value * unit;
	return error;
}

int value_set_number(void *field, const struct option_row *row, const char *text)
{
	return set_scaled(field, row, text, value_parse_number, 1);
}

int value_set_size(void *field, const struct option_row *row, const char *text)
{
	return set_scaled(field, row, text, value_parse_size, 1);
}

int value_set_milliseconds(void *field, const struct option_row *row, const char *text)
{
	return set_scaled(field, row, text, value_parse_number, NS_PER_MS);
}

int value_set_address(void *field, const struct option_row *row, const char *text)
{
	uint64_t value;
	char *end;

	(void)row;
	if (!isxdigit((unsigned char)*text))
		return -EINVAL;
	errno = 0;
	value = strtoull(text, &end, 16);
	if (*end || errno || !value)
		return -EINVAL;
	*(uint64_t *)field = value;
	return 0;
}

/* Copies `text` without its last character if that is one of `units`, which goes to *unit. */
static int unit_cut(const char *text, const char *units, char number[32], char *unit)
{
	size_t length = strlen(text);

	if (!length || length >= 32)
		return -EINVAL;
	memcpy(number, text, length + 1);
	*unit = '\0';
	if (strchr(units, text[length - 1])) {
		*unit = text[length - 1];
		number[length - 1] = '\0';
	}
	return 0;
}

int value_set_percent(void *field, const struct option_row *row, const char *text)
{
	char number[32], unit = 0;
	uint64_t billionths;
	int error = unit_cut(text, "%", number, &unit);

	if (!error) /* seconds and percent have the same form */
		error = value_parse_seconds(number, &billionths);
	if (!error)
		error = value_check_range(row, billionths);
	if (!error)
		*(double *)field = (double)billionths / 1e9 / 100;
	return error;
}

int value_set_duration(void *field, const struct option_row *row, const char *text)
{
	char number[32], unit = 0;
	uint64_t ns = 0, factor;
	int error = unit_cut(text, "smh", number, &unit);

	if (!error)
		error = value_parse_seconds(number, &ns);
	factor = unit == 'm' ? 60 : unit == 'h' ? 3600 : 1;
	if (!error && (ns < row->minimum / factor || ns > row->maximum / factor))
		error = -ERANGE;
	if (!error)
		*(uint64_t *)field = ns * factor;
	return error;
}

/* Returns the index of `text` among words separated by '|', or -EINVAL. */
static int word_index(const char *words, const char *text)
{
	size_t length = strlen(text);

	for (int i = 0; words; i++) {
		size_t end = strcspn(words, "|");

		if (end == length && !strncmp(words, text, length))
			return i;
		words = words[end] ? words + end + 1 : NULL;
	}
	return -EINVAL;
}

int value_set_choice(void *field, const struct option_row *row, const char *text)
{
	int index = word_index(option_argument(row), text);

	if (index < 0)
		return index;
	*(unsigned *)field = (unsigned)index;
	return 0;
}

int value_set_word(void *field, const struct option_row *row, const char *text)
{
	int index = word_index(option_argument(row), text);

	if (index < 0)
		return index;
	*(const char **)field = text;
	return 0;
}
