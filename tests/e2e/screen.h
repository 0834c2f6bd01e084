/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A terminal for tests: a separate tmux without configuration, which runs a script. Its content is
 * read as text; nothing sleeps except between two readings.
 */
#ifndef LEAKMON_E2E_SCREEN_H
#define LEAKMON_E2E_SCREEN_H

#include "harness.h"

struct screen {
	struct harness *harness;
	struct child *server;
	char socket[64];
	char text[65536]; /* of the latest reading */
};

/*
 * Runs `leakmon ARGUMENTS` in a terminal of that size, the modes of which are kept in the test's
 * directory; afterwards it shows `left with CODE`, and waits. Skips the test without tmux.
 */
void screen_start(struct screen *screen, struct harness *harness, int columns, int lines,
		  const char *arguments);

/* Ends the terminal and its programs: another may be started. */
void screen_end(struct screen *screen);

/* tmux COMMAND for this terminal; its output is in screen->text. */
void screen_tmux(struct screen *screen, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* tmux's names for keys: "Enter", "C-c", "F6", "q". */
void screen_press(struct screen *screen, const char *keys);

/* Reads until the text is there, or is not. */
void screen_expect(struct screen *screen, const char *text);
void screen_expect_no(struct screen *screen, const char *text);

/* The PID of leakmon in there. */
pid_t screen_program(struct screen *screen);

/* leakmon has ended with that code, and the terminal is as it was: modes, screen, cursor. */
void screen_expect_left(struct screen *screen, int code);

#endif
