// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/suggest.h"

#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"

/* Longer words are no typing errors of a name. */
#define WORD_MAX_ 31
#define EDITS_MAX 2

typedef unsigned distances[WORD_MAX_ + 1][WORD_MAX_ + 1];

static unsigned cell(distances known, const char *a, const char *b, size_t i, size_t j)
{
	unsigned best;

	if (!i || !j)
		return (unsigned)(i + j);
	best = known[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
	best = MIN(best, known[i - 1][j] + 1);
	best = MIN(best, known[i][j - 1] + 1);
	if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
		best = MIN(best, known[i - 2][j - 2] + 1);
	return best;
}

static unsigned distance(const char *a, size_t length, const char *b)
{
	size_t other = strlen(b);
	distances known;

	if (length > WORD_MAX_ || other > WORD_MAX_)
		return EDITS_MAX + 1;
	for (size_t i = 0; i <= length; i++) {
		for (size_t j = 0; j <= other; j++)
			known[i][j] = cell(known, a, b, i, j);
	}
	return known[length][other];
}

const char *suggest(const char *word, const char *const *names, size_t count)
{
	size_t length = strcspn(word, "=");
	unsigned best = EDITS_MAX + 1;
	const char *nearest = NULL;

	for (size_t i = 0; i < count; i++) {
		unsigned edits = distance(word, length, names[i]);

		/* Two edits turn any short word into any other. */
		if (edits < best && edits < length) {
			best = edits;
			nearest = names[i];
		}
	}
	return nearest;
}
