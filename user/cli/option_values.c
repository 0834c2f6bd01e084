// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/option_values.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/completion.h"
#include "cli/help.h"
#include "cli/values.h"
#include "cli/words.h"
#include "output/output.h"
#include "proc/container_names.h"
#include "store/recorder.h"

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

/* The limits of a row are those of what was typed, before it is scaled to the field's unit. */
static int set_scaled(struct options *options, const struct option_row *row, const char *text,
		      int (*parse)(const char *text, uint64_t *value), uint64_t unit)
{
	uint64_t value;
	int error = parse(text, &value);

	if (!error)
		error = in_range(row, value);
	if (!error)
		*(uint64_t *)field_of(options, row) = value * unit;
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
	*(uint64_t *)field_of(options, row) = value;
	return 0;
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

static int word_add(struct options *options, const struct option_row *row, const char *word)
{
	const char **slot = vec_push((struct option_words *)field_of(options, row));

	if (!slot)
		return -ENOMEM;
	*slot = word;
	return 0;
}

int option_add_word(struct options *options, const struct option_row *row, const char *text)
{
	return *text ? word_add(options, row, text) : -EINVAL;
}

int option_add_container(struct options *options, const struct option_row *row, const char *text)
{
	/* Docker takes more than Kubernetes does; an id is a name of this kind, too. */
	static const char name_characters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-";
	const char *scheme = strstr(text, "://");
	const char *id = scheme ? scheme + 3 : text;
	size_t length = strlen(id);

	if (!length || length > CONTAINER_NAME_MAX || !isalnum((unsigned char)*id) ||
	    strspn(id, name_characters) != length)
		return -EINVAL;
	return word_add(options, row, id);
}

int option_add_pod(struct options *options, const struct option_row *row, const char *text)
{
	const char *slash = strchr(text, '/');

	if (!*text || slash == text || (slash && (!slash[1] || strchr(slash + 1, '/'))))
		return -EINVAL;
	return word_add(options, row, text);
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
			*(unsigned *)((char *)options + row->offset) = i;
			return 0;
		}
		word = word[end] ? word + end + 1 : NULL;
	}
	return -EINVAL;
}

int option_show_help(struct options *options, const struct option_row *row, const char *text)
{
	(void)row;
	(void)text;
	help_print(stdout, subcommand_find(options->subcommand));
	return 1;
}

int option_show_completion(struct options *options, const struct option_row *row, const char *text)
{
	(void)options;
	(void)row;
	if (strcmp(text, "bash") != 0)
		return -EINVAL;
	completion_print(stdout);
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
