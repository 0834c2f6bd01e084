/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What model.c and keys.c share. */
#ifndef LEAKMON_TOP_MODEL_STATE_H
#define LEAKMON_TOP_MODEL_STATE_H

#include "top/model.h"

/* Filters and sorts a list anew. 0 or -ENOMEM. */
int top_model_arrange(struct top_model *model, enum top_screen list);

/* Writes the page of the opened call stack. */
void top_model_open_stack(struct top_model *model);

#endif
