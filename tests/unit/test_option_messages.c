// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/help.h"
#include "unit/options_fixture.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bad_usage_is_refused_with_what_why_and_what_to_do),
		cmocka_unit_test(help_and_version_go_to_standard_output),
		cmocka_unit_test(help_names_every_option_within_100_columns),
		cmocka_unit_test(names_and_letters_are_unique_and_every_value_has_advice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
