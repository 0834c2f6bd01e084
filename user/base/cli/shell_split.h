/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A command line in one string, split into words as a POSIX shell does. */
#ifndef LEAKMON_CLI_SHELL_SPLIT_H
#define LEAKMON_CLI_SHELL_SPLIT_H

/*
 * Splits at blanks and newlines. Quotes and backslashes as in POSIX.1-2017, XCU 2.2; there is no
 * expansion: no variables, patterns, operators or comments. Returns 0 and a NULL-terminated array,
 * to be freed by words_free(); -EINVAL: an open quote, a backslash at the end, or no word at all;
 * -ENOMEM. *words is untouched on failure.
 */
int shell_split(const char *text, char ***words);

/*
 * Returns a deep copy of a NULL-terminated array, to be freed by words_free(); NULL: out of memory.
 */
char **words_copy(char *const *words);

/* Frees the array and its words. NULL is allowed. */
void words_free(char **words);

#endif
