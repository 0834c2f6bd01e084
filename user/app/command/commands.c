// SPDX-License-Identifier: GPL-2.0-or-later
/* The table of commands; and `leakmon help`, which prints it. */
#include <errno.h>
#include <string.h>

#include "app/command/command.h"
#include "base/cli/help.h"
#include "base/log.h"

struct help_options {
	const char *topic; /* NULL: all */
};

static const struct command *const rows[] = {
	&command_triage, &command_diagnose, &command_watch,  &command_profile, &command_record,
	&command_report, &command_diff,	    &command_retain, &command_threads, &command_memory,
	&command_top,	 &command_kernel,   &command_doctor, &command_merge,   &command_help,
};

static const struct option_group *const groups[] = {&target_group, &launch_group};

const struct command_table commands = {
	.commands = rows,
	.count = ARRAY_SIZE(rows),
	.about = "leakmon shows which code of a running program holds memory that it does not\n"
		 "free, what keeps that memory alive, and which processes of a machine grow.\n"
		 "The programs need no restart and no rebuild.\n",
	.examples = "  leakmon diagnose -p 1234        what grows, which code, what holds it?\n"
		    "  leakmon                         which processes of this machine grow?\n"
		    "  leakmon -p 1234                 what has it allocated and not freed?\n"
		    "  leakmon retain -p 1234 --census what holds its memory?\n",
	.groups = groups,
	.group_count = ARRAY_SIZE(groups),
};

static int read_topic(void *field, const char *word)
{
	*(const char **)field = word;
	return 0;
}

static int check(void *options, const struct given *given)
{
	const struct help_options *help = options;

	(void)given;
	return !help->topic || command_find(&commands, help->topic) ? 0 : -EINVAL;
}

static int run(const void *options)
{
	const struct help_options *help = options;

	if (help->topic)
		help_print(stdout, command_find(&commands, help->topic), false);
	else
		help_print_overview(stdout, &commands);
	if (!fflush(stdout) && !ferror(stdout))
		return EXIT_OK;
	log_error("standard output: %s", strerror(errno));
	return EXIT_ERROR;
}

static const struct help_options defaults = {0};

const struct command command_help = {
	.name = "help",
	.summary = "describe a command and its options",
	.usage = "  leakmon help [COMMAND]\n",
	.about = "Describes a command and its options, as `leakmon COMMAND --help` does;\n"
		 "without a COMMAND, leakmon as a whole.\n",
	.examples = "  leakmon help                          all commands\n"
		    "  leakmon help retain                   this one\n",
	.options_size = sizeof(defaults),
	.defaults = &defaults,
	.positionals = {{"COMMAND", "COMMAND", read_topic, offsetof(struct help_options, topic)}},
	.check = check,
	.run = run,
};
