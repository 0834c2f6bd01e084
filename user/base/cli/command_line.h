/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Commands, their options, and the reading of a command line. A command is a row of a table; an
 * option is a row of a group, and a command takes groups. Parsing, help and completion walk these
 * rows: nothing here knows a command, or an option but the general ones, by its name.
 */
#ifndef LEAKMON_CLI_COMMAND_LINE_H
#define LEAKMON_CLI_COMMAND_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/exit_code.h"

struct option_row {
	const char *name;     /* long, without dashes */
	char letter;	      /* 0: none */
	const char *argument; /* as help shows it; NULL: none; "[=K]": may be left out */
	const char *help;
	/*
	 * Puts what `text` says into the field. 0; -EINVAL: not of the right form; -ERANGE: outside
	 * minimum..maximum; -ENOMEM. On failure the field is untouched. See values.h.
	 */
	int (*parse)(void *field, const struct option_row *row, const char *text);
	const char *expects; /* "a size, e.g. 64K"; NULL: one of the words of `argument` */
	size_t offset;	     /* of the field, in the struct of the group */
	uint64_t minimum, maximum;
	/* Where the words follow from another table; called with `words_of`. Else NULL. */
	const char *(*words)(unsigned of);
	unsigned words_of;
	const char *limits; /* these as they are typed, where numbers alone do not say it */
	bool hidden; /* taken, but not shown: for our own build, or another way to say something */
	bool takes_rest; /* the words behind `--` are another way to give it; a char ** field */
};

/* Its argument, wherever the words come from. */
static inline const char *option_argument(const struct option_row *row)
{
	return row->words ? row->words(row->words_of) : row->argument;
}

/* "text, json or html" of "text|json|html". Returns text. */
#define CHOICES_PHRASE_SIZE 128
char *choices_phrase(char text[CHOICES_PHRASE_SIZE], const char *words);

/* Rows with fields in one struct. */
struct option_group {
	const char *title; /* groups of one title stand together in the help */
	const struct option_row *rows;
	size_t count;
};

/* A group as a command takes it: where its struct stands in the command's options. */
struct option_use {
	const struct option_group *group;
	size_t offset;
};

/* A word that is no option. */
struct positional {
	const char *name; /* NULL: no more of them */
	const char *kind; /* how it is completed, as an option's argument; NULL: not at all */
	/* 0, or -EINVAL after a message. */
	int (*parse)(void *field, const char *word);
	size_t offset;
	bool repeats; /* takes all words that are left: parse is called for each */
};

/* Which options were on the command line. */
struct given;
/* False, too, if the command takes no such option. */
bool option_is_given(const struct given *given, const char *name);
/* The name of the first option of a group that was given; NULL: none. */
const char *option_given_of(const struct given *given, const struct option_group *group);
/* No command is named, and no option given but those of every command. */
bool given_is_bare(const struct given *given);

struct command;
/* The letter by which a command knows one of its rows: the first that has it; 0: none. */
char option_letter(const struct command *command, const struct option_row *row);

#define OPTION_USES_MAX 32
#define POSITIONALS_MAX 2
#define IMPLYING_GROUPS_MAX 2
#define FOLDED_TITLES_MAX 2

struct command {
	const char *name;
	const char *summary;		      /* a line */
	const char *usage, *about, *examples; /* lines of its help */
	/* Titles of groups that its help shows with --all alone, and the options they are for. */
	const char *folded[FOLDED_TITLES_MAX], *folded_for;
	size_t options_size;
	const void *defaults;			 /* options_size bytes */
	struct option_use uses[OPTION_USES_MAX]; /* the last one has no group */
	struct positional positionals[POSITIONALS_MAX];
	/*
	 * Options of these groups stand for the command where none is named; if several commands
	 * are implied, the last one in the table.
	 */
	const struct option_group *implied_by[IMPLYING_GROUPS_MAX];
	bool follows_options; /* named, it still stands for the command that the options imply */
	/* Another command that takes this option, which the implied one does not; and how to get
	 * it. */
	const struct command *alternative;
	const char *alternative_how;
	/* Checks all options together; completes the defaults. NULL: nothing. 0, or -EINVAL after a
	 * message. */
	int (*check)(void *options, const struct given *given);
	void (*free)(void *options);	 /* what options own; NULL: nothing */
	int (*run)(const void *options); /* returns the exit code */
	bool code_is_answer;		 /* also EXIT_ERROR, which needs no message then */
	bool is_monitor;		 /* runs for long, and must not end because of one target */
};

struct command_table {
	/* The first is what a line without a command stands for that implies no other. */
	const struct command *const *commands;
	size_t count;
	const char *about, *examples;		  /* of the program */
	const struct option_group *const *groups; /* options that its help shows */
	size_t group_count;
};

/* Options of every command. */
struct general_options {
	bool verbose, help, all, version;
	const char *completion;
};
extern const struct option_group general_group;

struct command_line {
	const struct command *command;
	void *options; /* the command's; owned */
	bool verbose;
};

/*
 * Fills *line from argv (which must outlive it). Returns -1 to go on, or the exit code to leave
 * with: EXIT_OK after --help or --version (printed to stdout), EXIT_USAGE after a message on stderr
 * that says what is wrong, why, and what would be right; *line is untouched then.
 */
int command_line_parse(struct command_line *line, const struct command_table *table, int argc,
		       char **argv);
void command_line_free(struct command_line *line);

/* NULL after a message, with a suggestion if a name is near. */
const struct command *command_find(const struct command_table *table, const char *name);

/*
 * The one of `count` names that is nearest to `word` (up to its `=`, if it has one): at most two
 * edits away, a swap of neighbours being one (optimal string alignment distance). NULL if none is.
 */
const char *suggest(const char *word, const char *const *names, size_t count);

#endif
