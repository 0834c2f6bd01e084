/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Command lines for the tests. Included after cmocka.h. */
#ifndef LEAKMON_TESTS_OPTIONS_FIXTURE_H
#define LEAKMON_TESTS_OPTIONS_FIXTURE_H

#include <string.h>

#include "cli/options.h"
#include "cli/words.h"

#define GO_ON (-1)

/* A line as a shell would hand it over; the words live until the test ends. */
struct line {
	char **argv;
	int argc;
	struct options options;
};

static inline void line_split(struct line *line, const char *text)
{
	memset(line, 0, sizeof(*line));
	assert_int_equal(words_split(text, &line->argv), 0);
	while (line->argv[line->argc])
		line->argc++;
}

static inline void line_parse(struct line *line, const char *text)
{
	line_split(line, text);
	if (options_parse(&line->options, line->argc, line->argv) != GO_ON)
		fail_msg("refused: %s", text);
}

static inline void line_free(struct line *line)
{
	options_free(&line->options);
	words_free(line->argv);
}

#endif
