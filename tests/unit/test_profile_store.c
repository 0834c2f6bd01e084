// SPDX-License-Identifier: GPL-2.0-or-later
/* Profiles in recordings: read as written, and nothing in a file is trusted. */
#include "unit/store_fixture.h"

#include <math.h>

#include "output/json/json.h"
#include "report/profile_diff.h"
#include "report/store/profile_runs.h"
#include "report/store/recording_state.h"
#include "unit/profile_report_fixture.h"

static void make(struct profile_report *report, int64_t minute, double growth)
{
	memset(report, 0, sizeof(*report));
	profile_report_fill(report);
	report->time = (struct timespec){.tv_sec = 1795179600 + 60 * minute};
	report->sequence = (uint64_t)minute;
	report->processes.items[1].sites.items[0].judgement.growth_bytes_per_s =
		(struct interval){growth, growth * 0.9, growth * 1.1};
	profile_report_rank(report, 0);
}

static void record(struct run *run, int64_t minutes, const struct recorder_options *options)
{
	struct profile_recorder *recorder = NULL;

	assert_int_equal(profile_recorder_open(&recorder, run->path, options), 0);
	for (int64_t minute = 1; minute <= minutes; minute++) {
		struct profile_report report;

		make(&report, minute, 600 * (double)minute);
		assert_int_equal(profile_recorder_append(recorder, &report), 0);
		profile_report_free(&report);
	}
	assert_int_equal(profile_recorder_count(recorder), minutes);
	profile_recorder_close(recorder);
}

/* The caller frees it. */
static char *written(const struct profile_report *report)
{
	size_t size;
	char *text = NULL;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	assert_int_equal(json_profile_write(out, report), 0);
	fclose(out);
	return text;
}

static void what_is_read_is_what_was_recorded(void **state)
{
	struct run *run = *state;
	struct recording *recording = NULL;
	struct recorder_options options = {0};
	size_t count;

	record(run, 3, &options);
	assert_int_equal(recording_open(&recording, run->path), 0);
	recording_profiles(recording, &count);
	assert_int_equal(count, 3);
	for (size_t i = 0; i < count; i++) {
		struct profile_report wanted, got = {0};
		_cleanup_free_ char *before = NULL, *after = NULL;

		make(&wanted, (int64_t)i + 1, 600 * (double)(i + 1));
		assert_int_equal(recording_read_profile(recording, i, &got), 0);
		before = written(&wanted);
		after = written(&got);
		assert_string_equal(before, after);
		profile_report_free(&wanted);
		profile_report_free(&got);
	}
	recording_close(recording);
}

static void profiles_are_found_by_number_and_time(void **state)
{
	struct run *run = *state;
	struct recording *recording = NULL;
	struct recorder_options options = {0};
	size_t position = 77;

	record(run, 5, &options);
	assert_int_equal(recording_open(&recording, run->path), 0);
	assert_int_equal(recording_find_profile(recording, NULL, &position), 0);
	assert_int_equal(position, 4);
	assert_int_equal(recording_find_profile(recording, "first", &position), 0);
	assert_int_equal(position, 0);
	assert_int_equal(recording_find_profile(recording, "2", &position), 0);
	assert_int_equal(position, 1);
	assert_int_equal(recording_find_profile(recording, "-2min", &position), 0);
	assert_int_equal(position, 2);
	assert_true(recording_find_profile(recording, "9", &position) < 0);
	recording_close(recording);
}

/* The first one stays: later ones are compared with it. */
static void old_profiles_give_way(void **state)
{
	struct run *run = *state;
	struct recording *recording = NULL;
	struct recorder_options options = {.keep_ns = 180 * SECOND};
	const struct recording_profile *profiles;
	size_t count;

	record(run, 20, &options);
	assert_int_equal(recording_open(&recording, run->path), 0);
	profiles = recording_profiles(recording, &count);
	assert_int_equal(count, 5);
	assert_int_equal(profiles[0].number, 1);
	for (size_t i = 1; i < count; i++)
		assert_int_equal(profiles[i].number, 16 + i);
	recording_close(recording);
}

static void a_recording_of_profiles_stays_below_its_limit(void **state)
{
	struct run *run = *state;
	struct recorder_options options = {.keep_bytes = RECORDER_KEEP_BYTES_MIN};
	struct stat status;

	record(run, 3000, &options);
	assert_int_equal(stat(run->path, &status), 0);
	assert_true((uint64_t)status.st_size < RECORDER_KEEP_BYTES_MIN + 65536);
}

static void what_grows_faster_now_comes_first_and_is_sure_or_not(void **state)
{
	struct profile_report before, after;
	struct profile_diff diff = {0};

	(void)state;
	make(&before, 1, 600);
	make(&after, 2, 1200);
	/* A call stack that is new, in a process of another PID. */
	after.processes.items[0].pid = 99;
	add_site(&after.processes.items[0], "new", 50, 40, PROFILE_TOO_EARLY);
	assert_int_equal(profile_diff_build(&diff, &before, &after), 0);
	assert_int_equal(diff.changes.count, 5);
	assert_true(diff.changes.items[0].bytes_per_s == 600);
	assert_true(diff.changes.items[0].sure);
	assert_string_equal(diff.changes.items[0].after->frames.list.items[0].function, "surest");
	assert_null(diff.changes.items[1].before);
	assert_true(diff.changes.items[1].bytes_per_s == 50 && diff.changes.items[1].sure);
	for (size_t i = 2; i < 5; i++)
		assert_true(diff.changes.items[i].bytes_per_s == 0 && !diff.changes.items[i].sure);
	profile_diff_free(&diff);
	profile_report_free(&before);
	profile_report_free(&after);
}

/* Possible damage to a good file. */
static const char *const forgeries[] = {
	"UPDATE profiles SET windows=-1",
	"UPDATE profiles SET spent='much'",
	"UPDATE profiles SET time_ns='now'",
	"UPDATE profile_processes SET pid=-1",
	"UPDATE profile_processes SET pid=99999999999",
	"UPDATE profile_processes SET process=7 WHERE process=1",
	"UPDATE profile_processes SET tracked_s=x'00'",
	"UPDATE profile_sites SET site=9 WHERE site=0",
	"UPDATE profile_sites SET process=5 WHERE process=1",
	"UPDATE profile_sites SET verdict='fine'",
	"UPDATE profile_sites SET growth_bytes='much'",
	"UPDATE profile_survival SET position=3 WHERE site=1",
	"UPDATE profile_survival SET site=50 WHERE site=1",
	"UPDATE profile_survival SET process=50 WHERE process=1",
	"UPDATE profile_survival SET age_s='old'",
	"DELETE FROM profile_processes WHERE process=0",
	"DROP TABLE profile_survival",
};

static void nothing_in_a_file_is_believed(void **state)
{
	struct run *run = *state;
	struct recorder_options options = {0};

	for (size_t i = 0; i < ARRAY_SIZE(forgeries); i++) {
		struct recording *recording = NULL;
		struct profile_report report = {0};
		int error;

		unlink(run->path);
		record(run, 1, &options);
		store_sql(run->path, forgeries[i]);
		error = recording_open(&recording, run->path);
		if (!error)
			error = recording_read_profile(recording, 0, &report);
		if (!error)
			fail_msg("%s: was read", forgeries[i]);
		profile_report_free(&report);
		recording_close(recording);
	}
}

/* Sites of one stack each have its frames: in memory they take more than in the file. */
static void frames_count_for_what_they_take_in_memory(void **state)
{
	struct run *run = *state;
	struct recorder_options options = {0};
	struct recording *recording = NULL;
	struct profile_report report = {0};
	int64_t frames = 0;

	record(run, 1, &options);
	store_sql(
		run->path,
		"INSERT INTO retain_stacks SELECT a.stack,1000+50*b.position+c.position,a.module,"
		"a.build_id,a.offset,a.address,a.function,a.function_offset,a.file,a.line,"
		"a.inlined,a.why FROM retain_stacks AS a, (SELECT row_number() OVER () AS position"
		" FROM sqlite_schema LIMIT 20) AS b, (SELECT row_number() OVER () AS position"
		" FROM sqlite_schema LIMIT 40) AS c WHERE a.position=0");
	assert_int_equal(recording_open(&recording, run->path), 0);
	assert_int_equal(recording_read_profile(recording, 0, &report), 0);
	for (size_t i = 0; i < report.processes.count; i++) {
		for (size_t j = 0; j < report.processes.items[i].sites.count; j++)
			frames +=
				(int64_t)report.processes.items[i].sites.items[j].frames.list.count;
	}
	assert_true(frames > 800);
	assert_true(recording->work_most - recording->work_left > 256 * frames);
	profile_report_free(&report);
	recording->work_most = 256 * frames;
	assert_int_equal(recording_read_profile(recording, 0, &report), -EUCLEAN);
	recording_close(recording);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		store_test(what_is_read_is_what_was_recorded),
		store_test(profiles_are_found_by_number_and_time),
		store_test(old_profiles_give_way),
		store_test(a_recording_of_profiles_stays_below_its_limit),
		store_test(nothing_in_a_file_is_believed),
		store_test(frames_count_for_what_they_take_in_memory),
		cmocka_unit_test(what_grows_faster_now_comes_first_and_is_sure_or_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
