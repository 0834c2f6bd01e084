// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/positionals.h"

#include <errno.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "cli/values.h"

#define INTERVAL_MIN_NS 1000000ull

static int read_interval(struct options *options, const char *word)
{
	int error = value_parse_seconds(word, &options->interval_ns);

	if (error == -EINVAL)
		log_error("`%s` is no INTERVAL: give seconds such as 5 or 0.5; to watch a command, "
			  "write `-- CMD ARGS`",
			  word);
	else if (error || options->interval_ns < INTERVAL_MIN_NS ||
		 options->interval_ns > INT64_MAX)
		log_error("INTERVAL `%s` is out of range: give 0.001 seconds or more, such as 5",
			  word);
	else
		return 0;
	return -EINVAL;
}

static int read_count(struct options *options, const char *word)
{
	int error = value_parse_number(word, &options->count);

	if (!error && options->count)
		return 0;
	log_error("`%s` is no COUNT of reports: give a whole number from 1, or leave it out to go "
		  "on until Ctrl-C",
		  word);
	return -EINVAL;
}

static int read_repeat(struct options *options, const char *word)
{
	int error = read_interval(options, word);

	options->repeat = !error;
	return error;
}

static int read_file(struct options *options, const char *word)
{
	if (!*word) {
		log_error("FILE is empty: name a recording that `leakmon record -o FILE` made");
		return -EINVAL;
	}
	options->files[options->file_count++] = word;
	return 0;
}

/* The words of each subcommand, in order. */
static const struct {
	unsigned bit;
	int (*readers[2])(struct options *options, const char *word);
	const char *these;
} positionals[] = {
	{FOR_WATCH, {read_interval, read_count}, "INTERVAL and COUNT"},
	{FOR_RETAIN, {read_repeat, read_count}, "INTERVAL and COUNT"},
	{FOR_THREADS, {read_interval, read_count}, "INTERVAL and COUNT"},
	{FOR_REPORT, {read_file}, "one FILE"},
	{FOR_DIFF, {read_file, read_file}, "two FILEs"},
};

int positional_read(struct options *options, const struct subcommand *subcommand, unsigned *taken,
		    const char *word)
{
	for (size_t i = 0; i < ARRAY_SIZE(positionals); i++) {
		unsigned at = *taken;

		if (!(subcommand->bit & positionals[i].bit))
			continue;
		if (at < ARRAY_SIZE(positionals[i].readers) && positionals[i].readers[at]) {
			(*taken)++;
			return positionals[i].readers[at](options, word);
		}
		log_error("`%s` is one word too many: there %s only %s", word,
			  positionals[i].bit == FOR_REPORT ? "is" : "are", positionals[i].these);
		return -EINVAL;
	}
	log_error("`%s`: `leakmon %s` takes only options: see `leakmon %s --help`", word,
		  subcommand->name, subcommand->name);
	return -EINVAL;
}
