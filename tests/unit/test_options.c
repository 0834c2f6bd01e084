// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/targets.h"
#include "unit/options_fixture.h"

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
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
