// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/completion.h"

#include <ctype.h>
#include <string.h>

#include "base/cleanup.h"

/* What depends on no table. */
static const char functions[] =
	"# Adds the lines of standard input that begin with $1, quoted: they may be hostile.\n"
	"_leakmon_add() {\n"
	"	local word quoted\n"
	"	while IFS= read -r word; do\n"
	"		[[ $word == \"$1\"* ]] || continue\n"
	"		printf -v quoted %q \"$word\"\n"
	"		COMPREPLY+=(\"$quoted\")\n"
	"	done\n"
	"}\n"
	"\n"
	"_leakmon_files() {\n"
	"	compopt -o filenames 2>/dev/null\n"
	"	mapfile -t COMPREPLY < <(compgen \"$1\" -- \"$2\" | sort -u)\n"
	"}\n"
	"\n"
	"# A list of PIDs: the last one is completed.\n"
	"_leakmon_pids() {\n"
	"	local head= pid\n"
	"	[[ $1 == *,* ]] && head=${1%,*},\n"
	"	for pid in /proc/[0-9]*; do\n"
	"		pid=$head${pid#/proc/}\n"
	"		[[ $pid == \"$1\"* ]] && COMPREPLY+=(\"$pid\")\n"
	"	done\n"
	"}\n"
	"\n"
	"_leakmon() {\n"
	"	local command=_ cur=${COMP_WORDS[COMP_CWORD]} prev= i word\n"
	"	COMPREPLY=()\n"
	"	for ((i = 1; i < COMP_CWORD; i++)); do\n"
	"		if [[ ${COMP_WORDS[i]} == -- ]]; then\n"
	"			((i + 1 == COMP_CWORD)) && _leakmon_files -c \"$cur\" ||\n"
	"				_leakmon_files -f \"$cur\"\n"
	"			return\n"
	"		fi\n"
	"	done\n"
	"	((COMP_CWORD > 1)) && [[ ${COMP_WORDS[1]} == [a-z]* ]] && "
	"command=${COMP_WORDS[1]}\n"
	"	((COMP_CWORD > 1)) && prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
	"	# --option=value comes in three words\n"
	"	[[ $cur == = ]] && cur=\n"
	"	[[ $prev == = ]] && prev=${COMP_WORDS[COMP_CWORD - 2]}\n"
	"	_leakmon_value \"$command\" \"$prev\" \"$cur\" && return\n"
	"	if [[ $cur == -* ]]; then\n"
	"		mapfile -t COMPREPLY < <(compgen -W \"$(_leakmon_options "
	"\"$command\")\" -- \"$cur\" | sort -u)\n"
	"	elif ((COMP_CWORD == 1)); then\n"
	"		mapfile -t COMPREPLY < <(compgen -W \"$_leakmon_commands\" -- "
	"\"$cur\")\n"
	"	else\n"
	"		_leakmon_word \"$command\" \"$cur\"\n"
	"	fi\n"
	"}\n"
	"complete -F _leakmon leakmon\n";

/* How the values of options are completed, by what the table calls them, or by the option. */
static const struct {
	const char *word, *action;
} kinds[] = {
	{"FILE", "_leakmon_files -f \"$3\""},
	{"PATH", "_leakmon_files -f \"$3\""},
	{"DIR", "_leakmon_files -d \"$3\""},
	{"PID[,PID...]", "_leakmon_pids \"$3\""},
	{"comm", "_leakmon_add \"$3\" < <(cat /proc/[0-9]*/comm 2>/dev/null | sort -u)"},
	{"TIME|SEQ", "_leakmon_add \"$3\" <<< $'first\\nlast'"},
};

/* "best|entry": words to choose from, and no names of what to give. */
static bool is_choice(const char *argument)
{
	for (const char *at = argument; *at; at++) {
		if (!islower((unsigned char)*at) && *at != '|')
			return false;
	}
	return strchr(argument, '|');
}

static void choice_print(FILE *out, const char *argument)
{
	fputs("mapfile -t COMPREPLY < <(compgen -W \"", out);
	for (; *argument; argument++)
		fputc(*argument == '|' ? ' ' : *argument, out);
	fputs("\" -- \"$3\")", out);
}

static void action_print(FILE *out, const struct option_row *row)
{
	if (is_choice(option_argument(row))) {
		choice_print(out, option_argument(row));
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (!strcmp(kinds[i].word, option_argument(row)) ||
		    !strcmp(kinds[i].word, row->name)) {
			fputs(kinds[i].action, out);
			return;
		}
	}
	/* Nothing to offer: not the options, either. */
	fputs(":", out);
}

/* What stands for the commands that a line without one may mean. */
#define NO_COMMAND "_"

typedef void row_print(FILE *out, const char *name, const struct option_row *row, char letter);

static void rows_print(FILE *out, const char *name, const struct command *command,
		       const struct option_group *group, row_print *print)
{
	for (size_t i = 0; i < group->count; i++) {
		const struct option_row *row = &group->rows[i];

		if (!row->hidden)
			print(out, name, row, option_letter(command, row));
	}
}

static void command_rows_print(FILE *out, const char *name, const struct command *command,
			       row_print *print)
{
	for (const struct option_use *use = command->uses; use->group; use++)
		rows_print(out, name, command, use->group, print);
	rows_print(out, name, command, &general_group, print);
}

/* Those that options imply, then the one that nothing implies. */
static void implied_rows_print(FILE *out, const struct command_table *table, row_print *print)
{
	for (size_t i = 0; i < table->count; i++) {
		if (table->commands[i]->implied_by[0])
			command_rows_print(out, NO_COMMAND, table->commands[i], print);
	}
	command_rows_print(out, NO_COMMAND, table->commands[0], print);
}

static void name_print(FILE *out, const char *name, const struct option_row *row, char letter)
{
	(void)name;
	(void)letter;
	fprintf(out, "--%s ", row->name);
}

static void options_print(FILE *out, const struct command_table *table)
{
	fputs("_leakmon_options() {\n	case $1 in\n	" NO_COMMAND ") echo \"", out);
	implied_rows_print(out, table, name_print);
	fputs("\" ;;\n", out);
	for (size_t i = 0; i < table->count; i++) {
		fprintf(out, "	%s) echo \"", table->commands[i]->name);
		command_rows_print(out, NULL, table->commands[i], name_print);
		fputs("\" ;;\n", out);
	}
	fputs("	esac\n}\n\n", out);
}

static void value_print(FILE *out, const char *name, const struct option_row *row, char letter)
{
	/* What may be left out is given with a `=`, and is a number. */
	if (!option_argument(row) || !strncmp(option_argument(row), "[=", 2))
		return;
	fprintf(out, "	%s:--%s", name, row->name);
	if (letter)
		fprintf(out, " | %s:-%c", name, letter);
	fputs(") ", out);
	action_print(out, row);
	fputs(" ;;\n", out);
}

static void values_print(FILE *out, const struct command_table *table)
{
	fputs("# COMMAND OPTION BEGINNING; false: the option takes no value.\n"
	      "_leakmon_value() {\n	case $1:$2 in\n",
	      out);
	implied_rows_print(out, table, value_print);
	for (size_t i = 0; i < table->count; i++)
		command_rows_print(out, table->commands[i]->name, table->commands[i], value_print);
	fputs("	*) return 1 ;;\n	esac\n	return 0\n}\n\n", out);
}

static void words_print(FILE *out, const struct command_table *table)
{
	fputs("# COMMAND BEGINNING\n_leakmon_word() {\n	case $1 in\n", out);
	for (size_t i = 0; i < table->count; i++) {
		const struct command *command = table->commands[i];

		if (!command->positionals[0].kind)
			continue;
		fprintf(out, "	%s) ", command->name);
		if (!strcmp(command->positionals[0].kind, "COMMAND"))
			fputs("mapfile -t COMPREPLY < <(compgen -W \"$_leakmon_commands\" -- "
			      "\"$2\")",
			      out);
		else
			fputs("_leakmon_files -f \"$2\"", out);
		fputs(" ;;\n", out);
	}
	fputs("	esac\n}\n\n", out);
}

void completion_print(FILE *out, const struct command_table *table)
{
	fputs("# SPDX-License-Identifier: GPL-2.0-or-later\n"
	      "# Completion of leakmon for bash, made by `leakmon --completion bash`.\n\n"
	      "_leakmon_commands=\"",
	      out);
	for (size_t i = 0; i < table->count; i++)
		fprintf(out, "%s%s", i ? " " : "", table->commands[i]->name);
	fputs("\"\n\n", out);
	options_print(out, table);
	values_print(out, table);
	words_print(out, table);
	fputs(functions, out);
}
