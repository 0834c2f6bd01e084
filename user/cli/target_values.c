// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/target_values.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/values.h"
#include "cli/words.h"
#include "proc/container.h"

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
		error = option_in_range(row, value);
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
	const char **slot = vec_push((struct option_words *)option_field(options, row));

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
