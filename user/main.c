// SPDX-License-Identifier: GPL-2.0-or-later
/* leakmon: which code leaks, in a process that runs. This file is the table of subcommands. */
#include <signal.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "cli/options.h"
#include "command/command.h"
#include "parse/questions.h"
#include "sandbox/process.h"

struct subcommand {
	const char *name;
	int (*run)(const struct options *options);
};

static const struct subcommand subcommands[] = {
	{"watch", command_watch},     {"doctor", command_doctor}, {"record", command_record},
	{"report", command_report},   {"diff", command_diff},	  {"retain", command_retain},
	{"threads", command_threads}, {"top", command_top},
};

int main(int argc, char **argv)
{
	struct options options;
	int code;

	worker_process_enter(argc, argv, &parse_kinds);
	/* A limit on file sizes is an error of the write, to be explained, and no death. */
	signal(SIGXFSZ, SIG_IGN);
	code = options_parse(&options, argc, argv);
	if (code >= 0)
		return code;
	if (options.verbose)
		log_set_level(LOG_DEBUG);
	/* Until a command has something to undo. */
	if (!interrupt_open())
		interrupt_ends(true);
	for (size_t i = 0; i < ARRAY_SIZE(subcommands); i++) {
		if (!strcmp(options.subcommand, subcommands[i].name))
			code = subcommands[i].run(&options);
	}
	options_free(&options);
	return code;
}
