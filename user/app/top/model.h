/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Contents of `leakmon top` and the effects of keys, without a terminal: rows, order, filter,
 * selection, pages of text.
 *
 *	top_model_take_report(&model, &report);	 new numbers; nothing while it is paused
 *	top_model_key(&model, key);		 a key; says what the program has to do
 *
 * A selection sticks to its row, wherever that goes, but the first row is only the first row until
 * a key moves the selection.
 */
#ifndef LEAKMON_TOP_MODEL_H
#define LEAKMON_TOP_MODEL_H

#include "app/top/class_count.h"
#include "app/top/columns.h"
#include "app/top/heading.h"
#include "app/top/page.h"
#include "app/top/row.h"
#include "app/top/terminal.h"

enum top_action {
	TOP_NOTHING, /* but to draw */
	TOP_QUIT,
	TOP_LEAVE,	   /* back to what was there before these targets */
	TOP_TRACK,	   /* track the process model.wanted_pid exactly */
	TOP_FOLLOW,	   /* profile it */
	TOP_COUNT_CLASSES, /* of it */
	TOP_BUDGET_MORE,   /* polls may cost twice as much */
	TOP_BUDGET_LESS,   /* or half */
	TOP_SNAPSHOT,	   /* write one down */
	TOP_REFRESH,	   /* a report now */
	TOP_SHOW_MESSAGES, /* puts them on model.page */
	TOP_REDRAW,	   /* the terminal may have been written over */
};

enum top_mode { TOP_NORMAL, TOP_HELP, TOP_MESSAGES, TOP_SORTING, TOP_FILTERING, TOP_SEARCHING };

struct top_view {
	VEC(size_t) order; /* of rows, after the filter */
	size_t selected;   /* position in order */
	size_t first;	   /* position of the uppermost row on the screen */
	uint64_t identity; /* of the selected row */
	bool moved;
	size_t sort; /* of top_lists[].sorts */
	bool inverted;
};

#define TOP_WORDS_SIZE 64

struct top_model {
	struct top_rows rows[TOP_LISTS_];
	struct top_view views[TOP_LISTS_];
	enum top_screen screen;
	enum top_mode mode;
	bool nested;  /* there is something to leave for */
	bool triage;  /* rows are of a triage */
	bool profile; /* of a profile */
	bool ended;   /* all targets have: this is the last of them */
	bool paused;
	size_t missed;	  /* reports since */
	bool taken;	  /* there has been a report */
	uint64_t process; /* call stacks of this one only; 0: of all */
	uint64_t opened;  /* the call stack on the page */
	char filter[TOP_WORDS_SIZE], search[TOP_WORDS_SIZE];
	char typed[TOP_WORDS_SIZE]; /* while filtering or searching */
	size_t choice;		    /* while sorting */
	struct top_heading heading; /* of the rows */
	struct top_page page;	    /* while there is one: stack, help or messages */
	size_t page_first;	    /* its uppermost line on the screen */
	size_t height;		    /* rows that the screen has for a list or a page */
	char message[256];	    /* until the next key */
	pid_t wanted_pid;
	struct class_count classes; /* of a process that was chosen */
};

/* `screen` is where it begins; `sort` is what --sort says, by name, or NULL. */
void top_model_init(struct top_model *model, enum top_screen screen, const char *sort);
void top_model_free(struct top_model *model);

/* 0 or -ENOMEM. */
int top_model_take_report(struct top_model *model, const struct report *report);
int top_model_take_profile(struct top_model *model, const struct profile_report *report);
int top_model_take_triage(struct top_model *model, const struct triage_report *report);

enum top_action top_model_key(struct top_model *model, int key);

/* Shown until the next key; untrusted. */
void top_model_say(struct top_model *model, const char *text);

/* The rows of the screen: the i-th of the view's order. */
const struct top_row *top_model_row(const struct top_model *model, size_t position);

/* NULL: the list is empty. */
const struct top_row *top_model_selected(const struct top_model *model);

/* The first of a tracked process's call stacks, by the report's ranking; NULL: it holds nothing. */
const struct top_row *top_model_first_call(const struct top_model *model,
					   const struct top_row *process);

/* Keeps selection and scroll position within what there is; after model.height has changed. */
void top_model_scroll(struct top_model *model);

/* Shared by model.c and keys.c. */

/* Filters and sorts a list again. 0 or -ENOMEM. */
int top_model_arrange(struct top_model *model, enum top_screen list);

/* Writes the page of the opened call stack. */
void top_model_open_stack(struct top_model *model);

/* The shown list's; NULL: a page is shown. */
struct top_view *top_model_view(struct top_model *model);
bool top_model_has_page(const struct top_model *model);

/* Selects the row that is so many below, or scrolls the page, as far as there are any. */
void top_model_move(struct top_model *model, long rows);

/* The next row with model.search, round the list; the selected one counts only if `here`. */
void top_model_search(struct top_model *model, int direction, bool here);

#endif
