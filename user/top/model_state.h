/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What model.c, selection.c, keys.c and modes.c share. */
#ifndef LEAKMON_TOP_MODEL_STATE_H
#define LEAKMON_TOP_MODEL_STATE_H

#include "top/model.h"

/* Filters and sorts a list anew. 0 or -ENOMEM. */
int top_model_arrange(struct top_model *model, enum top_screen list);

/* Writes the page of the opened call stack. */
void top_model_open_stack(struct top_model *model);

/* Goes to a screen, from its first line if it is a page. */
void top_model_show(struct top_model *model, enum top_screen screen);

/* The shown list's; NULL: a page is shown. */
struct top_view *top_model_view(struct top_model *model);
bool top_model_has_page(const struct top_model *model);

/* Selects the row that is so many below, or scrolls the page, as far as there are any. */
void top_model_move(struct top_model *model, long rows);

/* The next row with model.search, round the list; the selected one counts only if `here`. */
void top_model_search(struct top_model *model, int direction, bool here);

/* By the letter of one of the list's sort keys; false: it has none of that letter. */
bool top_model_sort_by(struct top_model *model, int key);

/* A key where no page, menu or prompt has it. */
enum top_action top_model_press(struct top_model *model, int key);

#endif
