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
	bool (*shown)(const void *figures); /* NULL: always */
	const char *text;
	const struct list_words *list; /* instead: one part for each item of a list */
};

#define SAY(words)                                                                                 \
	{                                                                                          \
		.text = (words)                                                                    \
	}
#define SAY_IF(is_shown, words)                                                                    \
	{                                                                                          \
		.shown = (is_shown), .text = (words)                                               \
	}
#define SAY_LIST(is_shown, words)                                                                  \
	{                                                                                          \
		.shown = (is_shown), .list = &(words)                                              \
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
	const char *key;     /* its object in JSON: "v8" */
	const char *name;    /* in text: "V8"; NULL: its words say all */
	const char *unknown; /* in text: "its external memory is not known" */
	const char *head;    /* in the process's first line; NULL: nothing */
	bool (*has_head)(const void *figures);
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
