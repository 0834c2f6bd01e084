/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keys, apart from curses: its headers define `lines`, `columns` and many more as macros. */
#ifndef LEAKMON_TOP_KEY_H
#define LEAKMON_TOP_KEY_H

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
	TOP_KEY_UNKNOWN, /* some other one */
};

#endif
