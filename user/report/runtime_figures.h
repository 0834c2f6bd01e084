/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Figures that a runtime keeps of itself: a struct that only the runtime's folder in heap/runtime/
 * knows, and the rows by which JSON and text write it. Reports keep them without knowing whose they
 * are.
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
 * A part of a text. "{live_bytes} live" has the names of figures in braces, as figures_find() takes
 * them: "…bytes" is written as 2.16 MiB, what has `per` (of nanoseconds) as a time, a list as the
 * count of its items. "{bytes:10}": right-aligned in so many columns; "{name:label}": as the name
 * of a function. Of a stack "{stack}" has all frames, "{stack:lines}" a line for each, the first
 * ones without -v, "{stack:place}" the one that counts.
 */
struct figure_words {
	const char *text;
	const struct list_words *list; /* instead: one part for each item of a list */
	/* Shown where this figure is known and at least so much (of a list and a stack
	 * the length; 1 of a text), or else `unless`; NULL: always. */
	const char *known;
	uint64_t least;
	bool unless;
	bool (*shown)(const void *figures); /* and where this says so; NULL: always */
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
	size_t most;	  /* items that are written, */
	bool all;	  /* with -v all of them */
	const char *more; /* "{more}" of them are left out; NULL: nothing is said */
	const struct figure_words *words;
	size_t count;
};
#define FIGURE_WORDS(rows) .words = (rows), .count = ARRAY_SIZE(rows)

/* How a struct of figures is written. Its figures are called "version", "version_untested" and
 * "cannot_tell" where it has these: with the latter, text says nothing but that. */
struct runtime_view {
	const char *key;	  /* its object in JSON: "v8" */
	const char *name;	  /* in text: "V8"; NULL: its words say all */
	const char *unknown;	  /* in text: "its external memory is not known" */
	struct figure_words head; /* in the process's first line; no text: nothing */
	const struct figures *figures;
	const struct figure_words *words;
	size_t count;
	size_t size;		     /* of the struct */
	void (*free)(void *figures); /* of what it owns; NULL: nothing */
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
