/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Draws the model on a screen of any size. Untrusted text never reaches the terminal raw. */
#ifndef LEAKMON_TOP_DRAW_H
#define LEAKMON_TOP_DRAW_H

#include "app/top/model.h"
#include "app/top/terminal.h"

/* Draws the screen and sets model->height. `title` names the watched processes; untrusted. */
void top_draw(const struct top_terminal *terminal, struct top_model *model, const char *title);

#endif
