/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The model on the screen, whatever its size. Nothing untrusted reaches the terminal raw. */
#ifndef LEAKMON_TOP_DRAW_H
#define LEAKMON_TOP_DRAW_H

#include "app/top/model.h"
#include "app/top/terminal.h"

/* `title` says what is watched; untrusted. Sets model->height. */
void top_draw(const struct top_terminal *terminal, struct top_model *model, const char *title);

#endif
