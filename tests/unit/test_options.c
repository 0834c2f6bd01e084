// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/help.h"
#include "cli/options.h"
#include "cli/targets.h"
#include "cli/words.h"

#define GO_ON (-1)

/* A line as a shell would hand it over; the words live until the test ends. */
struct line {
	char **argv;
	int argc;
	struct options options;
};

static void line_split(struct line *line, const char *text)
{
	memset(line, 0, sizeof(*line));
	assert_int_equal(words_split(text, &line->argv), 0);
	while (line->argv[line->argc])
		line->argc++;
}

static void line_parse(struct line *line, const char *text)
{
	line_split(line, text);
	if (options_parse(&line->options, line->argc, line->argv) != GO_ON)
		fail_msg("refused: %s", text);
}

static void line_free(struct line *line)
{
	options_free(&line->options);
	words_free(line->argv);
}

/* Sends descriptor fd into a file until capture_end, which reads it into text. */
struct capture {
	FILE *file;
	int fd, saved;
};

static void capture_begin(struct capture *capture, FILE *stream)
{
	fflush(stream);
	capture->fd = fileno(stream);
	capture->file = tmpfile();
	assert_non_null(capture->file);
	capture->saved = dup(capture->fd);
	assert_true(dup2(fileno(capture->file), capture->fd) >= 0);
}

static void capture_end(struct capture *capture, FILE *stream, char *text, size_t size)
{
	size_t length;

	fflush(stream);
	assert_true(dup2(capture->saved, capture->fd) >= 0);
	close(capture->saved);
	rewind(capture->file);
	length = fread(text, 1, size - 1, capture->file);
	text[length] = '\0';
	fclose(capture->file);
}

static void defaults_are_those_of_the_manual(void **state)
{
	struct line line;
	const struct options *options = &line.options;

	(void)state;
	line_parse(&line, "leakmon -p 1");
	assert_string_equal(options->subcommand, "watch");
	assert_int_equal(options->pids.count, 1);
	assert_int_equal(options->pids.items[0], 1);
	assert_null(options->command);
	assert_int_equal(options->interval_ns, 5000000000);
	assert_int_equal(options->count, 0);
	assert_int_equal(options->older_ns, 500000000);
	assert_int_equal(options->min_size, 0);
	assert_true(options->max_size == UINT64_MAX);
	assert_int_equal(options->sample_rate, 1);
	assert_int_equal(options->sample_bytes, 0);
	assert_int_equal(options->max_blocks, 1000000);
	assert_int_equal(options->max_sites, 16384);
	assert_false(options->combined_only);
	assert_null(options->object);
	assert_string_equal(options->symbol_prefix, "");
	assert_int_equal(options->probe_at, PROBE_AT_BEST);
	assert_int_equal(options->attach_method, ATTACH_AUTO);
	assert_false(options->empty_programs);
	assert_string_equal(options->format, "text");
	assert_null(options->output);
	assert_int_equal(options->report.top, 10);
	assert_int_equal(options->report.sort, SORT_BYTES);
	assert_false(options->report.show_allocs);
	assert_false(options->top_given);
	assert_true(options->fail_over == UINT64_MAX);
	assert_false(options->trace || options->verbose || options->no_color);
	line_free(&line);
}

/* The letters and their meaning are memleak's. */
static void every_letter_sets_its_field(void **state)
{
	struct line line;
	const struct options *options = &line.options;

	(void)state;
	line_parse(&line,
		   "leakmon watch -p 7,8 -o 250 -a -s 3 -T 4 -z 16 -Z 1K -O /lib/x.so -S je_ -tv");
	assert_int_equal(options->pids.count, 2);
	assert_int_equal(options->pids.items[1], 8);
	assert_int_equal(options->older_ns, 250000000);
	assert_true(options->report.show_allocs);
	assert_int_equal(options->sample_rate, 3);
	assert_int_equal(options->report.top, 4);
	assert_true(options->top_given);
	assert_int_equal(options->min_size, 16);
	assert_int_equal(options->max_size, 1024);
	assert_string_equal(options->object, "/lib/x.so");
	assert_string_equal(options->symbol_prefix, "je_");
	assert_true(options->trace && options->verbose);
	line_free(&line);
	line_parse(&line, "leakmon -C -c 'a b'");
	assert_true(options->combined_only);
	assert_string_equal(options->command[1], "b");
	line_free(&line);
}

static void without_a_target_it_is_the_triage(void **state)
{
	struct line line;
	const struct options *options = &line.options;

	(void)state;
	line_parse(&line, "leakmon 2 10");
	assert_true(targets_triage(options));
	assert_float_equal(options->budget, 0.01, 1e-12);
	assert_int_equal(options->escalate, 0);
	assert_int_equal(options->window_ns, 30000000000);
	line_free(&line);
	line_parse(&line, "leakmon --budget 0.25% --escalate --window 2m -o 5 --obj x 5");
	assert_float_equal(options->budget, 0.0025, 1e-12);
	assert_int_equal(options->escalate, 3);
	assert_int_equal(options->window_ns, 120000000000);
	assert_int_equal(options->interval_ns, 5000000000);
	line_free(&line);
	line_parse(&line, "leakmon --budget 100 --escalate=7 --window 90");
	assert_float_equal(options->budget, 1, 1e-12);
	assert_int_equal(options->escalate, 7);
	assert_int_equal(options->window_ns, 90000000000);
	line_free(&line);
	line_parse(&line, "leakmon -p 1");
	assert_false(targets_triage(options));
	line_free(&line);
}

static void every_long_name_sets_its_field(void **state)
{
	struct line line;
	const struct options *options = &line.options;

	(void)state;
	line_parse(&line, "leakmon --pid=9 --older=0 --show-allocs --sample-bytes 64K --top 0 "
			  "--min-size 2 --max-size 3 --obj x --symbols-prefix= --trace --verbose "
			  "--format json --output y --max-blocks 5 --max-sites 6 --max-processes 7 "
			  "--sort count "
			  "--fail-over 1M --no-color --probe-at=entry --attach=perf "
			  "--stack-walk=fp --empty-programs");
	assert_int_equal(options->pids.items[0], 9);
	assert_int_equal(options->older_ns, 0);
	assert_true(options->report.show_allocs);
	assert_int_equal(options->sample_bytes, 65536);
	assert_int_equal(options->report.top, 0);
	assert_int_equal(options->min_size, 2);
	assert_int_equal(options->max_size, 3);
	assert_string_equal(options->object, "x");
	assert_string_equal(options->symbol_prefix, "");
	assert_true(options->trace && options->verbose && options->no_color);
	assert_string_equal(options->format, "json");
	assert_string_equal(options->output, "y");
	assert_int_equal(options->max_blocks, 5);
	assert_int_equal(options->max_sites, 6);
	assert_int_equal(options->max_processes, 7);
	assert_int_equal(options->report.sort, SORT_COUNT);
	assert_int_equal(options->fail_over, 1048576);
	assert_int_equal(options->probe_at, PROBE_AT_ENTRY);
	assert_int_equal(options->stack_walk, LM_STACK_WALK_FP);
	assert_int_equal(options->attach_method, ATTACH_PERF);
	assert_true(options->empty_programs);
	line_free(&line);
	line_parse(&line, "leakmon --command 'a b' --combined-only --sample-rate 2 --attach multi");
	assert_string_equal(options->command[0], "a");
	assert_true(options->combined_only);
	assert_int_equal(options->sample_rate, 2);
	assert_int_equal(options->attach_method, ATTACH_MULTI);
	line_free(&line);
}

static void interval_and_count_stand_anywhere_among_the_options(void **state)
{
	static const struct {
		const char *text;
		uint64_t interval_ns, count;
	} examples[] = {
		{"leakmon -p 1 5 10", 5000000000, 10},
		{"leakmon 0.5 -p 1 3", 500000000, 3},
		{"leakmon watch 2 -p 1", 2000000000, 0},
		{"leakmon 7 8 -- ls 9 10", 7000000000, 8},
		{"leakmon -p 1 0.001 18446744073709551615", 1000000, UINT64_MAX},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(examples); i++) {
		struct line line;

		line_parse(&line, examples[i].text);
		assert_true(line.options.interval_ns == examples[i].interval_ns);
		assert_true(line.options.count == examples[i].count);
		line_free(&line);
	}
}

static void pids_are_gathered_and_folded(void **state)
{
	struct line line;

	(void)state;
	line_parse(&line, "leakmon -p 3,1,3 -p 1,2 -p 4194304");
	assert_int_equal(line.options.pids.count, 4);
	assert_int_equal(line.options.pids.items[0], 3);
	assert_int_equal(line.options.pids.items[1], 1);
	assert_int_equal(line.options.pids.items[2], 2);
	assert_int_equal(line.options.pids.items[3], 4194304);
	line_free(&line);
}

static void a_command_behind_dashes_is_taken_word_for_word(void **state)
{
	struct line line;

	(void)state;
	line_parse(&line, "leakmon -v -- prog -p --help '' -- 'a b'");
	assert_true(line.options.verbose);
	assert_int_equal(line.options.pids.count, 0);
	assert_string_equal(line.options.command[0], "prog");
	assert_string_equal(line.options.command[1], "-p");
	assert_string_equal(line.options.command[2], "--help");
	assert_string_equal(line.options.command[3], "");
	assert_string_equal(line.options.command[4], "--");
	assert_string_equal(line.options.command[5], "a b");
	assert_null(line.options.command[6]);
	line_free(&line);
	line_parse(&line, "leakmon -p 1 -O --");
	assert_string_equal(line.options.object, "--");
	assert_null(line.options.command);
	line_free(&line);
}

static void the_cut_follows_the_format_unless_it_is_given(void **state)
{
	static const struct {
		const char *text;
		size_t top;
	} examples[] = {
		{"leakmon -p 1 --format text", 10},
		{"leakmon -p 1 --format json", 0},
		{"leakmon -p 1 -T 5 --format json", 5},
		{"leakmon -p 1 --format text -T 0", 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(examples); i++) {
		struct line line;

		line_parse(&line, examples[i].text);
		assert_int_equal(line.options.report.top, examples[i].top);
		line_free(&line);
	}
}

static void doctor_needs_no_target(void **state)
{
	struct line line;

	(void)state;
	line_parse(&line, "leakmon doctor");
	assert_string_equal(line.options.subcommand, "doctor");
	line_free(&line);
	line_parse(&line, "leakmon doctor -vp 12 -S je_");
	assert_int_equal(line.options.pids.items[0], 12);
	assert_true(line.options.verbose);
	line_free(&line);
}

static void bad_usage_is_refused_with_what_why_and_what_to_do(void **state)
{
	static const struct {
		const char *text, *message;
	} examples[] = {
		{"leakmon --trace", "no target, and --trace is about the allocations"},
		{"leakmon -o 5", "no target, and --older is about probes"},
		{"leakmon --window 5s", "no target, and --window is for --escalate"},
		{"leakmon -p 1 --budget 2%", "--budget is for the triage"},
		{"leakmon --budget 0", "--budget `0`: out of range"},
		{"leakmon --budget 1%%", "--budget `1%%`: give a percentage"},
		{"leakmon --escalate=0", "--escalate `0`: out of range"},
		{"leakmon --escalate --window 5d", "--window `5d`: give a time"},
		{"leakmon recrod", "unknown subcommand `recrod`: there are watch, "},
		{"leakmon record -p 1", "no file to record to: name one"},
		{"leakmon report", "no recording: name one that `leakmon record -o FILE` made"},
		{"leakmon report a b", "`b` is one word too many: there is only one FILE"},
		{"leakmon diff a b c", "`c` is one word too many: there are only two FILEs"},
		{"leakmon diff a --format prom", "--format prom has no form for a difference"},
		{"leakmon record -p 1 -o f --keep 30m", "--keep `30m`: give a size"},
		{"leakmon record -p 1 -o f --keep 10", "--keep `10`: give a size"},
		{"leakmon report a --older 1", "--older is not for `leakmon report`"},
		{"leakmon -p 1 --textfile-dir /tmp", "--textfile-dir is for --format prom"},
		{"leakmon grow -p 1", "unknown subcommand `grow`"},
		{"leakmon -p abc", "--pid `abc`: give process IDs separated by commas"},
		{"leakmon -p 1,,2", "--pid `1,,2`: give process IDs"},
		{"leakmon -p 1,", "--pid `1,`: give"},
		{"leakmon -p ''", "--pid ``: give"},
		{"leakmon -p 0", "--pid `0`: out of range, give 1 to 4194304"},
		{"leakmon -p 4194305", "out of range"},
		{"leakmon -p 18446744073709551617", "out of range"},
		{"leakmon -p -5", "--pid `-5`: give"},
		{"leakmon -p", "--pid needs a value: give process IDs"},
		{"leakmon -p 1 0", "INTERVAL `0` is out of range"},
		{"leakmon -p 1 0.0001", "INTERVAL `0.0001` is out of range"},
		{"leakmon -p 1 9223372037", "INTERVAL `9223372037` is out of range"},
		{"leakmon -p 1 ls", "`ls` is no INTERVAL: give seconds such as 5 or 0.5"},
		{"leakmon -p 1 5 0", "`0` is no COUNT of reports: give a whole number from 1"},
		{"leakmon -p 1 5 1.5", "`1.5` is no COUNT"},
		{"leakmon -p 1 5 6 7", "`7` is one word too many"},
		{"leakmon -p 1 -o 5x", "--older `5x`: give whole milliseconds such as 500"},
		{"leakmon -p 1 -o 18446744073710", "--older `18446744073710`: out of range"},
		{"leakmon -p 1 -z 1Q", "--min-size `1Q`: give bytes such as 4096, 64K, 10M or 2G"},
		{"leakmon -p 1 -z 2K -Z 1K", "--min-size 2048 is above --max-size 1024"},
		{"leakmon -p 1 -s 0", "--sample-rate `0`: out of range, give 1 to"},
		{"leakmon -p 1 -s 2 --sample-bytes 1K",
		 "--sample-rate and --sample-bytes contradict each other: choose one"},
		{"leakmon -p 1 --sample-bytes 0", "--sample-bytes `0`: out of range"},
		{"leakmon -p 1 --max-blocks 0", "--max-blocks `0`: out of range"},
		{"leakmon -p 1 --max-processes 0", "--max-processes `0`: out of range"},
		{"leakmon -p 1 --max-sites -1", "--max-sites `-1`: give a whole number"},
		{"leakmon -p 1 -T ten", "--top `ten`: give a whole number such as 10"},
		{"leakmon -p 1 --format xml",
		 "--format `xml`: choose text, json, folded, pprof, prom or html"},
		{"leakmon -p 1 --sort size",
		 "--sort `size`: choose bytes, count, growth, integral or age"},
		{"leakmon -p 1 --stack-walk dwarf", "--stack-walk `dwarf`: choose auto, cfi or fp"},
		{"leakmon -p 1 --probe-at end", "--probe-at `end`: choose best or entry"},
		{"leakmon -p 1 --attach x", "--attach `x`: choose auto, session, multi or perf"},
		{"leakmon -p 1 --output ''", "--output ``: give a file name"},
		{"leakmon -p 1 --oldr 5", "unknown option `--oldr`: did you mean `--older`?"},
		{"leakmon -p 1 --quux", "unknown option `--quux`: see `leakmon watch --help`"},
		{"leakmon -p 1 -x", "unknown option `-x`: see `leakmon watch --help`"},
		{"leakmon -p 1 --verbose=1", "`--verbose` takes no value"},
		{"leakmon -p 1 -c ls", "--pid and --command contradict each other"},
		{"leakmon -p 1 -- ls", "--pid and --command contradict each other"},
		{"leakmon -c ls -- ls", "a command is there twice"},
		{"leakmon -c ls -c ls", "--command is there twice"},
		{"leakmon -c \"ls 'x\"",
		 "--command `ls 'x`: give a command with all quotes closed"},
		{"leakmon -c ''", "--command ``: give a command"},
		{"leakmon -c \"''\"", "--command `''`: give a command"},
		{"leakmon --", "`--` must be followed by a command"},
		{"leakmon -- ''", "`--` must be followed by a command"},
		{"leakmon -p 1 -Ca", "--combined-only and --show-allocs contradict each other"},
		{"leakmon -p 1 -C -o 5", "--older needs ages, and --combined-only keeps none"},
		{"leakmon doctor 5", "`5`: `leakmon doctor` takes only options"},
		{"leakmon doctor -o 5", "--older is not for `leakmon doctor`"},
		{"leakmon doctor -- ls", "`--` must be followed by a command, as in `leakmon --"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(examples); i++) {
		struct capture capture;
		struct line line;
		char text[512];
		int result;

		line_split(&line, examples[i].text);
		memset(&line.options, 0, sizeof(line.options));
		capture_begin(&capture, stderr);
		result = options_parse(&line.options, line.argc, line.argv);
		capture_end(&capture, stderr, text, sizeof(text));
		if (result != EXIT_USAGE || line.options.subcommand ||
		    strncmp(text, "leakmon: ", 9) || !strstr(text, examples[i].message))
			fail_msg("%s: %d, %s", examples[i].text, result, text);
		line_free(&line);
	}
}

static void help_and_version_go_to_standard_output(void **state)
{
	static const struct {
		const char *text, *output;
	} examples[] = {
		{"leakmon --help", "Usage:\n  leakmon [watch] -p PID"},
		{"leakmon -h", "Usage:\n  leakmon [watch] -p PID"},
		{"leakmon doctor --help", "Usage:\n  leakmon doctor"},
		{"leakmon --version", "leakmon "},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(examples); i++) {
		struct capture capture;
		struct line line;
		char text[512];
		int result;

		line_split(&line, examples[i].text);
		capture_begin(&capture, stdout);
		result = options_parse(&line.options, line.argc, line.argv);
		capture_end(&capture, stdout, text, sizeof(text));
		assert_int_equal(result, EXIT_OK);
		assert_memory_equal(text, examples[i].output, strlen(examples[i].output));
		line_free(&line);
	}
}

static void help_names_every_option_within_100_columns(void **state)
{
	(void)state;
	for (size_t i = 0; i < subcommand_count; i++) {
		_cleanup_free_ char *text = NULL;
		char *rest, *row, name[64];
		size_t size;
		FILE *out = open_memstream(&text, &size);

		help_print(out, &subcommands[i]);
		fclose(out);
		for (size_t j = 0; j < option_row_count; j++) {
			const struct option_row *option = &option_rows[j];
			bool shown = option->subcommands & subcommands[i].bit &&
				     option->group != GROUP_HIDDEN;

			snprintf(name, sizeof(name), " --%s ", option->name);
			if (option->group == GROUP_HIDDEN || shown)
				assert_int_equal(!!strstr(text, name), shown);
		}
		for (rest = text; (row = strsep(&rest, "\n"));)
			assert_in_range(strlen(row), 0, 100);
	}
}

/* Among the rows that a subcommand takes. */
static void expect_unique(unsigned bits)
{
	for (size_t i = 0; i < option_row_count; i++) {
		char letter = option_letter(&option_rows[i], bits);

		for (size_t j = 0; j < i; j++) {
			if (!(option_rows[i].subcommands & option_rows[j].subcommands & bits) &&
			    !(option_rows[i].subcommands & bits &&
			      option_rows[j].subcommands & bits))
				continue;
			assert_string_not_equal(option_rows[i].name, option_rows[j].name);
			if (letter)
				assert_int_not_equal(letter, option_letter(&option_rows[j], bits));
		}
	}
}

static void names_and_letters_are_unique_and_every_value_has_advice(void **state)
{
	(void)state;
	for (size_t i = 0; i < option_row_count; i++) {
		assert_non_null(option_rows[i].parse);
		assert_non_null(option_rows[i].help);
		if (option_rows[i].argument)
			assert_non_null(option_rows[i].expects);
	}
	for (size_t i = 0; i < subcommand_count; i++)
		expect_unique(subcommands[i].bit);
}

static void a_recording_has_its_own_output_and_watch_its_own_older(void **state)
{
	struct line line;

	(void)state;
	line_parse(&line, "leakmon record -p 1 -o x.lkm --keep 7d --label now 60");
	assert_string_equal(line.options.recording, "x.lkm");
	assert_null(line.options.output);
	assert_int_equal(line.options.keep_ns, 7 * 86400 * 1000000000ull);
	assert_string_equal(line.options.label, "now");
	assert_int_equal(line.options.interval_ns, 60000000000ull);
	line_free(&line);
	line_parse(&line, "leakmon record -p 1 --output y --keep 64M --older 7");
	assert_string_equal(line.options.recording, "y");
	assert_int_equal(line.options.keep_bytes, 64 << 20);
	assert_int_equal(line.options.older_ns, 7000000);
	line_free(&line);
	line_parse(&line, "leakmon -p 1 -o 7 --output z");
	assert_null(line.options.recording);
	assert_string_equal(line.options.output, "z");
	assert_int_equal(line.options.older_ns, 7000000);
	line_free(&line);
}

static void recordings_are_named_by_words(void **state)
{
	struct line line;

	(void)state;
	line_parse(&line, "leakmon diff a@1 b@last --by function --fail-over 1K");
	assert_int_equal(line.options.file_count, 2);
	assert_string_equal(line.options.files[0], "a@1");
	assert_string_equal(line.options.files[1], "b@last");
	assert_int_equal(line.options.by, DIFF_BY_FUNCTION);
	assert_int_equal(line.options.fail_over, 1024);
	line_free(&line);
	line_parse(&line, "leakmon report a --at -10min --sort integral");
	assert_string_equal(line.options.files[0], "a");
	assert_string_equal(line.options.at, "-10min");
	assert_int_equal(line.options.report.sort, SORT_INTEGRAL);
	line_free(&line);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults_are_those_of_the_manual),
		cmocka_unit_test(every_letter_sets_its_field),
		cmocka_unit_test(a_recording_has_its_own_output_and_watch_its_own_older),
		cmocka_unit_test(recordings_are_named_by_words),
		cmocka_unit_test(without_a_target_it_is_the_triage),
		cmocka_unit_test(every_long_name_sets_its_field),
		cmocka_unit_test(interval_and_count_stand_anywhere_among_the_options),
		cmocka_unit_test(pids_are_gathered_and_folded),
		cmocka_unit_test(a_command_behind_dashes_is_taken_word_for_word),
		cmocka_unit_test(the_cut_follows_the_format_unless_it_is_given),
		cmocka_unit_test(doctor_needs_no_target),
		cmocka_unit_test(bad_usage_is_refused_with_what_why_and_what_to_do),
		cmocka_unit_test(help_and_version_go_to_standard_output),
		cmocka_unit_test(help_names_every_option_within_100_columns),
		cmocka_unit_test(names_and_letters_are_unique_and_every_value_has_advice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
