/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Contents of `leakmon top` and the effects of keys, without a terminal: rows, order, filter,
 * selection, pages of text.
 *
 *	top_model_take_report(&model, &report);		new numbers; ignored while paused
 *	top_model_key(&model, key);			a key; returns the action to perform
 *
 * A selection stays on its row, wherever that moves; but until a key moves it, it stays on the
 * first row.
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
	TOP_NOTHING, /* except drawing */
	TOP_QUIT,
	TOP_LEAVE,	   /* return to the screen before these targets */
	TOP_TRACK,	   /* track the process model.wanted_pid exactly */
	TOP_FOLLOW,	   /* profile model.wanted_pid */
	TOP_COUNT_CLASSES, /* of model.wanted_pid */
	TOP_BUDGET_MORE,   /* double the cost limit of polls */
	TOP_BUDGET_LESS,   /* halve it */
	TOP_SNAPSHOT,	   /* record one */
	TOP_REFRESH,	   /* report now */
	TOP_SHOW_MESSAGES, /* put them on model.page */
	TOP_REDRAW,	   /* the terminal may have been overwritten */
};

enum top_mode { TOP_NORMAL, TOP_HELP, TOP_MESSAGES, TOP_SORTING, TOP_FILTERING, TOP_SEARCHING };

struct top_view {
	VEC(size_t) order; /* of rows, after the filter */
	size_t selected;   /* position in order */
	size_t first;	   /* position of the topmost row on the screen */
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
	bool nested;  /* there is a screen to return to */
	bool triage;  /* rows are of a triage */
	bool profile; /* rows are of a profile */
	bool ended;   /* all targets have ended: this is the last report */
	bool paused;
	size_t missed;	  /* reports while paused */
	bool taken;	  /* a report has been taken */
	uint64_t process; /* show call stacks of this one only; 0: of all */
	uint64_t opened;  /* the call stack on the page */
	char filter[TOP_WORDS_SIZE], search[TOP_WORDS_SIZE];
	char typed[TOP_WORDS_SIZE]; /* while filtering or searching */
	size_t choice;		    /* while sorting */
	struct top_heading heading; /* of the rows */
	struct top_page page;	    /* while one is open: stack, help or messages */
	size_t page_first;	    /* its topmost line on the screen */
	size_t height;		    /* rows that the screen has for a list or a page */
	char message[256];	    /* until the next key */
	pid_t wanted_pid;
	struct class_count classes; /* of a chosen process */
};

/* Initialises the model. `screen`: the first screen; `sort`: name from --sort, or NULL. */
void top_model_init(struct top_model *model, enum top_screen screen, const char *sort);
void top_model_free(struct top_model *model);

/* Take a new report. Return 0 or -ENOMEM. */
int top_model_take_report(struct top_model *model, const struct report *report);
int top_model_take_profile(struct top_model *model, const struct profile_report *report);
int top_model_take_triage(struct top_model *model, const struct triage_report *report);

enum top_action top_model_key(struct top_model *model, int key);

/* Shows a text until the next key; untrusted. */
void top_model_say(struct top_model *model, const char *text);

/* Returns the row at a position of the screen's order. */
const struct top_row *top_model_row(const struct top_model *model, size_t position);

/* Returns the selected row; NULL: the list is empty. */
const struct top_row *top_model_selected(const struct top_model *model);

/* Returns a tracked process's first call stack in the report's ranking; NULL: it holds nothing. */
const struct top_row *top_model_first_call(const struct top_model *model,
					   const struct top_row *process);

/* Keeps selection and scroll position within bounds; call it after model.height has changed. */
void top_model_scroll(struct top_model *model);

/* -------- shared by model.c and keys.c */

/* Filters and sorts a list again. Returns 0 or -ENOMEM. */
int top_model_arrange(struct top_model *model, enum top_screen list);

/* Writes the page of the opened call stack. */
void top_model_open_stack(struct top_model *model);

/* Returns the view of the shown list; NULL: a page is shown. */
struct top_view *top_model_view(struct top_model *model);
bool top_model_has_page(const struct top_model *model);

/* Moves the selection, or scrolls the page, by that many rows, within bounds. */
void top_model_move(struct top_model *model, long rows);

/*
 * Selects the next row that matches model.search, wrapping around; the selected one counts only if
 * `here`.
 */
void top_model_search(struct top_model *model, int direction, bool here);

#endif
