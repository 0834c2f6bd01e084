// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/option_values.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/values.h"
#include "output/output.h"
#include "store/recorder.h"

#define NS_PER_MS 1000000ull
#define ESCALATE_DEFAULT 3

void *option_field(struct options *options, const struct option_row *row)
{
	return (char *)options + row->offset;
}

int option_in_range(const struct option_row *row, uint64_t value)
{
	return value < row->minimum || value > row->maximum ? -ERANGE : 0;
}

int option_set_flag(struct options *options, const struct option_row *row, const char *text)
{
	(void)text;
	*(bool *)option_field(options, row) = true;
	return 0;
}

int option_set_text(struct options *options, const struct option_row *row, const char *text)
{
	if (!*text)
		return -EINVAL;
	*(const char **)option_field(options, row) = text;
	return 0;
}

int option_set_prefix(struct options *options, const struct option_row *row, const char *text)
{
	*(const char **)option_field(options, row) = text;
	return 0;
}

/* The limits of a row are those of what was typed, before it is scaled to the field's unit. */
static int set_scaled(struct options *options, const struct option_row *row, const char *text,
		      int (*parse)(const char *text, uint64_t *value), uint64_t unit)
{
	uint64_t value;
	int error = parse(text, &value);

	if (!error)
		error = option_in_range(row, value);
	if (!error)
		*(uint64_t *)option_field(options, row) = value * unit;
	return error;
}

int option_set_number(struct options *options, const struct option_row *row, const char *text)
{
	return set_scaled(options, row, text, value_parse_number, 1);
}

int option_set_size(struct options *options, const struct option_row *row, const char *text)
{
	return set_scaled(options, row, text, value_parse_size, 1);
}

int option_set_milliseconds(struct options *options, const struct option_row *row, const char *text)
{
	return set_scaled(options, row, text, value_parse_number, NS_PER_MS);
}

int option_set_address(struct options *options, const struct option_row *row, const char *text)
{
	uint64_t value;
	char *end;

	if (!isxdigit((unsigned char)*text))
		return -EINVAL;
	errno = 0;
	value = strtoull(text, &end, 16);
	if (*end || errno || !value)
		return -EINVAL;
	*(uint64_t *)option_field(options, row) = value;
	return 0;
}

int option_set_top(struct options *options, const struct option_row *row, const char *text)
{
	uint64_t value;
	int error = value_parse_number(text, &value);

	if (!error)
		error = option_in_range(row, value);
	if (error)
		return error;
	options->report.top = (size_t)value;
	options->top_given = true;
	return 0;
}

int option_set_format(struct options *options, const struct option_row *row, const char *text)
{
	(void)row;
	if (!output_find(text))
		return -EINVAL;
	options->format = text;
	return 0;
}

int option_set_sort(struct options *options, const struct option_row *row, const char *text)
{
	(void)row;
	return sort_key_parse(text, &options->report.sort);
}

/* Copies `text` without its last character if that is one of `units`, which is put into *unit. */
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

int option_set_percent(struct options *options, const struct option_row *row, const char *text)
{
	char number[32], unit = 0;
	uint64_t billionths;
	int error = unit_cut(text, "%", number, &unit);

	if (!error) /* seconds and percent have the same form */
		error = value_parse_seconds(number, &billionths);
	if (!error)
		error = option_in_range(row, billionths);
	if (!error)
		*(double *)option_field(options, row) = (double)billionths / 1e9 / 100;
	return error;
}

int option_set_count_or_three(struct options *options, const struct option_row *row,
			      const char *text)
{
	if (text)
		return option_set_number(options, row, text);
	*(uint64_t *)option_field(options, row) = ESCALATE_DEFAULT;
	return 0;
}

int option_set_duration(struct options *options, const struct option_row *row, const char *text)
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
		*(uint64_t *)option_field(options, row) = ns * factor;
	return error;
}

/* "30s", "30min", "24h", "7d". */
static int parse_time(const char *text, uint64_t *ns)
{
	static const struct {
		const char *name;
		uint64_t seconds;
	} units[] = {{"s", 1}, {"min", 60}, {"h", 3600}, {"d", 86400}};
	size_t digits = strspn(text, "0123456789");
	char number[16];
	uint64_t value;

	if (!digits || digits >= sizeof(number))
		return -EINVAL;
	memcpy(number, text, digits);
	number[digits] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		if (strcmp(text + digits, units[i].name) != 0)
			continue;
		if (value_parse_number(number, &value) || value > UINT32_MAX)
			return -ERANGE;
		*ns = value * units[i].seconds * 1000000000ull;
		return 0;
	}
	return -EINVAL;
}

int option_set_keep(struct options *options, const struct option_row *row, const char *text)
{
	uint64_t bytes;
	int error = parse_time(text, &options->keep_ns);

	(void)row;
	if (error != -EINVAL)
		return error;
	/* 30m could be minutes. */
	if (strchr(text, 'm'))
		return -EINVAL;
	error = value_parse_size(text, &bytes);
	if (!error && bytes && bytes < RECORDER_KEEP_BYTES_MIN)
		return -EINVAL;
	if (!error)
		options->keep_bytes = bytes;
	return error;
}

int option_set_choice(struct options *options, const struct option_row *row, const char *text)
{
	const char *word = row->argument;
	size_t length = strlen(text);

	for (unsigned i = 0; word; i++) {
		size_t end = strcspn(word, "|");

		if (end == length && !strncmp(word, text, length)) {
			*(unsigned *)option_field(options, row) = i;
			return 0;
		}
		word = word[end] ? word + end + 1 : NULL;
	}
	return -EINVAL;
}

int option_show_help(struct options *options, const struct option_row *row, const char *text)
{
	(void)options;
	(void)row;
	(void)text;
	return SHOW_HELP;
}

int option_show_version(struct options *options, const struct option_row *row, const char *text)
{
	(void)options;
	(void)row;
	(void)text;
	return SHOW_VERSION;
}

int option_show_completion(struct options *options, const struct option_row *row, const char *text)
{
	(void)options;
	(void)row;
	return strcmp(text, "bash") ? -EINVAL : SHOW_COMPLETION;
}
