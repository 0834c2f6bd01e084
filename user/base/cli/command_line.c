// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/cli/command_line.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "base/cli/help.h"
#include "base/cli/shell_split.h"
#include "base/cli/values.h"
#include "base/log.h"

/* Limit of distinct option names over all commands. */
#define ENTRIES_MAX 128

static const struct option_row general_rows[] = {
	{"verbose", 'v', NULL, "more detail, in the log and in reports", value_set_flag,
	 .offset = offsetof(struct general_options, verbose)},
	{"help", 'h', NULL, "print this help", value_set_flag,
	 .offset = offsetof(struct general_options, help)},
	{"all", 0, NULL, "with --help: all options of the command", value_set_flag,
	 .offset = offsetof(struct general_options, all), .hidden = true},
	{"version", 0, NULL, "print the version", value_set_flag,
	 .offset = offsetof(struct general_options, version)},
	{"completion", 0, "bash|fish|zsh", "print the completion script for a shell",
	 value_set_word, .offset = offsetof(struct general_options, completion), .hidden = true},
};
const struct option_group general_group = {"General", general_rows, ARRAY_SIZE(general_rows)};

struct entry {
	const struct option_row *row;
	const struct option_group *group;
	void *base; /* of the group's struct; NULL: of another command */
	bool given;
};

/* Options for getopt: the command's own options, then those of others, to be refused by name. */
struct given {
	struct entry entries[ENTRIES_MAX];
	size_t count;
	bool has_command; /* a command is named */
};

struct parser {
	const struct command_table *table;
	const struct command *named; /* NULL: none */
	const struct command *command;
	void *options;
	struct general_options general;
	struct given given;
	unsigned positionals;
	const char *last_value; /* of the option read last: it may look like `--` */
};

/* -------- misspelt names */

/* Longer words are not misspelt names. */
#define WORD_MAX_ 31
#define EDITS_MAX 2

typedef unsigned distances[WORD_MAX_ + 1][WORD_MAX_ + 1];

static unsigned cell(distances known, const char *a, const char *b, size_t i, size_t j)
{
	unsigned best;

	if (!i || !j)
		return (unsigned)(i + j);
	best = known[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
	best = MIN(best, known[i - 1][j] + 1);
	best = MIN(best, known[i][j - 1] + 1);
	if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
		best = MIN(best, known[i - 2][j - 2] + 1);
	return best;
}

static unsigned distance(const char *a, size_t length, const char *b)
{
	size_t other = strlen(b);
	distances known;

	if (length > WORD_MAX_ || other > WORD_MAX_)
		return EDITS_MAX + 1;
	for (size_t i = 0; i <= length; i++) {
		for (size_t j = 0; j <= other; j++)
			known[i][j] = cell(known, a, b, i, j);
	}
	return known[length][other];
}

const char *suggest(const char *word, const char *const *names, size_t count)
{
	size_t length = strcspn(word, "=");
	unsigned best = EDITS_MAX + 1;
	const char *nearest = NULL;

	for (size_t i = 0; i < count; i++) {
		unsigned edits = distance(word, length, names[i]);

		/* A few edits turn any short word into any other. */
		if (edits < best && edits * 2 < length) {
			best = edits;
			nearest = names[i];
		}
	}
	return nearest;
}

/* -------- commands by their names */

static const struct command *find_command(const struct command_table *table, const char *name)
{
	for (size_t i = 0; i < table->count; i++) {
		if (!strcmp(name, table->commands[i]->name))
			return table->commands[i];
	}
	return NULL;
}

const struct command *command_find(const struct command_table *table, const char *name)
{
	const struct command *command = find_command(table, name);
	const char *names[ENTRIES_MAX], *nearest;

	if (command)
		return command;
	for (size_t i = 0; i < table->count && i < ENTRIES_MAX; i++)
		names[i] = table->commands[i]->name;
	nearest = suggest(name, names, MIN(table->count, ENTRIES_MAX));
	if (nearest)
		log_error("unknown command `%s`: did you mean `%s`?", name, nearest);
	else
		log_error(
			"unknown command `%s`: see `leakmon help`; to start a program, write `leakmon -- %s`",
			name, name);
	return NULL;
}

/* -------- options for getopt */

static void entry_add(struct given *given, const struct option_group *group, void *base)
{
	for (size_t i = 0; i < group->count && given->count < ENTRIES_MAX; i++) {
		bool known = false;

		for (size_t j = 0; j < given->count && !known; j++)
			known = !strcmp(given->entries[j].row->name, group->rows[i].name);
		if (!known)
			given->entries[given->count++] = (struct entry){
				.row = &group->rows[i], .group = group, .base = base};
	}
}

char option_letter(const struct command *command, const struct option_row *row)
{
	for (const struct option_use *use = command->uses; use->group; use++) {
		for (size_t i = 0; i < use->group->count; i++) {
			const struct option_row *first = &use->group->rows[i];

			if (first->letter == row->letter)
				return first == row ? row->letter : 0;
		}
	}
	return row->letter;
}

/* `options` is NULL for a command whose options need only be known by name. */
static void entries_add(struct given *given, const struct command *command, char *options)
{
	for (const struct option_use *use = command->uses; use->group; use++)
		entry_add(given, use->group, options ? options + use->offset : NULL);
}

static void entries_begin(struct parser *parser)
{
	parser->given.count = 0;
	parser->given.has_command = parser->named;
	entry_add(&parser->given, &general_group, &parser->general);
}

/* Adds the remaining options of all commands, to be known by name. */
static void entries_add_others(struct parser *parser)
{
	for (size_t i = 0; i < parser->table->count; i++)
		entries_add(&parser->given, parser->table->commands[i], NULL);
}

bool option_is_given(const struct given *given, const char *name)
{
	for (size_t i = 0; i < given->count; i++) {
		if (given->entries[i].given && !strcmp(given->entries[i].row->name, name))
			return true;
	}
	return false;
}

const char *option_given_of(const struct given *given, const struct option_group *group)
{
	for (size_t i = 0; i < given->count; i++) {
		if (given->entries[i].given && given->entries[i].group == group)
			return given->entries[i].row->name;
	}
	return NULL;
}

bool given_is_bare(const struct given *given)
{
	if (given->has_command)
		return false;
	for (size_t i = 0; i < given->count; i++) {
		if (given->entries[i].given && given->entries[i].group != &general_group)
			return false;
	}
	return true;
}

struct getopt_tables {
	struct option longs[ENTRIES_MAX + 1];
	char letters[2 + 2 * ENTRIES_MAX + 1];
};

/* getopt's value for entry i; above any letter. */
#define ENTRY_VALUE(i) ((int)(i) + 256)

/* "[=K]": the argument is optional. */
static int argument_kind(const char *argument)
{
	if (!argument)
		return no_argument;
	return strncmp(argument, "[=", 2) ? required_argument : optional_argument;
}

static void getopt_tables_fill(struct getopt_tables *tables, const struct given *given)
{
	/* '-': non-option words come in order. ':': a missing value is told apart. */
	char *letter = stpcpy(tables->letters, "-:");

	for (size_t i = 0; i < given->count; i++) {
		const struct option_row *row = given->entries[i].row;

		tables->longs[i] = (struct option){.name = row->name,
						   .has_arg = argument_kind(option_argument(row)),
						   .val = ENTRY_VALUE(i)};
		if (!row->letter || strchr(tables->letters + 2, row->letter))
			continue;
		*letter++ = row->letter;
		if (option_argument(row))
			*letter++ = ':';
		*letter = '\0';
	}
	tables->longs[given->count] = (struct option){0};
}

/* Returns the entry of a getopt value, or NULL. */
static struct entry *entry_of(struct given *given, int value)
{
	if (value >= ENTRY_VALUE(0) && value < ENTRY_VALUE(given->count))
		return &given->entries[value - ENTRY_VALUE(0)];
	for (size_t i = 0; i < given->count && value; i++) {
		if (given->entries[i].row->letter == value)
			return &given->entries[i];
	}
	return NULL;
}

static void getopt_begin(struct getopt_tables *tables, const struct given *given)
{
	*tables = (struct getopt_tables){0};
	getopt_tables_fill(tables, given);
	optind = 0; /* glibc: restart the scan */
	opterr = 0;
}

/* Returns whether getopt ended at `--`. */
static bool ended_at_dashes(char **argv, const char *last_value)
{
	return optind > 1 && argv[optind - 1] != last_value && !strcmp(argv[optind - 1], "--");
}

/* -------- choice of the command */

static struct entry *rest_entry(struct given *given)
{
	for (size_t i = 0; i < given->count; i++) {
		if (given->entries[i].row->takes_rest && given->entries[i].base)
			return &given->entries[i];
	}
	return NULL;
}

static void note_all_given(struct given *given, int argc, char **argv)
{
	struct getopt_tables tables;
	const char *last_value = NULL;
	int value;

	getopt_begin(&tables, given);
	while ((value = getopt_long(argc, argv, tables.letters, tables.longs, NULL)) != -1) {
		struct entry *entry = entry_of(given, value == ':' ? optopt : value);

		if (entry)
			entry->given = true;
		last_value = value == '?' ? NULL : optarg;
	}
	for (size_t i = 0; i < given->count; i++) {
		if (given->entries[i].row->takes_rest && ended_at_dashes(argv, last_value))
			given->entries[i].given = true;
	}
}

static const struct command *implied_command(struct parser *parser, int argc, char **argv)
{
	const struct command *implied = parser->table->commands[0];

	entries_begin(parser);
	entries_add_others(parser);
	note_all_given(&parser->given, argc, argv);
	for (size_t i = 0; i < parser->table->count; i++) {
		const struct command *command = parser->table->commands[i];

		for (size_t j = 0; j < IMPLYING_GROUPS_MAX && command->implied_by[j]; j++) {
			if (option_given_of(&parser->given, command->implied_by[j]))
				implied = command;
		}
	}
	return implied;
}

/* Takes the command's name off the words, if present. */
static int choose_command(struct parser *parser, int *argc, char ***argv)
{
	const char *word = *argc > 1 ? (*argv)[1] : "";

	if (isalpha((unsigned char)*word)) {
		parser->named = command_find(parser->table, word);
		if (!parser->named)
			return -EINVAL;
		(*argc)--;
		(*argv)++;
	}
	if (parser->named && !parser->named->follows_options)
		parser->command = parser->named;
	else
		parser->command = implied_command(parser, *argc, *argv);
	return 0;
}

static int options_begin(struct parser *parser)
{
	const struct command *command = parser->command;

	parser->options = malloc(command->options_size);
	if (!parser->options) {
		log_error("out of memory");
		return -ENOMEM;
	}
	memcpy(parser->options, command->defaults, command->options_size);
	entries_begin(parser);
	entries_add(&parser->given, command, parser->options);
	entries_add_others(parser);
	return 0;
}

/* -------- words of the line */

/* `letter` is 0 for a long option. */
static int unknown_option(const struct parser *parser, const char *word, int letter)
{
	const char *names[ENTRIES_MAX], *nearest, *command = parser->command->name;
	size_t count = 0;

	if (letter) {
		log_error("unknown option `-%c`: see `leakmon help %s`", letter, command);
		return -EINVAL;
	}
	for (size_t i = 0; i < parser->given.count; i++) {
		const struct entry *entry = &parser->given.entries[i];

		if (entry->base && !entry->row->hidden)
			names[count++] = entry->row->name;
	}
	nearest = suggest(word + 2, names, count);
	if (nearest)
		log_error("unknown option `%s`: did you mean `--%s`?", word, nearest);
	else
		log_error("unknown option `%s`: see `leakmon help %s`", word, command);
	return -EINVAL;
}

static int bad_option(struct parser *parser, const char *word, int value)
{
	const struct entry *entry = entry_of(&parser->given, value);

	if (!entry)
		return unknown_option(parser, word, value);
	log_error("`--%s` takes no value: leave out what follows the `=`", entry->row->name);
	return -EINVAL;
}

static bool command_takes(const struct command *command, const char *name)
{
	for (const struct option_use *use = command->uses; use->group; use++) {
		for (size_t i = 0; i < use->group->count; i++) {
			if (!strcmp(use->group->rows[i].name, name))
				return true;
		}
	}
	return false;
}

/* Prints e.g. "watch, record and top". */
static void list_commands_with(const struct command_table *table, const char *name, FILE *out)
{
	size_t left = 0, i;

	for (i = 0; i < table->count; i++)
		left += command_takes(table->commands[i], name);
	for (i = 0; i < table->count; i++) {
		if (!command_takes(table->commands[i], name))
			continue;
		left--;
		fprintf(out, "%s%s", table->commands[i]->name,
			left > 1 ? ", "
			: left	 ? " and "
				 : "");
	}
}

static int not_supported(const struct parser *parser, const char *name)
{
	const struct command *command = parser->command;
	char others[256] = "";
	FILE *out;

	if (command != parser->named && command->alternative &&
	    command_takes(command->alternative, name)) {
		log_error("--%s is for `leakmon %s`: %s", name, command->alternative->name,
			  command->alternative_how);
		return -EINVAL;
	}
	out = fmemopen(others, sizeof(others), "w");
	if (out) {
		list_commands_with(parser->table, name, out);
		fclose(out);
	}
	log_error("--%s is not supported by `leakmon %s`, only by %s: see `leakmon help %s`", name,
		  command->name, others, command->name);
	return -EINVAL;
}

char *choices_phrase(char text[CHOICES_PHRASE_SIZE], const char *words)
{
	FILE *out = fmemopen(text, CHOICES_PHRASE_SIZE, "w");

	text[0] = '\0';
	for (; out && *words; words++) {
		if (*words != '|')
			fputc(*words, out);
		else
			fputs(strchr(words + 1, '|') ? ", " : " or ", out);
	}
	if (out)
		fclose(out);
	return text;
}

static void explain_choice(const char *option, const char *text, const char *words)
{
	char phrase[CHOICES_PHRASE_SIZE];

	log_error("--%s `%s`: expected %s", option, text, choices_phrase(phrase, words));
}

static void option_error(const struct option_row *row, const char *text, int error)
{
	if (error == -EINVAL && !row->expects)
		explain_choice(row->name, text, option_argument(row));
	else if (error == -EINVAL)
		log_error("--%s `%s`: expected %s", row->name, text, row->expects);
	else if (error == -ERANGE && row->limits)
		log_error("--%s `%s`: out of range, expected %s", row->name, text, row->limits);
	else if (error == -ERANGE)
		log_error("--%s `%s`: out of range, expected %llu to %llu", row->name, text,
			  (unsigned long long)row->minimum, (unsigned long long)row->maximum);
	else
		log_error("--%s: %s", row->name, strerror(-error));
}

static int command_given_twice(void)
{
	log_error("a command is given twice: use --command or `--`, once");
	return -EINVAL;
}

static int read_option(struct parser *parser, struct entry *entry, const char *text)
{
	const struct option_row *row = entry->row;
	int error;

	if (!entry->base)
		return not_supported(parser, row->name);
	if (row->takes_rest && entry->given)
		return command_given_twice();
	error = row->parse((char *)entry->base + row->offset, row, text);
	if (error)
		option_error(row, text, error);
	else
		entry->given = true;
	return error;
}

/* Reads all words after `--`. */
static int read_rest(struct parser *parser, char **words)
{
	struct entry *entry = rest_entry(&parser->given);
	char **copy;

	if (!entry) {
		log_error("`leakmon %s` starts no command: leave out `--` and what follows",
			  parser->command->name);
		return -EINVAL;
	}
	if (!*words || !**words) {
		log_error("`--` must be followed by a command, as in `leakmon -- CMD ARGS`");
		return -EINVAL;
	}
	if (entry->given)
		return command_given_twice();
	copy = words_copy(words);
	if (!copy) {
		log_error("out of memory");
		return -ENOMEM;
	}
	*(char ***)((char *)entry->base + entry->row->offset) = copy;
	entry->given = true;
	return 0;
}

static int read_positional(struct parser *parser, const char *word)
{
	const struct command *command = parser->command;
	const struct positional *all = command->positionals;

	if (parser->positionals < POSITIONALS_MAX && all[parser->positionals].name) {
		const struct positional *next = &all[parser->positionals];

		parser->positionals += !next->repeats;
		if (!next->kind && find_command(parser->table, word)) {
			log_error("`%s` is a command: name it first, as in `leakmon %s`", word,
				  word);
			return -EINVAL;
		}
		return next->parse((char *)parser->options + next->offset, word);
	}
	log_error("`%s` is one word too many: `leakmon %s` takes only %s%s%s", word, command->name,
		  all[0].name ? all[0].name : "options", all[1].name ? " and " : "",
		  all[1].name ? all[1].name : "");
	return -EINVAL;
}

/* Handles one result of getopt. Returns 0, or -errno after a message. */
static int read_word(struct parser *parser, char **argv, int value)
{
	struct entry *entry;

	parser->last_value = value == '?' ? NULL : optarg;
	if (value == 1)
		return read_positional(parser, optarg);
	if (value == '?')
		return bad_option(parser, argv[optind - 1], optopt);
	entry = entry_of(&parser->given, value == ':' ? optopt : value);
	if (value != ':')
		return read_option(parser, entry, optarg);
	log_error("--%s needs a value: %s", entry->row->name,
		  entry->row->expects ? entry->row->expects : option_argument(entry->row));
	return -EINVAL;
}

/* Returns whether the options ask for output in place of a run. */
static bool is_asked_to_show(const struct general_options *general)
{
	return general->help || general->version || general->completion;
}

/* After --help only --all is still read. */
static bool has_all(int argc, char **argv)
{
	for (int i = optind; i < argc && strcmp(argv[i], "--") != 0; i++) {
		if (!strcmp(argv[i], "--all"))
			return true;
	}
	return false;
}

static int read_words(struct parser *parser, int argc, char **argv)
{
	struct getopt_tables tables;
	int value, error = 0;

	getopt_begin(&tables, &parser->given);
	while (!error && !is_asked_to_show(&parser->general)) {
		value = getopt_long(argc, argv, tables.letters, tables.longs, NULL);
		if (value == -1)
			break;
		error = read_word(parser, argv, value);
	}
	if (parser->general.help)
		parser->general.all |= has_all(argc, argv);
	if (!error && !is_asked_to_show(&parser->general) &&
	    ended_at_dashes(argv, parser->last_value))
		error = read_rest(parser, argv + optind);
	return error;
}

/* -------- the whole line */

static int show(const struct parser *parser)
{
	if (parser->general.version)
		help_print_version(stdout);
	else if (parser->general.completion)
		completion_print(stdout, parser->general.completion, parser->table);
	else if (parser->named)
		help_print(stdout, parser->named, parser->general.all);
	else
		help_print_overview(stdout, parser->table);
	if (!fflush(stdout) && !ferror(stdout))
		return EXIT_OK;
	log_error("standard output: %s", strerror(errno));
	return EXIT_ERROR;
}

int command_line_parse(struct command_line *line, const struct command_table *table, int argc,
		       char **argv)
{
	struct parser parser = {.table = table};
	struct command_line parsed;
	int error = choose_command(&parser, &argc, &argv);

	if (!error)
		error = options_begin(&parser);
	if (!error)
		error = read_words(&parser, argc, argv);
	if (!error && parser.general.all && !parser.general.help) {
		log_error("--all is for --help: add --help, or leave --all out");
		error = -EINVAL;
	}
	if (!error && !is_asked_to_show(&parser.general) && parser.command->check)
		error = parser.command->check(parser.options, &parser.given);
	parsed = (struct command_line){.command = parser.command,
				       .options = parser.options,
				       .verbose = parser.general.verbose};
	if (!error && !is_asked_to_show(&parser.general)) {
		*line = parsed;
		return -1;
	}
	command_line_free(&parsed);
	return error ? EXIT_USAGE : show(&parser);
}

void command_line_free(struct command_line *line)
{
	if (line->options && line->command->free)
		line->command->free(line->options);
	free(line->options);
	line->options = NULL;
}
