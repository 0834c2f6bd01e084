// SPDX-License-Identifier: GPL-2.0-or-later
/* Goroutines and heap profiles of Go programs in recordings: as they were, compared, forgotten. */
#include "output/json/json.h"
#include "output/text/text.h"
#include "report/store/goroutine_runs.h"
#include "report/store/retain_runs.h"
#include "report/thread_report.h"
#include "unit/goroutine_fixture.h"
#include "unit/store_fixture.h"

/* Records readings with a rising number of workers. */
static void record(struct run *run, unsigned readings, uint64_t small,
		   const struct recorder_options *keep)
{
	struct goroutine_recorder *recorder;

	assert_int_equal(goroutine_recorder_open(&recorder, run->path, keep), 0);
	for (unsigned i = 0; i < readings; i++) {
		struct task_report report;

		goroutines_make(&report, 10 + i, 7, small);
		goroutines_append(recorder, &report, (time_t)i * 5);
	}
	assert_int_equal(goroutine_recorder_count(recorder), readings);
	assert_int_equal(goroutine_recorder_missed(recorder), 0);
	goroutine_recorder_close(recorder);
}

static char *written(const struct task_report *goroutines, const char *since,
		     int (*write)(FILE *, const void *))
{
	struct task_report borrowed = *goroutines;
	struct thread_report report = {.sequence = 1, .since = since, .form = {.verbose = true}};
	struct thread_census *census = vec_push(&report.processes);
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	*census = (struct thread_census){
		.pid = GOROUTINES_PID, .no_library = true, .goroutines = &borrowed};
	assert_int_equal(write(out, &report), 0);
	fclose(out);
	vec_free(&report.processes);
	return text;
}

static size_t count_readings(const struct run *run)
{
	_cleanup_(recording_cleanup) struct recording *recording = NULL;
	size_t count;

	assert_int_equal(recording_open(&recording, run->path), 0);
	recording_goroutines(recording, &count);
	return count;
}

static void a_recording_has_goroutines_as_they_were(void **state)
{
	struct run *run = *state;
	_cleanup_(recording_cleanup) struct recording *recording = NULL;
	_cleanup_(task_report_free) struct task_report was = {0}, is = {0};
	const struct recording_goroutines *all;
	int (*const writers[])(FILE *, const void *) = {text_threads_write, json_threads_write};
	size_t count, position;

	record(run, 3, 2, &(struct recorder_options){0});
	assert_int_equal(recording_open(&recording, run->path), 0);
	all = recording_goroutines(recording, &count);
	assert_int_equal(count, 3);
	assert_int_equal(all[1].pid, GOROUTINES_PID);
	assert_int_equal(all[1].start_ticks, GOROUTINES_START);
	assert_int_equal(all[1].count, 11 + 7 + 2);
	assert_string_equal(all[1].comm, "server");
	assert_int_equal(recording_find_goroutines(recording, "2", &position), 0);
	assert_int_equal(position, 1);
	goroutines_make(&was, 11, 7, 2);
	assert_int_equal(recording_read_goroutines(recording, 1, &is), 0);
	assert_int_equal(is.time_ns, was.time_ns);
	/* Addresses and build ids are kept as well. */
	for (size_t i = 0; i < ARRAY_SIZE(writers); i++) {
		_cleanup_free_ char *before = written(&was, NULL, writers[i]);
		_cleanup_free_ char *after = written(&is, NULL, writers[i]);

		assert_string_equal(before, after);
	}
}

static void groups_have_their_counts_over_time(void **state)
{
	struct run *run = *state;
	_cleanup_(recording_cleanup) struct recording *recording = NULL;
	_cleanup_(task_series_free) struct task_series series = {0};
	const uint64_t *counts;

	record(run, 4, 0, &(struct recorder_options){0});
	store_sql(run->path, "DELETE FROM goroutine_groups WHERE reading=2 AND position=1");
	assert_int_equal(recording_open(&recording, run->path), 0);
	assert_int_equal(recording_goroutine_series(recording, 2, &series), 0);
	assert_int_equal(series.times.count, 3);
	counts = task_series_find(&series, 100);
	for (uint64_t i = 0; i < 3; i++)
		assert_int_equal(counts[i], 10 + i);
	counts = task_series_find(&series, 101);
	assert_int_equal(counts[0], 7);
	assert_int_equal(counts[1], 0);
	assert_null(task_series_find(&series, 5));
}

/* Small groups are dropped and counted, except growing ones. */
static void the_largest_groups_are_kept(void **state)
{
	struct run *run = *state;
	_cleanup_(recording_cleanup) struct recording *recording = NULL;
	_cleanup_(task_report_free) struct task_report made = {0}, is = {0};
	struct goroutine_recorder *recorder;
	_cleanup_free_ char *text = NULL;

	goroutines_make(&made, 10, 7, 300);
	made.groups.items[250].growth.verdict = TREND_GROWING;
	assert_int_equal(
		goroutine_recorder_open(&recorder, run->path, &(struct recorder_options){0}), 0);
	goroutines_append(recorder, &made, 0);
	made = (struct task_report){0};
	goroutine_recorder_close(recorder);
	assert_int_equal(recording_open(&recording, run->path), 0);
	assert_int_equal(recording_read_goroutines(recording, 0, &is), 0);
	assert_int_equal(is.groups.count, GOROUTINE_GROUPS_KEPT / 2 + 1);
	assert_int_equal(is.groups.items[is.groups.count - 1].id, 100 + 250);
	assert_int_equal(is.left_groups, 302 - is.groups.count);
	assert_int_equal(is.left_count, is.left_groups);
	assert_int_equal(is.count, 317);
	text = written(&is, NULL, text_threads_write);
	assert_non_null(strstr(text, "317 goroutines in 302 groups"));
	assert_non_null(strstr(text, "not in the recording: 201 goroutines in 201 small groups"));
}

static void thinning_keeps_the_first_and_the_last_reading(void **state)
{
	struct run *run = *state;
	_cleanup_(recording_cleanup) struct recording *recording = NULL;
	const struct recording_goroutines *all;
	size_t count;

	/* 102 of 302 groups of a reading take about 14 KB of 256. */
	record(run, 60, 300, &(struct recorder_options){.keep_bytes = 1 << 20});
	assert_int_equal(recording_open(&recording, run->path), 0);
	all = recording_goroutines(recording, &count);
	assert_in_range(count, 8, 20);
	assert_int_equal(all[0].number, 1);
	assert_int_equal(all[count - 1].number, 60);
}

static void readings_that_are_too_old_are_forgotten(void **state)
{
	struct run *run = *state;

	record(run, 20, 0, &(struct recorder_options){.keep_ns = 20 * SECOND});
	/* The first, and those of the last twenty seconds. */
	assert_int_equal(count_readings(run), 1 + 5);
}

static void what_is_no_reading_is_refused(void **state)
{
	static const struct {
		const char *sql;
		bool opens;
	} forgeries[] = {
		{"UPDATE goroutines SET pid=1<<40", false},
		{"UPDATE goroutines SET time_ns='noon'", false},
		{"UPDATE goroutines SET count=-1", false},
		{"UPDATE goroutine_groups SET position=position+7", true},
		{"UPDATE goroutine_groups SET count=-1", true},
		{"UPDATE goroutine_groups SET verdict='worse'", true},
		{"UPDATE goroutine_groups SET gone='x'", true},
	};
	struct run *run = *state;

	for (size_t i = 0; i < ARRAY_SIZE(forgeries); i++) {
		_cleanup_(recording_cleanup) struct recording *recording = NULL;
		struct task_report report = {0};
		int error;

		unlink(run->path);
		record(run, 1, 3, &(struct recorder_options){0});
		store_sql(run->path, forgeries[i].sql);
		error = recording_open(&recording, run->path);
		if (!forgeries[i].opens) {
			assert_int_equal(error, -EUCLEAN);
			continue;
		}
		assert_int_equal(error, 0);
		assert_int_equal(recording_read_goroutines(recording, 0, &report), -EUCLEAN);
		assert_int_equal(report.groups.count, 0);
	}
}

/* -------- two readings compared */

static void a_comparison_counts_what_came_since(void **state)
{
	_cleanup_(task_report_free) struct task_report before = {0}, after = {0};
	_cleanup_free_ char *text = NULL;

	(void)state;
	goroutines_make(&before, 10, 7, 1);
	goroutines_make(&after, 25, 7, 0);
	assert_int_equal(task_report_compare(&before, &after, 60 * SECOND, true), 0);
	assert_int_equal(after.groups.count, 3);
	assert_int_equal(after.groups.items[0].growth.first_count, 10);
	assert_int_equal(after.groups.items[0].growth.come, 15);
	assert_int_equal(after.groups.items[0].growth.gone, 0);
	assert_int_equal(after.groups.items[1].growth.come, 0);
	assert_int_equal(after.groups.items[2].count, 0);
	assert_int_equal(after.groups.items[2].growth.gone, 1);
	text = written(&after, "a.lkm #1", text_threads_write);
	assert_non_null(strstr(text, "since a.lkm #1\n"));
	assert_non_null(strstr(text, "32 goroutines in 2 groups"));
	assert_non_null(strstr(text, "+15 in 60 s: none has ended; leaking"));
}

/* Between two runs of a program it is unknown whether any has ended. */
static void of_two_processes_only_counts_are_compared(void **state)
{
	_cleanup_(task_report_free) struct task_report before = {0}, after = {0};
	_cleanup_free_ char *text = NULL, *json = NULL;

	(void)state;
	goroutines_make(&before, 10, 7, 0);
	goroutines_make(&after, 25, 7, 0);
	assert_int_equal(task_report_compare(&before, &after, 60 * SECOND, false), 0);
	text = written(&after, NULL, text_threads_write);
	assert_non_null(strstr(text, "+15 in 60 s (10 -> 25)\n"));
	assert_null(strstr(text, "leaking"));
	assert_null(strstr(text, "none has ended"));
	json = written(&after, NULL, json_threads_write);
	assert_non_null(strstr(json, "\"first_count\":10,\"since_ms\":60000,\"come\":null,\"gone\":"
				     "null,\"verdict\":null"));
}

/* -------- heap profiles */

static char *profile_text(const struct retain_result *result)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(json_retain_write(out, &(struct retain_report){.result = result}), 0);
	fclose(out);
	return text;
}

static void a_recording_has_heap_profiles_as_they_were(void **state)
{
	struct run *run = *state;
	_cleanup_(recording_cleanup) struct recording *recording = NULL;
	_cleanup_(retain_result_free) struct retain_result was = {0}, is = {0};
	_cleanup_free_ char *before = NULL, *after = NULL;
	int64_t number;

	heap_profile_make(&was, 40);
	assert_int_equal(retain_writer_append(run->path, &was, NULL, &number), 0);
	assert_int_equal(recording_open(&recording, run->path), 0);
	assert_int_equal(recording_read_retain(recording, 0, &is), 0);
	assert_true(is.profile_only);
	before = profile_text(&was);
	after = profile_text(&is);
	assert_string_equal(before, after);
}

static void what_is_no_heap_profile_is_refused(void **state)
{
	static const char *const forgeries[] = {
		"UPDATE heap_profile_sites SET position=3",
		"UPDATE heap_profile_sites SET size=0",
		"UPDATE heap_profile_sites SET freed_objects=allocated_objects+1",
		"UPDATE heap_profile_sites SET allocated_objects=1<<60",
		"UPDATE heap_profiles SET rate=-1",
	};
	struct run *run = *state;

	for (size_t i = 0; i < ARRAY_SIZE(forgeries); i++) {
		_cleanup_(recording_cleanup) struct recording *recording = NULL;
		_cleanup_(retain_result_free) struct retain_result was = {0}, is = {0};
		int64_t number;

		unlink(run->path);
		heap_profile_make(&was, 40);
		assert_int_equal(retain_writer_append(run->path, &was, NULL, &number), 0);
		store_sql(run->path, forgeries[i]);
		assert_int_equal(recording_open(&recording, run->path), 0);
		assert_int_equal(recording_read_retain(recording, 0, &is), -EUCLEAN);
		assert_null(is.heap_profile);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		store_test(a_recording_has_goroutines_as_they_were),
		store_test(groups_have_their_counts_over_time),
		store_test(the_largest_groups_are_kept),
		store_test(thinning_keeps_the_first_and_the_last_reading),
		store_test(readings_that_are_too_old_are_forgotten),
		store_test(what_is_no_reading_is_refused),
		cmocka_unit_test(a_comparison_counts_what_came_since),
		cmocka_unit_test(of_two_processes_only_counts_are_compared),
		store_test(a_recording_has_heap_profiles_as_they_were),
		store_test(what_is_no_heap_profile_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
