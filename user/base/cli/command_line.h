/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Commands, their options, and the parser of a command line. A command is a row of a table; an
 * option is a row of a group, and a command takes groups. Parsing, help and completion walk these
 * rows: no code here knows a command by name, nor any option but the general ones.
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
	 * Parses `text` into the field. Returns 0; -EINVAL: malformed; -ERANGE: outside
	 * minimum..maximum; -ENOMEM. On failure the field is untouched. See values.h.
	 */
	int (*parse)(void *field, const struct option_row *row, const char *text);
	const char *expects; /* "a size, e.g. 64K"; NULL: one of the words of `argument` */
	size_t offset;	     /* of the field, in the struct of the group */
	uint64_t minimum, maximum;
	/*
	 * Returns the words, if they come from another table; called with `words_of`. NULL: none.
	 */
	const char *(*words)(unsigned of);
	unsigned words_of;
	const char *limits; /* the limits as typed, if plain numbers are not clear enough */
	bool hidden;	    /* accepted but not shown: for our own build, or a synonym */
	bool takes_rest;    /* the words after `--` are another way to give it; a char ** field */
};

/* Returns an option's argument, whether from the row or from another table. */
static inline const char *option_argument(const struct option_row *row)
{
	return row->words ? row->words(row->words_of) : row->argument;
}

/* Turns "text|json|html" into "text, json or html". Returns text. */
#define CHOICES_PHRASE_SIZE 128
char *choices_phrase(char text[CHOICES_PHRASE_SIZE], const char *words);

/* Options whose fields are in one struct. */
struct option_group {
	const char *title; /* groups of the same title are listed together in the help */
	const struct option_row *rows;
	size_t count;
};

/* A group as a command uses it: the offset of its struct in the command's options. */
struct option_use {
	const struct option_group *group;
	size_t offset;
};

/* A non-option word. */
struct positional {
	const char *name; /* NULL: no more positionals */
	const char *kind; /* completed like an option's argument; NULL: not at all */
	/* Parses the word into the field. Returns 0, or -EINVAL after a message. */
	int (*parse)(void *field, const char *word);
	size_t offset;
	bool repeats; /* takes all remaining words: parse is called for each */
};

/* The options that were on the command line. */
struct given;
/* Returns whether the option was given. False also if the command has no such option. */
bool option_is_given(const struct given *given, const char *name);
/* Returns the name of the first option of a group that was given; NULL: none. */
const char *option_given_of(const struct given *given, const struct option_group *group);
/* Returns whether no command is named and only general options are given. */
bool given_is_bare(const struct given *given);

struct command;
/*
 * Returns the letter of one of the command's rows: the first row with a letter keeps it; 0: none.
 */
char option_letter(const struct command *command, const struct option_row *row);

#define OPTION_USES_MAX 32
#define POSITIONALS_MAX 2
#define IMPLYING_GROUPS_MAX 2
#define FOLDED_TITLES_MAX 2

struct command {
	const char *name;
	const char *summary;		      /* one line */
	const char *usage, *about, *examples; /* lines of its help */
	/* Titles of groups that its help shows only with --all, and a phrase for their purpose. */
	const char *folded[FOLDED_TITLES_MAX], *folded_for;
	size_t options_size;
	const void *defaults;			 /* options_size bytes */
	struct option_use uses[OPTION_USES_MAX]; /* ends with a use without group */
	struct positional positionals[POSITIONALS_MAX];
	/*
	 * If no command is named, options of these groups imply this one; if they imply several,
	 * the last one in the table.
	 */
	const struct option_group *implied_by[IMPLYING_GROUPS_MAX];
	/* even if named, it gives way to the command that the options imply */
	bool follows_options;
	/* Another command that takes this option, unlike the implied one; and how to get it. */
	const struct command *alternative;
	const char *alternative_how;
	/*
	 * Checks all options together and completes the defaults. NULL: no check. Returns 0, or
	 * -EINVAL after a message.
	 */
	int (*check)(void *options, const struct given *given);
	void (*free)(void *options);	 /* frees the options' allocations; NULL: none */
	int (*run)(const void *options); /* returns the exit code */
	bool code_is_answer;		 /* EXIT_ERROR is an answer, too, and needs no message */
	bool is_monitor;		 /* runs for long, and must not end because of one target */
};

struct command_table {
	/* The first is the default of a line without a command that implies no other. */
	const struct command *const *commands;
	size_t count;
	const char *about, *examples;		  /* of the program */
	const struct option_group *const *groups; /* option groups that the program's help shows */
	size_t group_count;
};

/* Options common to all commands. */
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
 * Parses argv (which must outlive *line) into *line. Returns -1 to go on, or the exit code to leave
 * with: EXIT_OK after --help or --version (printed to stdout), EXIT_USAGE after a message on stderr
 * with the error, its cause and the correction; *line is then untouched.
 */
int command_line_parse(struct command_line *line, const struct command_table *table, int argc,
		       char **argv);
void command_line_free(struct command_line *line);

/*
 * Returns the command of that name, or NULL after a message, with a suggestion if a name is near.
 */
const struct command *command_find(const struct command_table *table, const char *name);

/*
 * Returns the one of `count` names that is nearest to `word` (up to its `=`, if any): at most two
 * edits away, a swap of neighbours being one (optimal string alignment distance). NULL: none.
 */
const char *suggest(const char *word, const char *const *names, size_t count);

#endif
