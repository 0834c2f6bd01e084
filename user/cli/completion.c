// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/completion.h"

#include <ctype.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/option_table.h"

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
	"	local subcommand=watch cur=${COMP_WORDS[COMP_CWORD]} prev= i word\n"
	"	COMPREPLY=()\n"
	"	for ((i = 1; i < COMP_CWORD; i++)); do\n"
	"		if [[ ${COMP_WORDS[i]} == -- ]]; then\n"
	"			((i + 1 == COMP_CWORD)) && _leakmon_files -c \"$cur\" ||\n"
	"				_leakmon_files -f \"$cur\"\n"
	"			return\n"
	"		fi\n"
	"	done\n"
	"	((COMP_CWORD > 1)) && [[ ${COMP_WORDS[1]} == [a-z]* ]] && "
	"subcommand=${COMP_WORDS[1]}\n"
	"	((COMP_CWORD > 1)) && prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
	"	# --option=value comes in three words\n"
	"	[[ $cur == = ]] && cur=\n"
	"	[[ $prev == = ]] && prev=${COMP_WORDS[COMP_CWORD - 2]}\n"
	"	_leakmon_value \"$subcommand\" \"$prev\" \"$cur\" && return\n"
	"	if [[ $cur == -* ]]; then\n"
	"		mapfile -t COMPREPLY < <(compgen -W \"$(_leakmon_options "
	"\"$subcommand\")\" -- \"$cur\")\n"
	"	elif ((COMP_CWORD == 1)); then\n"
	"		mapfile -t COMPREPLY < <(compgen -W \"$_leakmon_subcommands\" -- "
	"\"$cur\")\n"
	"	elif [[ $subcommand == report || $subcommand == diff ]]; then\n"
	"		_leakmon_files -f \"$cur\"\n"
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
	if (is_choice(row->argument)) {
		choice_print(out, row->argument);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (!strcmp(kinds[i].word, row->argument) || !strcmp(kinds[i].word, row->name)) {
			fputs(kinds[i].action, out);
			return;
		}
	}
	/* Nothing to offer: not the options, either. */
	fputs(":", out);
}

static bool is_shown(const struct option_row *row, const struct subcommand *subcommand)
{
	return row->group != GROUP_HIDDEN && row->subcommands & subcommand->bit;
}

static void options_print(FILE *out)
{
	fputs("_leakmon_options() {\n	case $1 in\n", out);
	for (size_t i = 0; i < subcommand_count; i++) {
		fprintf(out, "	%s) echo \"", subcommands[i].name);
		for (size_t j = 0; j < option_row_count; j++) {
			if (is_shown(&option_rows[j], &subcommands[i]))
				fprintf(out, "--%s ", option_rows[j].name);
		}
		fputs("\" ;;\n", out);
	}
	fputs("	esac\n}\n\n", out);
}

static void value_print(FILE *out, const struct subcommand *subcommand,
			const struct option_row *row)
{
	char letter = option_letter(row, subcommand->bit);

	fprintf(out, "	%s:--%s", subcommand->name, row->name);
	if (letter)
		fprintf(out, " | %s:-%c", subcommand->name, letter);
	fputs(") ", out);
	action_print(out, row);
	fputs(" ;;\n", out);
}

static void values_print(FILE *out)
{
	fputs("# SUBCOMMAND OPTION BEGINNING; false: the option takes no value.\n"
	      "_leakmon_value() {\n	case $1:$2 in\n",
	      out);
	for (size_t i = 0; i < subcommand_count; i++) {
		for (size_t j = 0; j < option_row_count; j++) {
			const struct option_row *row = &option_rows[j];

			/* What may be left out is given with a `=`, and is a number. */
			if (is_shown(row, &subcommands[i]) && row->argument &&
			    strncmp(row->argument, "[=", 2) != 0)
				value_print(out, &subcommands[i], row);
		}
	}
	fputs("	*) return 1 ;;\n	esac\n	return 0\n}\n\n", out);
}

void completion_print(FILE *out)
{
	fputs("# SPDX-License-Identifier: GPL-2.0-or-later\n"
	      "# Completion of leakmon for bash, made by `leakmon --completion bash`.\n\n"
	      "_leakmon_subcommands=\"",
	      out);
	for (size_t i = 0; i < subcommand_count; i++)
		fprintf(out, "%s%s", i ? " " : "", subcommands[i].name);
	fputs("\"\n\n", out);
	options_print(out);
	values_print(out);
	fputs(functions, out);
}
