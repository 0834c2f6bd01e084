// SPDX-License-Identifier: GPL-2.0-or-later
/* Omissions that an answer mentions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <jansson.h>
#include <string.h>

#include "base/cleanup.h"
#include "output/json/json.h"
#include "output/text/text.h"
#include "report/diagnosis.h"

/* Returns the text that `write` produces. The caller frees it. */
static char *written(int (*write)(FILE *out, const void *report), double left_out_s)
{
	const struct diagnosis diagnosis = {
		.pid = 7,
		.comm = "many",
		.why = "blocks are not freed",
		.scans = 1,
		.scan_left_out_s = left_out_s,
		.limit_in_s = -1,
	};
	const struct diagnosis_report report = {.items = &diagnosis, .count = 1};
	size_t size;
	char *text = NULL;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	assert_int_equal(write(out, &report), 0);
	assert_int_equal(fclose(out), 0);
	return text;
}

static json_t *left_out_of(const char *line, json_t **report)
{
	*report = json_loads(line, 0, NULL);
	assert_non_null(*report);
	return json_object_get(
		json_object_get(json_array_get(json_object_get(*report, "processes"), 0), "cost"),
		"scan_left_out_s");
}

static void a_scan_that_would_come_too_late_is_named(void **state)
{
	_cleanup_free_ char *text = written(text_diagnosis_write, 48.2);
	_cleanup_free_ char *line = written(json_diagnosis_write, 48.2);
	json_t *report, *left_out = left_out_of(line, &report);

	(void)state;
	assert_non_null(strstr(text, "the last heap scan, which takes about 48 s: --for 97 has "
				     "time for it\n"));
	assert_true(json_number_value(left_out) == 48.2);
	json_decref(report);
}

static void nothing_is_said_where_all_scans_were_made(void **state)
{
	_cleanup_free_ char *text = written(text_diagnosis_write, 0);
	_cleanup_free_ char *line = written(json_diagnosis_write, 0);
	json_t *report, *left_out = left_out_of(line, &report);

	(void)state;
	assert_null(strstr(text, "left out"));
	assert_true(json_is_null(left_out));
	json_decref(report);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_scan_that_would_come_too_late_is_named),
		cmocka_unit_test(nothing_is_said_where_all_scans_were_made),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
