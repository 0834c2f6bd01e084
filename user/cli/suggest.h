/* SPDX-License-Identifier: GPL-2.0-or-later */
/* "Did you mean ...?" */
#ifndef LEAKMON_CLI_SUGGEST_H
#define LEAKMON_CLI_SUGGEST_H

#include <stddef.h>

/*
 * The one of `count` names that is nearest to `word` (up to its `=`, if it has one): at most two
 * edits away, a swap of neighbours being one (optimal string alignment distance). NULL if none is.
 */
const char *suggest(const char *word, const char *const *names, size_t count);

#endif
