// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/options.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "cli/completion.h"
#include "cli/getopt_tables.h"
#include "cli/help.h"
#include "cli/option_checks.h"
#include "cli/option_table.h"
#include "cli/positionals.h"
#include "cli/suggest.h"
#include "cli/words.h"
#include "output/output.h"
#include "store/recorder.h"

struct parse {
	struct options options;
	const struct subcommand *subcommand;
	bool given[OPTION_ROWS_MAX];
	unsigned positionals;
	const char *last_value; /* of the option read last: it may look like `--` */
};

static const struct options defaults = {
	.subcommand = "watch",
	.interval_ns = 5000000000ull,
	.budget = 0.01,
	.window_ns = 30000000000ull,
	.older_ns = 500000000ull,
	.max_size = UINT64_MAX,
	.sample_rate = 1,
	.max_blocks = 1000000,
	.max_sites = 16384,
	.symbol_prefix = "",
	.format = "text",
	.report.sort = SORT_BYTES,
	.fail_over = UINT64_MAX,
	.keep_bytes = RECORDER_KEEP_BYTES_DEFAULT,
};

/* `letter` is 0 for a long one. */
static int unknown_option(const struct parse *parse, const char *word, int letter)
{
	const char *names[OPTION_ROWS_MAX] = {0}, *nearest;
	size_t count = 0;

	if (letter) {
		log_error("unknown option `-%c`: see `leakmon %s --help`", letter,
			  parse->subcommand->name);
		return -EINVAL;
	}
	for (size_t i = 0; i < option_row_count; i++) {
		if (option_rows[i].group != GROUP_HIDDEN &&
		    option_rows[i].subcommands & parse->subcommand->bit)
			names[count++] = option_rows[i].name;
	}
	nearest = suggest(word + 2, names, count);
	if (nearest)
		log_error("unknown option `%s`: did you mean `--%s`?", word, nearest);
	else
		log_error("unknown option `%s`: see `leakmon %s --help`", word,
			  parse->subcommand->name);
	return -EINVAL;
}

static int bad_option(const struct parse *parse, const char *word, int value)
{
	const struct option_row *row = getopt_row(parse->subcommand, value);

	if (!row)
		return unknown_option(parse, word, value);
	log_error("`--%s` takes no value: leave out what follows the `=`", row->name);
	return -EINVAL;
}

static void option_error(const struct option_row *row, const char *text, int error)
{
	if (error == -EINVAL)
		log_error("--%s `%s`: %s", row->name, text, row->expects);
	else if (error == -ERANGE)
		log_error("--%s `%s`: out of range, give %llu to %llu", row->name, text,
			  (unsigned long long)row->minimum, (unsigned long long)row->maximum);
	else
		log_error("--%s: %s", row->name, strerror(-error));
}

static int read_option(struct parse *parse, const struct option_row *row, const char *text)
{
	int result;

	if (!(row->subcommands & parse->subcommand->bit)) {
		log_error("--%s is not for `leakmon %s`: see `leakmon %s --help`", row->name,
			  parse->subcommand->name, parse->subcommand->name);
		return -EINVAL;
	}
	if (!strcmp(row->name, "command") && parse->options.command) {
		log_error("--command is there twice: one leakmon starts one command");
		return -EINVAL;
	}
	result = row->parse(&parse->options, row, text);
	if (result < 0)
		option_error(row, text, result);
	else
		parse->given[row - option_rows] = true;
	return result;
}

/* Everything behind `--`. */
static int read_command(struct parse *parse, char **words)
{
	if (!(parse->subcommand->bit & (FOR_WATCH | FOR_RETAIN | FOR_THREADS)) || !*words ||
	    !**words) {
		log_error("`--` must be followed by a command, as in `leakmon -- CMD ARGS`");
		return -EINVAL;
	}
	if (parse->options.command) {
		log_error("a command is there twice: choose `--command` or `--`");
		return -EINVAL;
	}
	parse->options.command = words_copy(words);
	if (!parse->options.command) {
		log_error("no memory for the command line");
		return -ENOMEM;
	}
	*option_given(parse->given, "command") = true;
	return 0;
}

/* One round of getopt. 0; enum option_show: nothing more to do at all; -errno after a message. */
static int read_word(struct parse *parse, char **argv, int value)
{
	const struct option_row *row = getopt_row(parse->subcommand, value);

	parse->last_value = value == '?' ? NULL : optarg;
	if (value == 1)
		return positional_read(&parse->options, parse->subcommand, &parse->positionals,
				       optarg);
	if (value == '?')
		return bad_option(parse, argv[optind - 1], optopt);
	if (value == ':') {
		row = getopt_row(parse->subcommand, optopt);
		log_error("--%s needs a value: %s", row->name, row->expects);
		return -EINVAL;
	}
	return read_option(parse, row, optarg);
}

static int read_words(struct parse *parse, int argc, char **argv)
{
	struct getopt_tables tables;
	int value, result = 0;

	getopt_tables_fill(&tables, parse->subcommand->bit);
	optind = 0; /* glibc: start afresh */
	opterr = 0;
	while (!result) {
		value = getopt_long(argc, argv, tables.letters, tables.longs, NULL);
		if (value == -1)
			break;
		result = read_word(parse, argv, value);
	}
	if (!result && optind > 1 && argv[optind - 1] != parse->last_value &&
	    !strcmp(argv[optind - 1], "--"))
		result = read_command(parse, argv + optind);
	return result;
}

static void unknown_subcommand(const char *word)
{
	char names[256] = "";
	size_t length = 0;

	for (size_t i = 0; i < subcommand_count; i++)
		length += (size_t)snprintf(names + length, sizeof(names) - length, "%s%s",
					   !i			      ? ""
					   : i + 1 < subcommand_count ? ", "
								      : " and ",
					   subcommands[i].name);
	log_error("unknown subcommand `%s`: there are %s; to watch a command, write "
		  "`leakmon -- %s`",
		  word, names, word);
}

/* Takes the subcommand off the words; the default one if the first word is none. */
static int read_subcommand(struct parse *parse, int *argc, char ***argv)
{
	const char *word = *argc > 1 ? (*argv)[1] : "";

	parse->subcommand = &subcommands[0];
	if (!isalpha((unsigned char)*word))
		return 0;
	parse->subcommand = subcommand_find(word);
	if (!parse->subcommand) {
		unknown_subcommand(word);
		return -EINVAL;
	}
	parse->options.subcommand = parse->subcommand->name;
	if (parse->subcommand->interval_ns)
		parse->options.interval_ns = parse->subcommand->interval_ns;
	(*argc)--;
	(*argv)++;
	return 0;
}

static void show(enum option_show what, const struct subcommand *subcommand)
{
	if (what == SHOW_HELP)
		help_print(stdout, subcommand);
	else if (what == SHOW_VERSION)
		help_print_version(stdout);
	else
		completion_print(stdout);
}

int options_parse(struct options *options, int argc, char **argv)
{
	struct parse parse = {.options = defaults};
	int result = read_subcommand(&parse, &argc, &argv);

	if (!result)
		result = read_words(&parse, argc, argv);
	if (!result)
		result = option_check(&parse.options, parse.given);
	if (!result) {
		if (!parse.options.top_given)
			parse.options.report.top = output_find(parse.options.format)->default_top;
		*options = parse.options;
		return -1;
	}
	options_free(&parse.options);
	if (result < 0)
		return EXIT_USAGE;
	show(result, parse.subcommand);
	if (!fflush(stdout) && !ferror(stdout))
		return EXIT_OK;
	log_error("standard output: %s", strerror(errno));
	return EXIT_ERROR;
}

void options_free(struct options *options)
{
	vec_free(&options->pids);
	vec_free(&options->comms);
	vec_free(&options->cgroups);
	vec_free(&options->containers);
	vec_free(&options->pods);
	words_free(options->command);
	options->command = NULL;
}
