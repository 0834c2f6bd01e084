// SPDX-License-Identifier: GPL-2.0-or-later
/* Answers of `leakmon diagnose` in a recording: when they are asked for, kept, read and shown. */
#include "app/runs/record_diagnose.h"
#include "output/json/json.h"
#include "output/text/text.h"
#include "report/store/diagnosis_rows.h"
#include "report/stored_diagnosis.h"
#include "unit/store_fixture.h"

#define BEGIN 1795179600
#define ANSWER(verdict)                                                                            \
	"{\"pid\":7,\"verdict\":\"" verdict "\",\"text\":[\"PID 7 (web): " verdict                 \
	"\",\"  next  …\"]}"

static void make_recording(struct run *run)
{
	run_site(run_process(run, 7, "web"), 1, 5, 64);
	assert_int_equal(run_append(run, NULL, true), 0);
	run_end(run);
}

static int keep_answer(const struct run *run, time_t after_s, const char *answer,
		       const struct recorder_options *keep)
{
	const struct stored_diagnosis diagnosis = {.time = {.tv_sec = BEGIN + after_s},
						   .pid = 7,
						   .comm = "web",
						   .reason = DIAGNOSED_FOR_LEAK,
						   .answer = answer};

	return diagnosis_rows_append(run->path, &diagnosis, keep);
}

static size_t count_answers(const struct run *run, const struct timespec *until)
{
	_cleanup_(recording_cleanup) struct recording *recording = NULL;
	_cleanup_(stored_diagnoses_free) struct stored_diagnoses diagnoses = {0};

	assert_int_equal(recording_open(&recording, run->path), 0);
	assert_int_equal(recording_diagnoses(recording, until, &diagnoses), 0);
	return diagnoses.list.count;
}

static void a_recording_has_the_answers_up_to_a_time(void **state)
{
	struct run *run = *state;
	const struct recorder_options all = {0};
	const struct timespec until = {.tv_sec = BEGIN + 10};
	_cleanup_(recording_cleanup) struct recording *recording = NULL;
	_cleanup_(stored_diagnoses_free) struct stored_diagnoses diagnoses = {0};
	const struct stored_diagnosis *first;

	make_recording(run);
	assert_int_equal(keep_answer(run, 10, ANSWER("leaks"), &all), 0);
	assert_int_equal(keep_answer(run, 20, ANSWER("no-leak"), &all), 0);
	assert_int_equal(count_answers(run, &until), 1);
	assert_int_equal(recording_open(&recording, run->path), 0);
	assert_int_equal(recording_diagnoses(recording, NULL, &diagnoses), 0);
	assert_int_equal(diagnoses.list.count, 2);
	first = &diagnoses.list.items[0];
	assert_int_equal(first->time.tv_sec, BEGIN + 10);
	assert_int_equal(first->pid, 7);
	assert_string_equal(first->comm, "web");
	assert_string_equal(stored_diagnosis_reason(first), "it began to leak");
	assert_int_equal(first->lines.count, 2);
	assert_string_equal(first->lines.items[0], "PID 7 (web): leaks");
	/* In ASCII: safe on a terminal. */
	assert_non_null(strstr(first->answer, "\\u2026"));
}

static void old_answers_give_way(void **state)
{
	struct run *run = *state;
	const struct recorder_options young = {.keep_ns = 15 * SECOND},
				      small = {.keep_bytes = DIAGNOSES_SHARE * 200};

	make_recording(run);
	for (time_t i = 0; i < 4; i++)
		assert_int_equal(keep_answer(run, 10 * i, ANSWER("grows"), &young), 0);
	assert_int_equal(count_answers(run, NULL), 2);
	for (time_t i = 4; i < 8; i++)
		assert_int_equal(keep_answer(run, 10 * i, ANSWER("grows"), &small), 0);
	assert_int_equal(count_answers(run, NULL), 200 / strlen(ANSWER("grows")));
}

static void what_is_no_answer_is_refused(void **state)
{
	static const char *const forgeries[] = {
		"UPDATE diagnoses SET answer='{'",
		"UPDATE diagnoses SET answer='[]'",
		"UPDATE diagnoses SET answer='{\"text\":[1]}'",
		"UPDATE diagnoses SET pid=-1",
		"UPDATE diagnoses SET pid=1<<40",
		"UPDATE diagnoses SET time_ns='noon'",
	};
	struct run *run = *state;
	const struct recorder_options all = {0};
	_cleanup_free_ char *long_one = calloc(1, DIAGNOSIS_BYTES_MAX + 2);

	make_recording(run);
	memset(long_one, ' ', DIAGNOSIS_BYTES_MAX + 1);
	assert_int_equal(keep_answer(run, 0, long_one, &all), -E2BIG);
	assert_int_equal(count_answers(run, NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(forgeries); i++) {
		_cleanup_(recording_cleanup) struct recording *recording = NULL;
		struct stored_diagnoses diagnoses = {0};

		store_sql(run->path, "DELETE FROM diagnoses");
		assert_int_equal(keep_answer(run, 0, ANSWER("leaks"), &all), 0);
		store_sql(run->path, forgeries[i]);
		assert_int_equal(recording_open(&recording, run->path), 0);
		assert_int_equal(recording_diagnoses(recording, NULL, &diagnoses), -EUCLEAN);
		assert_int_equal(diagnoses.list.count, 0);
	}
}

static void it_is_asked_for_once_an_hour(void **state)
{
	static const struct {
		uint64_t key;
		const char *reason;
		double at_s;
		bool due;
	} cases[] = {
		{1, DIAGNOSED_FOR_LEAK, 100, true},
		{1, DIAGNOSED_FOR_LEAK, 110, false},
		/* Another process that leaks waits; a limit does not. */
		{2, DIAGNOSED_FOR_LEAK, 110, false},
		{1, DIAGNOSED_FOR_LIMIT, 120, true},
		{2, DIAGNOSED_FOR_LIMIT, 130, true},
		{2, DIAGNOSED_FOR_LIMIT, 140, false},
		{2, DIAGNOSED_FOR_LEAK, 130 + RECORD_DIAGNOSE_GAP_S, true},
		{1, DIAGNOSED_FOR_LEAK, 99 + RECORD_DIAGNOSE_AGAIN_S, false},
		{1, DIAGNOSED_FOR_LEAK, 100 + RECORD_DIAGNOSE_AGAIN_S, true},
	};
	struct record_diagnose diagnose = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(record_diagnose_is_due(&diagnose, cases[i].key, cases[i].reason,
							cases[i].at_s),
				 cases[i].due);
	record_diagnose_finish(&diagnose);
}

static void the_answer_is_the_first_process(void **state)
{
	_cleanup_free_ char *answer = diagnose_child_answer(
		"{\"schema\":1,\"processes\":[{\"pid\":7,\"comm\":\"é\"}]}\n");

	(void)state;
	assert_string_equal(answer, "{\"pid\":7,\"comm\":\"\\u00E9\"}");
	assert_null(diagnose_child_answer(""));
	assert_null(diagnose_child_answer("{\"processes\":[]}"));
	assert_null(diagnose_child_answer("leakmon: no such process"));
}

static void an_answer_is_shown_without_its_control_characters(void **state)
{
	struct stored_diagnosis diagnosis = {.time = {.tv_sec = BEGIN},
					     .pid = 7,
					     .comm = "w\x1b"
						     "eb",
					     .reason = DIAGNOSED_FOR_LIMIT,
					     .answer = "{\"verdict\":\"leaks\"}"};
	struct stored_diagnoses diagnoses = {0};
	_cleanup_free_ char *text = NULL, *json = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	struct json_writer writer = {0};

	(void)state;
	*vec_push(&diagnosis.lines) = "PID 7: \x1b[31mleaks";
	*vec_push(&diagnoses.list) = diagnosis;
	text_stored_diagnoses_write(out, &diagnoses);
	fclose(out);
	assert_non_null(strstr(text, "because its memory limit came near:\nPID 7: "));
	assert_null(strchr(text, '\x1b'));
	writer.out = open_memstream(&json, &size);
	json_open(&writer, NULL, '{');
	json_stored_diagnoses_write(&writer, &diagnoses);
	json_close(&writer, '}');
	fclose(writer.out);
	assert_non_null(
		strstr(json, "\"reason\":\"limit-near\",\"answer\":{\"verdict\":\"leaks\"}}]}"));
	assert_null(strchr(json, '\x1b'));
	stored_diagnoses_free(&diagnoses);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		store_test(a_recording_has_the_answers_up_to_a_time),
		store_test(old_answers_give_way),
		store_test(what_is_no_answer_is_refused),
		cmocka_unit_test(it_is_asked_for_once_an_hour),
		cmocka_unit_test(the_answer_is_the_first_process),
		cmocka_unit_test(an_answer_is_shown_without_its_control_characters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
