// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/option_values.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/help.h"
#include "cli/values.h"
#include "cli/words.h"
#include "output/output.h"

#define NS_PER_MS 1000000ull

static void *field_of(struct options *options, const struct option_row *row)
{
	return (char *)options + row->offset;
}

static int in_range(const struct option_row *row, uint64_t value)
{
	return value < row->minimum || value > row->maximum ? -ERANGE : 0;
}

int option_set_flag(struct options *options, const struct option_row *row, const char *text)
{
	(void)text;
	*(bool *)field_of(options, row) = true;
	return 0;
}

int option_set_text(struct options *options, const struct option_row *row, const char *text)
{
	if (!*text)
		return -EINVAL;
	*(const char **)field_of(options, row) = text;
	return 0;
}

int option_set_prefix(struct options *options, const struct option_row *row, const char *text)
{
	*(const char **)field_of(options, row) = text;
	return 0;
}

int option_set_number(struct options *options, const struct option_row *row, const char *text)
{
	uint64_t value;
	int error = value_parse_number(text, &value);

	if (!error)
		error = in_range(row, value);
	if (!error)
		*(uint64_t *)field_of(options, row) = value;
	return error;
}

int option_set_size(struct options *options, const struct option_row *row, const char *text)
{
	uint64_t value;
	int error = value_parse_size(text, &value);

	if (!error)
		error = in_range(row, value);
	if (!error)
		*(uint64_t *)field_of(options, row) = value;
	return error;
}

int option_set_milliseconds(struct options *options, const struct option_row *row, const char *text)
{
	uint64_t value;
	int error = value_parse_number(text, &value);

	if (!error)
		error = in_range(row, value);
	if (!error)
		*(uint64_t *)field_of(options, row) = value * NS_PER_MS;
	return error;
}

int option_set_top(struct options *options, const struct option_row *row, const char *text)
{
	uint64_t value;
	int error = value_parse_number(text, &value);

	if (!error)
		error = in_range(row, value);
	if (error)
		return error;
	options->report.top = (size_t)value;
	options->top_given = true;
	return 0;
}

static bool has_pid(const struct options *options, int pid)
{
	for (size_t i = 0; i < options->pids.count; i++) {
		if (options->pids.items[i] == pid)
			return true;
	}
	return false;
}

static int pid_add(struct options *options, const struct option_row *row, const char *word)
{
	uint64_t value;
	int error = value_parse_number(word, &value);
	int *slot;

	if (!error)
		error = in_range(row, value);
	if (error || has_pid(options, (int)value))
		return error;
	slot = vec_push(&options->pids);
	if (!slot)
		return -ENOMEM;
	*slot = (int)value;
	return 0;
}

int option_set_pids(struct options *options, const struct option_row *row, const char *text)
{
	_cleanup_free_ char *copy = strdup(text);
	size_t before = options->pids.count;
	char *rest = copy, *word;
	int error = 0;

	if (!copy)
		return -ENOMEM;
	/* strsep keeps empty words, which are refused as numbers. */
	while (!error && (word = strsep(&rest, ",")))
		error = pid_add(options, row, word);
	if (error)
		options->pids.count = before;
	return error;
}

int option_set_command(struct options *options, const struct option_row *row, const char *text)
{
	char **words = NULL;
	int error = words_split(text, &words);

	(void)row;
	/* An empty name can never be started. */
	if (!error && !*words[0])
		error = -EINVAL;
	if (error) {
		words_free(words);
		return error;
	}
	words_free(options->command);
	options->command = words;
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

/* The place of text among the words, or -EINVAL. */
static int choice(const char *text, const char *const *words, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (!strcmp(text, words[i]))
			return (int)i;
	}
	return -EINVAL;
}

int option_set_probe_at(struct options *options, const struct option_row *row, const char *text)
{
	static const char *const words[] = {
		[PROBE_AT_BEST] = "best",
		[PROBE_AT_ENTRY] = "entry",
	};
	int found = choice(text, words, ARRAY_SIZE(words));

	(void)row;
	if (found < 0)
		return found;
	options->probe_at = (enum probe_at)found;
	return 0;
}

int option_set_stack_walk(struct options *options, const struct option_row *row, const char *text)
{
	static const char *const words[] = {
		[LM_STACK_WALK_AUTO] = "auto",
		[LM_STACK_WALK_CFI] = "cfi",
		[LM_STACK_WALK_FP] = "fp",
	};
	int found = choice(text, words, ARRAY_SIZE(words));

	(void)row;
	if (found < 0)
		return found;
	options->stack_walk = (enum lm_stack_walk)found;
	return 0;
}

int option_set_attach(struct options *options, const struct option_row *row, const char *text)
{
	static const char *const words[] = {
		[ATTACH_AUTO] = "auto",
		[ATTACH_SESSION] = "session",
		[ATTACH_MULTI] = "multi",
		[ATTACH_PERF] = "perf",
	};
	int found = choice(text, words, ARRAY_SIZE(words));

	(void)row;
	if (found < 0)
		return found;
	options->attach_method = (enum attach_method)found;
	return 0;
}

int option_show_help(struct options *options, const struct option_row *row, const char *text)
{
	(void)row;
	(void)text;
	help_print(stdout, subcommand_find(options->subcommand));
	return 1;
}

int option_show_version(struct options *options, const struct option_row *row, const char *text)
{
	(void)options;
	(void)row;
	(void)text;
	help_print_version(stdout);
	return 1;
}
