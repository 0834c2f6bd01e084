// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/cli/shell_split.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/vec.h"

struct splitter {
	const char *at;
	char *word; /* room for the whole text: no word is longer */
	size_t length;
	bool in_word; /* '' is a word, too */
	VEC(char *) words;
};

static int keep(struct splitter *splitter, const char *word, size_t length)
{
	_cleanup_free_ char *copy = strndup(word, length);
	char **slot = copy ? vec_push(&splitter->words) : NULL;

	if (!slot)
		return -ENOMEM;
	*slot = TAKE_PTR(copy);
	return 0;
}

static int word_end(struct splitter *splitter)
{
	int error = splitter->in_word ? keep(splitter, splitter->word, splitter->length) : 0;

	splitter->in_word = false;
	splitter->length = 0;
	return error;
}

static void add(struct splitter *splitter, char byte)
{
	splitter->word[splitter->length++] = byte;
}

/* `at` is after the opening quote; moves it past the closing one. */
static int quoted(struct splitter *splitter, char quote)
{
	for (; *splitter->at != quote; splitter->at++) {
		/* Within double quotes a backslash is special only before one of these. */
		if (quote == '"' && *splitter->at == '\\' && splitter->at[1] &&
		    strchr("$`\"\\\n", splitter->at[1])) {
			if (*++splitter->at == '\n')
				continue;
		}
		if (!*splitter->at)
			return -EINVAL;
		add(splitter, *splitter->at);
	}
	splitter->at++;
	return 0;
}

static int escaped(struct splitter *splitter)
{
	char byte = *splitter->at;

	if (!byte)
		return -EINVAL;
	splitter->at++;
	if (byte == '\n') /* a line continuation */
		return 0;
	splitter->in_word = true;
	add(splitter, byte);
	return 0;
}

static int step(struct splitter *splitter)
{
	char byte = *splitter->at++;

	if (strchr(" \t\n", byte))
		return word_end(splitter);
	if (byte == '\\')
		return escaped(splitter);
	splitter->in_word = true;
	if (byte == '\'' || byte == '"')
		return quoted(splitter, byte);
	add(splitter, byte);
	return 0;
}

static int split_all(struct splitter *splitter)
{
	int error = 0;

	while (!error && *splitter->at)
		error = step(splitter);
	if (!error)
		error = word_end(splitter);
	if (!error && !splitter->words.count)
		error = -EINVAL;
	/* Terminates the array with a NULL. */
	if (!error && !vec_push(&splitter->words))
		error = -ENOMEM;
	return error;
}

int shell_split(const char *text, char ***words)
{
	_cleanup_free_ char *room = malloc(strlen(text) + 1);
	struct splitter splitter = {.at = text, .word = room};
	int error;

	if (!room)
		return -ENOMEM;
	error = split_all(&splitter);
	if (!error) {
		*words = splitter.words.items;
		return 0;
	}
	for (size_t i = 0; i < splitter.words.count; i++)
		free(splitter.words.items[i]);
	vec_free(&splitter.words);
	return error;
}

char **words_copy(char *const *words)
{
	size_t count = 0;
	char **copy;

	while (words[count])
		count++;
	copy = calloc(count + 1, sizeof(*copy));
	for (size_t i = 0; copy && i < count; i++) {
		copy[i] = strdup(words[i]);
		if (!copy[i]) {
			words_free(copy);
			return NULL;
		}
	}
	return copy;
}

void words_free(char **words)
{
	for (char **word = words; word && *word; word++)
		free(*word);
	free(words);
}
