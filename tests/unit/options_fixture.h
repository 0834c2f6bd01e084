/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Command lines for the tests. Included after cmocka.h. */
#ifndef LEAKMON_TESTS_OPTIONS_FIXTURE_H
#define LEAKMON_TESTS_OPTIONS_FIXTURE_H

#include <string.h>

#include "app/command/command.h"
#include "base/cli/shell_split.h"

#define GO_ON (-1)

/* A line as a shell would hand it over; the words live until the test ends. */
struct line {
	char **argv;
	int argc;
	struct command_line parsed;
};

static inline void line_split(struct line *line, const char *text)
{
	memset(line, 0, sizeof(*line));
	assert_int_equal(shell_split(text, &line->argv), 0);
	while (line->argv[line->argc])
		line->argc++;
}

static inline void line_parse(struct line *line, const char *text)
{
	line_split(line, text);
	if (command_line_parse(&line->parsed, &commands, line->argc, line->argv) != GO_ON)
		fail_msg("refused: %s", text);
}

/* The options of a line, which must be of this command. */
static inline const void *line_options(const struct line *line, const struct command *command)
{
	if (line->parsed.command != command)
		fail_msg("%s in place of %s", line->parsed.command->name, command->name);
	return line->parsed.options;
}

/* A line of `leakmon watch`. */
static inline const struct session_options *line_watch(struct line *line, const char *text)
{
	line_parse(line, text);
	return line_options(line, &command_watch);
}

static inline void line_free(struct line *line)
{
	command_line_free(&line->parsed);
	words_free(line->argv);
}

#endif
