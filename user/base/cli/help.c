// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/cli/help.h"

#include <ctype.h>
#include <string.h>

#include "base/cleanup.h"

/* -------- --help, --version */

/* Width of the left column, with names and argument. */
#define NAMES_WIDTH 31

static void print_row(FILE *out, const struct option_row *row, char letter)
{
	char names[64];

	snprintf(names, sizeof(names), "%c%c%s--%s%s%s", letter ? '-' : ' ', letter ? letter : ' ',
		 letter ? ", " : "  ", row->name,
		 option_argument(row) && strncmp(option_argument(row), "[=", 2) != 0 ? " " : "",
		 option_argument(row) ? option_argument(row) : "");
	/* Names too long for their column get a separate line. */
	if (strlen(names) > NAMES_WIDTH)
		fprintf(out, "  %s\n  %-*s %s\n", names, NAMES_WIDTH, "", row->help);
	else
		fprintf(out, "  %-*s %s\n", NAMES_WIDTH, names, row->help);
}

/* `command` is NULL for the general options. */
static void print_rows(FILE *out, const struct option_group *group, const struct command *command)
{
	for (size_t i = 0; i < group->count; i++) {
		const struct option_row *row = &group->rows[i];

		if (!row->hidden)
			print_row(out, row, command ? option_letter(command, row) : row->letter);
	}
}

static bool shows_any(const struct option_group *group)
{
	bool any = false;

	for (size_t i = 0; i < group->count; i++)
		any |= !group->rows[i].hidden;
	return any;
}

static bool is_titled_before(const struct command *command, const struct option_use *use)
{
	for (const struct option_use *other = command->uses; other < use; other++) {
		if (shows_any(other->group) && !strcmp(other->group->title, use->group->title))
			return true;
	}
	return false;
}

static bool is_folded(const struct command *command, const char *title)
{
	bool folded = false;

	for (size_t i = 0; i < FOLDED_TITLES_MAX && command->folded[i]; i++)
		folded |= !strcmp(command->folded[i], title);
	return folded;
}

/* Groups of one title are listed where the first of them is. */
static void print_options(FILE *out, const struct command *command, bool all)
{
	for (const struct option_use *use = command->uses; use->group; use++) {
		if (!shows_any(use->group) || is_titled_before(command, use) ||
		    (!all && is_folded(command, use->group->title)))
			continue;
		fprintf(out, "\n%s:\n", use->group->title);
		for (const struct option_use *same = use; same->group; same++) {
			if (!strcmp(same->group->title, use->group->title))
				print_rows(out, same->group, command);
		}
	}
	fprintf(out, "\n%s:\n", general_group.title);
	print_rows(out, &general_group, command);
}

static bool takes_bytes(const struct command *command, bool all)
{
	for (const struct option_use *use = command->uses; use->group; use++) {
		if (!all && is_folded(command, use->group->title))
			continue;
		for (size_t i = 0; i < use->group->count; i++) {
			const char *argument = option_argument(&use->group->rows[i]);

			if (argument && !strcmp(argument, "BYTES"))
				return true;
		}
	}
	return false;
}

void help_print(FILE *out, const struct command *command, bool all)
{
	fprintf(out, "Usage:\n%s\n%s", command->usage, command->about);
	print_options(out, command, all);
	if (!all && command->folded_for)
		fprintf(out, "\n`leakmon %s --help --all` also lists the options of %s.\n",
			command->name, command->folded_for);
	if (takes_bytes(command, all))
		fprintf(out, "\nBYTES may end in K, M or G (1024, 1024^2, 1024^3).\n");
	fprintf(out, "\nExamples:\n%s", command->examples);
}

void help_print_overview(FILE *out, const struct command_table *table)
{
	fprintf(out,
		"%s\nUsage:\n  leakmon [COMMAND] [OPTION...] [INTERVAL [COUNT]]\n\nCommands:\n",
		table->about);
	for (size_t i = 0; i < table->count; i++)
		fprintf(out, "  %-9s %s\n", table->commands[i]->name, table->commands[i]->summary);
	fprintf(out, "\n%s:\n", table->groups[0]->title);
	for (size_t i = 0; i < table->group_count; i++)
		print_rows(out, table->groups[i], NULL);
	fprintf(out,
		"\nExamples:\n%s"
		"\nExit codes:\n"
		"  %d  done; also after Ctrl-C, and when the process has ended\n"
		"  N  of a command that leakmon started and that failed; 128 + its signal\n"
		"  %d  error: the message names the cause and the fix\n"
		"  %d  wrong usage\n"
		"  %d  more outstanding than --fail-over allows; diagnose: a leak, or growth\n"
		"\n`leakmon help COMMAND` describes a command and its options; see also "
		"leakmon(8).\n",
		table->examples, EXIT_OK, EXIT_ERROR, EXIT_USAGE, EXIT_LEAK);
}

void help_print_version(FILE *out)
{
	fprintf(out, "leakmon %s\n", LEAKMON_VERSION);
}

/* -------- completion; bash: works with and without the bash-completion package */

/* The part that is independent of the tables. */
static const char bash_functions[] =
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

/* How to complete the values of options, by their name in the table or by the option. */
static const struct value_kind {
	const char *word;
	const char *bash, *fish, *zsh;
} kinds[] = {
	{"FILE", "_leakmon_files -f \"$3\"", "-r -F", "_files"},
	{"PATH", "_leakmon_files -f \"$3\"", "-r -F", "_files"},
	{"DIR", "_leakmon_files -d \"$3\"", "-x -a '(__fish_complete_directories)'", "_files -/"},
	{"PID[,PID...]", "_leakmon_pids \"$3\"", "-x -a '(__fish_complete_pids)'",
	 "_sequence _pids"},
	{"comm", "_leakmon_add \"$3\" < <(cat /proc/[0-9]*/comm 2>/dev/null | sort -u)",
	 "-x -a '(cat /proc/[0-9]*/comm 2>/dev/null | sort -u)'", "_leakmon_names"},
	{"TIME|SEQ", "_leakmon_add \"$3\" <<< $'first\\nlast'", "-x -a 'first last'",
	 "(first last)"},
};

/*
 * Returns whether the argument is a choice of words, such as "best|entry", not a name of a value.
 */
static bool is_choice(const char *argument)
{
	for (const char *at = argument; *at; at++) {
		if (!islower((unsigned char)*at) && *at != '|')
			return false;
	}
	return strchr(argument, '|');
}

/* Returns NULL if the kind of its values is unknown. */
static const struct value_kind *kind_of(const char *argument, const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (!strcmp(kinds[i].word, argument) || !strcmp(kinds[i].word, name))
			return &kinds[i];
	}
	return NULL;
}

/* Prints the words of "best|entry", separated by blanks. */
static void choice_print(FILE *out, const char *argument)
{
	for (; *argument; argument++)
		fputc(*argument == '|' ? ' ' : *argument, out);
}

/*
 * Returns whether a separate word is its value: an optional value follows a `=`, and is a number.
 */
static bool takes_value(const struct option_row *row)
{
	return option_argument(row) && strncmp(option_argument(row), "[=", 2) != 0;
}

static void action_print(FILE *out, const struct option_row *row)
{
	const struct value_kind *kind = kind_of(option_argument(row), row->name);

	if (is_choice(option_argument(row))) {
		fputs("mapfile -t COMPREPLY < <(compgen -W \"", out);
		choice_print(out, option_argument(row));
		fputs("\" -- \"$3\")", out);
	} else {
		/* No candidates: not even options. */
		fputs(kind ? kind->bash : ":", out);
	}
}

/* Prints the options of the commands that a line without a command may mean. */
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

/* The implied commands first, then the default one. */
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
	if (!takes_value(row))
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

static void bash_print(FILE *out, const struct command_table *table)
{
	fputs("_leakmon_commands=\"", out);
	for (size_t i = 0; i < table->count; i++)
		fprintf(out, "%s%s", i ? " " : "", table->commands[i]->name);
	fputs("\"\n\n", out);
	options_print(out, table);
	values_print(out, table);
	words_print(out, table);
	fputs(bash_functions, out);
}

/* -------- fish, zsh: with a description of each option */

/* Prints text for single quotes, with a backslash before each of `stops`, too. */
static void quoted_print(FILE *out, const char *text, const char *stops, const char *quote)
{
	for (; *text; text++) {
		if (*text == '\'') {
			fputs(quote, out);
			continue;
		}
		if (strchr(stops, *text))
			fputc('\\', out);
		fputc(*text, out);
	}
}

#define FISH_QUOTE "\\'"

static void fish_row_print(FILE *out, const char *name, const struct option_row *row, char letter)
{
	const struct value_kind *kind =
		takes_value(row) ? kind_of(option_argument(row), row->name) : NULL;

	fprintf(out, "complete -c leakmon -n '__leakmon_is %s' -l %s", name, row->name);
	if (letter)
		fprintf(out, " -s %c", letter);
	if (takes_value(row) && is_choice(option_argument(row))) {
		fputs(" -x -a '", out);
		choice_print(out, option_argument(row));
		fputc('\'', out);
	} else if (takes_value(row)) {
		fprintf(out, " %s", kind ? kind->fish : "-x");
	}
	fputs(" -d '", out);
	quoted_print(out, row->help, "\\", FISH_QUOTE);
	fputs("'\n", out);
}

static void fish_command_print(FILE *out, const struct command *command)
{
	const char *kind = command->positionals[0].kind;

	fprintf(out, "complete -c leakmon -n '__leakmon_at_command' -a %s -d '", command->name);
	quoted_print(out, command->summary, "\\", FISH_QUOTE);
	fputs("'\n", out);
	if (kind && !strcmp(kind, "COMMAND"))
		fprintf(out,
			"complete -c leakmon -n '__leakmon_is %s' -a \"$__leakmon_commands\"\n",
			command->name);
	else if (kind)
		fprintf(out, "complete -c leakmon -n '__leakmon_is %s' -F\n", command->name);
	command_rows_print(out, command->name, command, fish_row_print);
}

static void fish_print(FILE *out, const struct command_table *table)
{
	fputs("set -g __leakmon_commands", out);
	for (size_t i = 0; i < table->count; i++)
		fprintf(out, " %s", table->commands[i]->name);
	fputs("\n\n"
	      "# Whether the line is one of the command; of _: one without a command\n"
	      "function __leakmon_is\n"
	      "	set -l words (commandline -opc)\n"
	      "	contains -- -- $words; and return 1\n"
	      "	if contains -- \"$words[2]\" $__leakmon_commands\n"
	      "		test $words[2] = $argv[1]\n"
	      "	else\n"
	      "		test $argv[1] = " NO_COMMAND "\n"
	      "	end\n"
	      "end\n\n"
	      "function __leakmon_at_command\n"
	      "	test (count (commandline -opc)) -eq 1\n"
	      "end\n\n"
	      "complete -c leakmon -f\n",
	      out);
	for (size_t i = 0; i < table->count; i++)
		fish_command_print(out, table->commands[i]);
	implied_rows_print(out, table, fish_row_print);
}

#define ZSH_QUOTE "'\\''"

static void zsh_row_print(FILE *out, const char *name, const struct option_row *row, char letter)
{
	const struct value_kind *kind =
		takes_value(row) ? kind_of(option_argument(row), row->name) : NULL;
	bool choice = takes_value(row) && is_choice(option_argument(row));

	(void)name;
	fputs("			", out);
	if (letter)
		fprintf(out, "'(-%c --%s)'{-%c%s,--%s%s}", letter, row->name, letter,
			takes_value(row) ? "+" : "", row->name, takes_value(row) ? "=" : "");
	else
		fprintf(out, "--%s%s", row->name, takes_value(row) ? "=" : "");
	fputs("'[", out);
	quoted_print(out, row->help, "[]\\", ZSH_QUOTE);
	fputc(']', out);
	if (takes_value(row)) {
		fputs(":value:", out);
		fputs(choice ? "(" : "", out);
		if (choice)
			choice_print(out, option_argument(row));
		else if (kind)
			fputs(kind->zsh, out);
		fputs(choice ? ")" : "", out);
	}
	fputs("' \\\n", out);
}

static void zsh_case_print(FILE *out, const struct command *command)
{
	const char *kind = command->positionals[0].kind;

	fprintf(out, "	%s)\n		_arguments -s -S \\\n", command->name);
	command_rows_print(out, command->name, command, zsh_row_print);
	if (kind)
		fprintf(out, "			'*:%s:%s'", command->positionals[0].name,
			strcmp(kind, "COMMAND") ? "_files" : "_leakmon_commands");
	else
		fputs("			'*::command: _normal'", out);
	fputs(" ;;\n", out);
}

static void zsh_print(FILE *out, const struct command_table *table)
{
	fputs("_leakmon_names() {\n"
	      "	local -a names\n"
	      "	names=(${(fu)\"$(cat /proc/[0-9]*/comm 2>/dev/null)\"})\n"
	      "	compadd -- $names\n"
	      "}\n\n"
	      "_leakmon_commands() {\n"
	      "	local -a commands\n"
	      "	commands=(\n",
	      out);
	for (size_t i = 0; i < table->count; i++) {
		fprintf(out, "		'%s:", table->commands[i]->name);
		quoted_print(out, table->commands[i]->summary, ":\\", ZSH_QUOTE);
		fputs("'\n", out);
	}
	fputs("	)\n"
	      "	_describe -t commands command commands\n"
	      "}\n\n"
	      "_leakmon() {\n"
	      "	local command=" NO_COMMAND "\n"
	      "	if (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then\n"
	      "		_leakmon_commands\n"
	      "		return\n"
	      "	fi\n"
	      "	if (( CURRENT > 2 )) && [[ $words[2] == [a-z]* ]]; then\n"
	      "		command=$words[2]\n"
	      "		shift words\n"
	      "		(( CURRENT-- ))\n"
	      "	fi\n"
	      "	case $command in\n",
	      out);
	for (size_t i = 0; i < table->count; i++)
		zsh_case_print(out, table->commands[i]);
	fputs("	*)\n		_arguments -s -S \\\n", out);
	implied_rows_print(out, table, zsh_row_print);
	fputs("			'*::command: _normal' ;;\n"
	      "	esac\n"
	      "}\n\n"
	      "# Found by its name, or sourced.\n"
	      "if [[ $funcstack[1] == _leakmon ]]; then\n"
	      "	_leakmon \"$@\"\n"
	      "else\n"
	      "	compdef _leakmon leakmon\n"
	      "fi\n",
	      out);
}

void completion_print(FILE *out, const char *shell, const struct command_table *table)
{
	bool zsh = !strcmp(shell, "zsh");

	fprintf(out,
		"%s# SPDX-License-Identifier: GPL-2.0-or-later\n"
		"# Completion of leakmon for %s, made by `leakmon --completion %s`.\n\n",
		zsh ? "#compdef leakmon\n" : "", shell, shell);
	if (zsh)
		zsh_print(out, table);
	else if (!strcmp(shell, "fish"))
		fish_print(out, table);
	else
		bash_print(out, table);
}
