/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The terminal of `leakmon top`: ncurses, keys, resizes; restored at every end of the program: by
 * top_terminal_close(), or by the handler of a fatal signal. (After SIGKILL only `reset` restores
 * it.)
 */
#ifndef LEAKMON_TOP_TERMINAL_H
#define LEAKMON_TOP_TERMINAL_H

#include <stdbool.h>

#include "app/top/messages.h"

/* Keys, apart from curses, whose headers define `lines`, `columns` and many more as macros. */

/* A key: a character, or one of these. */
enum top_key {
	TOP_KEY_NONE = 0,
	TOP_KEY_TAB = '\t',
	TOP_KEY_ENTER = '\n',
	TOP_KEY_REDRAW = 0x0c, /* Ctrl-L */
	TOP_KEY_ESCAPE = 0x1b,
	TOP_KEY_BACKSPACE = 0x7f,
	TOP_KEY_UP = 0x110000, /* beyond Unicode */
	TOP_KEY_DOWN,
	TOP_KEY_LEFT,
	TOP_KEY_RIGHT,
	TOP_KEY_PAGE_UP,
	TOP_KEY_PAGE_DOWN,
	TOP_KEY_HOME,
	TOP_KEY_END,
	TOP_KEY_F1, /* and so on: TOP_KEY_F1 + 9 is F10 */
	TOP_KEY_F10 = TOP_KEY_F1 + 9,
	TOP_KEY_UNKNOWN, /* any other key */
};

struct top_terminal {
	bool open;
	bool colour;
	int resize_fd; /* readable after a change of size */
	struct messages messages;
};

#define TOP_TERMINAL_CLOSED ((struct top_terminal){.resize_fd = -1, .messages = MESSAGES_CLOSED})

/* Checks that there is a usable terminal. Returns 0, or -errno after a message. */
int top_terminal_check(void);

/* Opens the terminal and blocks SIGWINCH. Returns 0, or -errno after a message. */
int top_terminal_open(struct top_terminal *terminal, bool colour);
/* Restores the terminal; does nothing if it is not open. */
void top_terminal_close(struct top_terminal *terminal);

/* Returns the next key of enum top_key; TOP_KEY_NONE: none was pressed. */
int top_terminal_key(void);

/* Makes the next drawing start from scratch. */
void top_terminal_redraw(void);

/* Adapts to the new size; call it when resize_fd becomes readable. */
void top_terminal_resize(const struct top_terminal *terminal);

#endif
