// SPDX-License-Identifier: GPL-2.0-or-later
/* leakmon top: full-screen in the terminal. */
#include "cli/targets.h"
#include "command/command.h"
#include "command/top_track.h"
#include "command/top_triage.h"

int command_top(const struct options *options)
{
	struct top_terminal terminal = TOP_TERMINAL_CLOSED;
	bool leave = false;
	int code;

	if (top_terminal_check())
		return EXIT_ERROR;
	if (targets_given(options) || options->command)
		code = top_track(options, &terminal, NULL, &leave);
	else
		code = top_triage(options, &terminal);
	top_terminal_close(&terminal);
	return code;
}
