/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A runtime's own figures: a struct private to the runtime's folder in heap/runtime/, and the rows
 * by which JSON and text show it. Reports store them without knowing the runtime.
 */
#ifndef LEAKMON_REPORT_RUNTIME_FIGURES_H
#define LEAKMON_REPORT_RUNTIME_FIGURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

struct figures;
struct list_words;

/*
 * A part of a text. Braces contain names of figures, "{live_bytes} live", as for figures_find():
 * "…bytes" is written as 2.16 MiB, a figure with `per` (of nanoseconds) as a time, a list as its
 * number of items. "{bytes:10}" is right-aligned in that many columns; "{name:label}" is the name
 * of a function. For a stack, "{stack}" has all frames, "{stack:lines}" one frame per line, only
 * the first ones without -v, "{stack:place}" the significant one.
 */
struct figure_words {
	const char *text;
	const struct list_words *list; /* instead of `text`: one part for each item of a list */
	/* Shown if this figure is known and at least `least` (for a list or a stack, its length;
	 * for a text, 1); with `unless`, if it is not; NULL: always. */
	const char *known;
	uint64_t least;
	bool unless;
	bool (*shown)(const void *figures); /* additional condition; NULL: none */
};

#define SAY(words)                                                                                 \
	{                                                                                          \
		.text = (words)                                                                    \
	}
#define SAY_KNOWN(figure, words)                                                                   \
	{                                                                                          \
		.text = (words), .known = (figure)                                                 \
	}
#define SAY_FROM(from, figure, words)                                                              \
	{                                                                                          \
		.text = (words), .known = (figure), .least = (from)                                \
	}
#define SAY_UNLESS(figure, words)                                                                  \
	{                                                                                          \
		.text = (words), .known = (figure), .least = 1, .unless = true                     \
	}
#define SAY_IF(is_shown, words)                                                                    \
	{                                                                                          \
		.text = (words), .shown = (is_shown)                                               \
	}

struct list_words {
	const char *name; /* of the list */
	size_t most;	  /* most items written, */
	bool all;	  /* with -v all of them */
	const char *more; /* line for "{more}" omitted items; NULL: none */
	const struct figure_words *words;
	size_t count;
};
#define FIGURE_WORDS(rows) .words = (rows), .count = ARRAY_SIZE(rows)

/* Presentation of a struct of figures. Its figures may include "version", "version_untested" and
 * "cannot_tell": if the latter is set, text shows only that. */
struct runtime_view {
	const char *key;	  /* its object in JSON: "v8" */
	const char *name;	  /* in text: "V8"; NULL: the name is part of its words */
	const char *unknown;	  /* in text: "its external memory is not known" */
	struct figure_words head; /* in the process's first line; no text: none */
	const struct figures *figures;
	const struct figure_words *words;
	size_t count;
	size_t size;		     /* of the struct */
	void (*free)(void *figures); /* frees its owned members; NULL: none */
};

struct runtime_figures {
	const struct runtime_view *view;
	void *figures; /* owned */
};

static inline void runtime_figures_free(struct runtime_figures *figures)
{
	if (figures->figures && figures->view->free)
		figures->view->free(figures->figures);
	free(figures->figures);
	figures->figures = NULL;
}

#endif
