// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "report/analyze/report_build.h"
#include "base/cleanup.h"
#include "app/runs/record_run.h"
#include "app/runs/retain_run.h"
#include "app/runs/stored_diff.h"
#include "app/runs/stored_report.h"
#include "app/runs/threads_run.h"
#include "app/triage/escalate.h"
#include "app/top/top_track.h"
#include "unit/options_fixture.h"

static void defaults_are_those_of_the_manual(void **state)
{
	struct line line;
	const struct session_options *options;

	(void)state;
	options = line_watch(&line, "leakmon -p 1");
	assert_int_equal(options->targets.chosen.pids.count, 1);
	assert_int_equal(options->targets.chosen.pids.items[0], 1);
	assert_null(options->targets.command);
	assert_int_equal(options->schedule.interval_ns, 5000000000);
	assert_int_equal(options->schedule.count, 0);
	assert_int_equal(options->tracking.older_ns, 500000000);
	assert_int_equal(options->tracking.min_size, 0);
	assert_true(options->tracking.max_size == UINT64_MAX);
	assert_int_equal(options->tracking.sample_rate, 1);
	assert_int_equal(options->tracking.sample_bytes, 0);
	assert_int_equal(options->tracking.max_blocks, 1000000);
	assert_int_equal(options->tracking.max_sites, 16384);
	assert_false(options->tracking.combined_only);
	assert_null(options->probes.object);
	assert_string_equal(options->probes.symbol_prefix, "");
	assert_int_equal(options->probes.probe_at, PROBE_AT_BEST);
	assert_int_equal(options->probes.attach_method, ATTACH_AUTO);
	assert_false(options->tracking.empty_programs);
	assert_string_equal(options->output.format, "text");
	assert_null(options->output.path);
	assert_int_equal(options->output.report.top, 10);
	assert_int_equal(options->output.report.sort, SORT_BYTES);
	assert_false(options->output.report.show_allocs);
	assert_false(options->output.top_given);
	assert_true(options->output.fail_over == UINT64_MAX);
	assert_false(options->tracking.trace || line.parsed.verbose || options->output.no_color);
	line_free(&line);
}

/* The letters and their meaning are memleak's. */
static void every_letter_sets_its_field(void **state)
{
	struct line line;
	const struct session_options *options;

	(void)state;
	options = line_watch(
		&line,
		"leakmon watch -p 7,8 -o 250 -a -s 3 -T 4 -z 16 -Z 1K -O /lib/x.so -S je_ -tv");
	assert_int_equal(options->targets.chosen.pids.count, 2);
	assert_int_equal(options->targets.chosen.pids.items[1], 8);
	assert_int_equal(options->tracking.older_ns, 250000000);
	assert_true(options->output.report.show_allocs);
	assert_int_equal(options->tracking.sample_rate, 3);
	assert_int_equal(options->output.report.top, 4);
	assert_true(options->output.top_given);
	assert_int_equal(options->tracking.min_size, 16);
	assert_int_equal(options->tracking.max_size, 1024);
	assert_string_equal(options->probes.object, "/lib/x.so");
	assert_string_equal(options->probes.symbol_prefix, "je_");
	assert_true(options->tracking.trace && line.parsed.verbose);
	line_free(&line);
	options = line_watch(&line, "leakmon -C -c 'a b'");
	assert_true(options->tracking.combined_only);
	assert_string_equal(options->targets.command[1], "b");
	line_free(&line);
}

static void without_a_target_it_is_the_triage(void **state)
{
	struct line line;
	const struct triage_options *options;

	(void)state;
	line_parse(&line, "leakmon 2 10");
	options = line_options(&line, &command_triage);
	assert_float_equal(options->budget, 0.01, 1e-12);
	assert_int_equal(options->session.schedule.interval_ns, 2000000000);
	assert_int_equal(options->session.schedule.count, 10);
	assert_int_equal(options->escalate, 0);
	assert_int_equal(options->window_ns, 30000000000);
	line_free(&line);
	line_parse(&line, "leakmon --budget 0.25% --escalate --exact --window 2m -o 5 --obj x 5");
	options = line_options(&line, &command_triage);
	assert_float_equal(options->budget, 0.0025, 1e-12);
	assert_int_equal(options->escalate, 3);
	assert_true(options->exact);
	assert_int_equal(options->window_ns, 120000000000);
	assert_int_equal(options->session.tracking.older_ns, 5000000);
	assert_string_equal(options->session.probes.object, "x");
	assert_int_equal(options->session.schedule.interval_ns, 5000000000);
	line_free(&line);
	line_parse(&line, "leakmon --budget 100 --escalate=7 --obj y");
	options = line_options(&line, &command_triage);
	assert_float_equal(options->budget, 1, 1e-12);
	assert_int_equal(options->escalate, 7);
	assert_false(options->exact);
	assert_string_equal(options->session.probes.object, "y");
	line_free(&line);
	line_parse(&line, "leakmon -p 1");
	assert_ptr_equal(line.parsed.command, &command_watch);
	line_free(&line);
}

/* A server, or a destination of pushes, does not wait for the end. */
static void a_check_reports_at_the_end_unless_an_interval_or_a_server_wants_more(void **state)
{
	static const struct {
		const char *words;
		uint64_t interval_ns;
	} cases[] = {
		{"leakmon -- ./test", 5000000000},
		{"leakmon --fail-over 0 -- ./test", 0},
		{"leakmon --fail-over 1M -p 9", 0},
		{"leakmon --junit leaks.xml -- ./test", 0},
		{"leakmon --fail-over 0 --suppress known.txt --junit leaks.xml -- ./test", 0},
		{"leakmon --suppress known.txt -- ./test", 5000000000},
		{"leakmon --fail-over 0 7 -- ./test", 7000000000},
		{"leakmon --fail-over 0 --listen 9464 -- ./test", 5000000000},
		{"leakmon --fail-over 0 --push http://x -- ./test", 5000000000},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct line line;

		assert_int_equal(line_watch(&line, cases[i].words)->schedule.interval_ns,
				 cases[i].interval_ns);
		line_free(&line);
	}
}

static void every_long_name_sets_its_field(void **state)
{
	struct line line;
	const struct session_options *options;

	(void)state;
	options = line_watch(
		&line, "leakmon --pid=9 --older=0 --show-allocs --sample-bytes 64K --top 0 "
		       "--min-size 2 --max-size 3 --obj x --symbols-prefix= --trace --verbose "
		       "--format json --output y --max-blocks 5 --max-sites 6 --max-processes 7 "
		       "--sort count "
		       "--fail-over 1M --no-color --probe-at=entry --attach=perf "
		       "--stack-walk=fp --empty-programs");
	assert_int_equal(options->targets.chosen.pids.items[0], 9);
	assert_int_equal(options->tracking.older_ns, 0);
	assert_true(options->output.report.show_allocs);
	assert_int_equal(options->tracking.sample_bytes, 65536);
	assert_int_equal(options->output.report.top, 0);
	assert_int_equal(options->tracking.min_size, 2);
	assert_int_equal(options->tracking.max_size, 3);
	assert_string_equal(options->probes.object, "x");
	assert_string_equal(options->probes.symbol_prefix, "");
	assert_true(options->tracking.trace && line.parsed.verbose && options->output.no_color);
	assert_string_equal(options->output.format, "json");
	assert_string_equal(options->output.path, "y");
	assert_int_equal(options->tracking.max_blocks, 5);
	assert_int_equal(options->tracking.max_sites, 6);
	assert_int_equal(options->tracking.max_processes, 7);
	assert_int_equal(options->output.report.sort, SORT_COUNT);
	assert_int_equal(options->output.fail_over, 1048576);
	assert_int_equal(options->probes.probe_at, PROBE_AT_ENTRY);
	assert_int_equal(options->probes.stack_walk, LM_STACK_WALK_FP);
	assert_int_equal(options->probes.attach_method, ATTACH_PERF);
	assert_true(options->tracking.empty_programs);
	line_free(&line);
	options = line_watch(
		&line, "leakmon --command 'a b' --combined-only --sample-rate 2 --attach multi");
	assert_string_equal(options->targets.command[0], "a");
	assert_true(options->tracking.combined_only);
	assert_int_equal(options->tracking.sample_rate, 2);
	assert_int_equal(options->probes.attach_method, ATTACH_MULTI);
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
		const struct session_options *options = line_watch(&line, examples[i].text);

		assert_true(options->schedule.interval_ns == examples[i].interval_ns);
		assert_true(options->schedule.count == examples[i].count);
		line_free(&line);
	}
}

static void pids_are_gathered_and_folded(void **state)
{
	const struct session_options *options;
	struct line line;

	(void)state;
	options = line_watch(&line, "leakmon -p 3,1,3 -p 1,2 -p 4194304");
	assert_int_equal(options->targets.chosen.pids.count, 4);
	assert_int_equal(options->targets.chosen.pids.items[0], 3);
	assert_int_equal(options->targets.chosen.pids.items[1], 1);
	assert_int_equal(options->targets.chosen.pids.items[2], 2);
	assert_int_equal(options->targets.chosen.pids.items[3], 4194304);
	line_free(&line);
}

static void a_command_behind_dashes_is_taken_word_for_word(void **state)
{
	const struct session_options *options;
	struct line line;

	(void)state;
	options = line_watch(&line, "leakmon -v -- prog -p --help '' -- 'a b'");
	assert_true(line.parsed.verbose);
	assert_int_equal(options->targets.chosen.pids.count, 0);
	assert_string_equal(options->targets.command[0], "prog");
	assert_string_equal(options->targets.command[1], "-p");
	assert_string_equal(options->targets.command[2], "--help");
	assert_string_equal(options->targets.command[3], "");
	assert_string_equal(options->targets.command[4], "--");
	assert_string_equal(options->targets.command[5], "a b");
	assert_null(options->targets.command[6]);
	line_free(&line);
	options = line_watch(&line, "leakmon -p 1 -O --");
	assert_string_equal(options->probes.object, "--");
	assert_null(options->targets.command);
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
		const struct session_options *options = line_watch(&line, examples[i].text);

		assert_int_equal(options->output.report.top, examples[i].top);
		line_free(&line);
	}
}

static void doctor_needs_no_target(void **state)
{
	const struct doctor_options *options;
	struct line line;

	(void)state;
	line_parse(&line, "leakmon doctor");
	line_options(&line, &command_doctor);
	line_free(&line);
	line_parse(&line, "leakmon doctor -vp 12 -S je_");
	options = line_options(&line, &command_doctor);
	assert_int_equal(options->targets.pids.items[0], 12);
	assert_string_equal(options->probes.symbol_prefix, "je_");
	assert_true(line.parsed.verbose);
	line_free(&line);
}

static void a_recording_has_its_own_output_and_watch_its_own_older(void **state)
{
	const struct session_options *session;
	const struct record_options *options;
	struct line line;

	(void)state;
	line_parse(&line, "leakmon record -p 1 -o x.lkm --keep 7d --label now 60");
	options = line_options(&line, &command_record);
	assert_string_equal(options->path, "x.lkm");
	assert_null(options->session.output.path);
	assert_int_equal(options->keep_ns, 7 * 86400 * 1000000000ull);
	assert_string_equal(options->label, "now");
	assert_int_equal(options->session.schedule.interval_ns, 60000000000ull);
	line_free(&line);
	line_parse(&line, "leakmon record -p 1 --output y --keep 64M --older 7");
	options = line_options(&line, &command_record);
	assert_string_equal(options->path, "y");
	assert_int_equal(options->keep_bytes, 64 << 20);
	assert_int_equal(options->session.tracking.older_ns, 7000000);
	line_free(&line);
	session = line_watch(&line, "leakmon -p 1 -o 7 --output z");
	assert_string_equal(session->output.path, "z");
	assert_int_equal(session->tracking.older_ns, 7000000);
	line_free(&line);
}

static void recordings_are_named_by_words(void **state)
{
	const struct diff_options *diff;
	const struct show_options *show;
	struct line line;

	(void)state;
	line_parse(&line, "leakmon diff a@1 b@last --by function --fail-over 1K");
	diff = line_options(&line, &command_diff);
	assert_string_equal(diff->before, "a@1");
	assert_string_equal(diff->after, "b@last");
	assert_int_equal(diff->by, DIFF_BY_FUNCTION);
	assert_int_equal(diff->output.fail_over, 1024);
	line_free(&line);
	line_parse(&line, "leakmon diff a");
	diff = line_options(&line, &command_diff);
	assert_string_equal(diff->before, "a");
	assert_null(diff->after);
	line_free(&line);
	line_parse(&line, "leakmon report a --at -10min --sort integral");
	show = line_options(&line, &command_report);
	assert_string_equal(show->path, "a");
	assert_string_equal(show->at, "-10min");
	assert_int_equal(show->output.report.sort, SORT_INTEGRAL);
	line_free(&line);
}

/* The options of a line determine its command, in any order. */
static void a_line_without_a_command_means_what_its_options_imply(void **state)
{
	static const struct {
		const char *text;
		const struct command *command;
	} examples[] = {
		{"leakmon", &command_triage},
		{"leakmon 5 2", &command_triage},
		{"leakmon --format json", &command_triage},
		{"leakmon triage", &command_triage},
		{"leakmon diagnose", &command_diagnose},
		{"leakmon diagnose -p 1 --for 5m", &command_diagnose},
		{"leakmon watch 5", &command_triage},
		{"leakmon -p 1", &command_watch},
		{"leakmon 5 --comm x", &command_watch},
		{"leakmon watch --cgroup x", &command_watch},
		{"leakmon --container x", &command_watch},
		{"leakmon --pod x", &command_watch},
		{"leakmon -c x", &command_watch},
		{"leakmon -v -- x", &command_watch},
		{"leakmon -O -- -p 1", &command_watch},
		{"leakmon watch -- x", &command_watch},
		{"leakmon --kernel", &command_kernel},
		{"leakmon --kernel -o 5 10", &command_kernel},
		{"leakmon watch --kernel", &command_kernel},
		{"leakmon kernel --kernel", &command_kernel},
		{"leakmon kernel", &command_kernel},
		{"leakmon record -o x -p 1", &command_record},
		{"leakmon retain -p 1", &command_retain},
		{"leakmon threads", &command_threads},
		{"leakmon top", &command_top},
		{"leakmon help", &command_help},
		{"leakmon help top", &command_help},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(examples); i++) {
		struct line line;

		line_parse(&line, examples[i].text);
		if (line.parsed.command != examples[i].command)
			fail_msg("%s: %s", examples[i].text, line.parsed.command->name);
		line_free(&line);
	}
}

static void threads_without_a_target_are_those_of_all_processes(void **state)
{
	const struct threads_options *options;
	struct line line;

	(void)state;
	line_parse(&line, "leakmon threads");
	options = line_options(&line, &command_threads);
	assert_true(options->session.targets.chosen.all && options->session.tracking.no_heap);
	line_free(&line);
	line_parse(&line, "leakmon threads -p 1 --heap --max-pause 7 --holders");
	options = line_options(&line, &command_threads);
	assert_false(options->session.targets.chosen.all || options->session.tracking.no_heap);
	assert_int_equal(options->pause.max_pause_ns, 7000000);
	assert_true(options->holders);
	line_free(&line);
}

static void retain_runs_once_unless_an_interval_is_given(void **state)
{
	const struct retain_options *options;
	struct line line;

	(void)state;
	line_parse(&line, "leakmon retain -p 1 --addr 10 --class A --site b -o x --label l");
	options = line_options(&line, &command_retain);
	assert_false(options->session.schedule.repeat || options->census || options->pause.no_stop);
	assert_int_equal(options->session.schedule.interval_ns, 5000000000);
	assert_int_equal(options->address, 16);
	assert_string_equal(options->class, "A");
	assert_string_equal(options->site, "b");
	assert_string_equal(options->recording, "x");
	assert_string_equal(options->label, "l");
	line_free(&line);
	line_parse(&line, "leakmon retain --census --no-stop -p 1 60 2");
	options = line_options(&line, &command_retain);
	assert_true(options->session.schedule.repeat && options->census && options->pause.no_stop);
	assert_int_equal(options->session.schedule.interval_ns, 60000000000);
	assert_int_equal(options->session.schedule.count, 2);
	line_free(&line);
}

static void top_has_a_shorter_interval_and_a_recording(void **state)
{
	const struct top_options *options;
	struct line line;

	(void)state;
	line_parse(&line, "leakmon top --output x --label l --budget 2% --sort age");
	options = line_options(&line, &command_top);
	assert_int_equal(options->session.schedule.interval_ns, 2000000000);
	assert_string_equal(options->recording, "x");
	assert_string_equal(options->label, "l");
	assert_float_equal(options->budget, 0.02, 1e-12);
	assert_int_equal(options->session.output.report.sort, SORT_AGE);
	assert_null(options->session.output.path);
	line_free(&line);
}
int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults_are_those_of_the_manual),
		cmocka_unit_test(every_letter_sets_its_field),
		cmocka_unit_test(a_recording_has_its_own_output_and_watch_its_own_older),
		cmocka_unit_test(
			a_check_reports_at_the_end_unless_an_interval_or_a_server_wants_more),
		cmocka_unit_test(recordings_are_named_by_words),
		cmocka_unit_test(without_a_target_it_is_the_triage),
		cmocka_unit_test(a_line_without_a_command_means_what_its_options_imply),
		cmocka_unit_test(threads_without_a_target_are_those_of_all_processes),
		cmocka_unit_test(retain_runs_once_unless_an_interval_is_given),
		cmocka_unit_test(top_has_a_shorter_interval_and_a_recording),
		cmocka_unit_test(every_long_name_sets_its_field),
		cmocka_unit_test(interval_and_count_stand_anywhere_among_the_options),
		cmocka_unit_test(pids_are_gathered_and_folded),
		cmocka_unit_test(a_command_behind_dashes_is_taken_word_for_word),
		cmocka_unit_test(the_cut_follows_the_format_unless_it_is_given),
		cmocka_unit_test(doctor_needs_no_target),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
