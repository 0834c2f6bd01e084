/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The terminal under `leakmon top`: ncurses, keys, resizes, and leaving it as it was however the
 * program ends: by top_terminal_close(), or by a signal of a crash. (After SIGKILL nothing can:
 * `reset` brings the terminal back.)
 */
#ifndef LEAKMON_TOP_TERMINAL_H
#define LEAKMON_TOP_TERMINAL_H

#include <stdbool.h>

#include "top/messages.h"

struct top_terminal {
	bool open;
	bool colour;
	int resize_fd; /* readable when the size has changed */
	struct messages messages;
};

#define TOP_TERMINAL_CLOSED ((struct top_terminal){.resize_fd = -1, .messages = MESSAGES_CLOSED})

/* Whether there is a terminal that can be drawn on. 0, or -errno after a message. */
int top_terminal_check(void);

/* 0, or -errno after a message. Blocks SIGWINCH. */
int top_terminal_open(struct top_terminal *terminal, bool colour);
/* May be called when it is not open. */
void top_terminal_close(struct top_terminal *terminal);

/* The next key of enum top_key; TOP_KEY_NONE: none was pressed. */
int top_terminal_key(void);

/* The next drawing is one from scratch. */
void top_terminal_redraw(void);

/* After resize_fd became readable. */
void top_terminal_resize(const struct top_terminal *terminal);

#endif
