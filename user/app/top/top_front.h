/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The screen in a report loop: its descriptors, keys and messages. */
#ifndef LEAKMON_TOP_TOP_FRONT_H
#define LEAKMON_TOP_TOP_FRONT_H

#include "app/monitor/emit.h"
#include "app/monitor/report_loop.h"
#include "app/top/model.h"
#include "app/top/terminal.h"

struct top_front {
	struct top_terminal *terminal; /* borrowed; open */
	struct top_model model;
	char *title; /* owned; untrusted */
	bool typed;  /* a key was pressed since the command last cleared this */
};

/* Opens the screen, in colours unless disabled. Returns 0, or -errno after a message. */
int top_front_open(struct top_terminal *terminal, const struct output_options *output);
void top_front_close(struct top_front *front);

/* Implements run_hooks.wait_for. */
int top_front_wait_for(const struct top_front *front, struct pollfds *fds);

/*
 * Implements run_hooks.handle: takes keys and resizes, and draws. Returns the first action for the
 * command; later keys wait for the next call.
 */
enum top_action top_front_handle(struct top_front *front, const struct pollfd *fds);

/* Draws the screen, with new messages. */
void top_front_draw(struct top_front *front);

#endif
