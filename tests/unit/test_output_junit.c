// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/analyze/report_build.h"
#include "unit/golden.h"
#include "unit/report_fixture.h"

#include "report/analyze/suppress.h"

static void check(void (*make)(struct fixture *), const char *path)
{
	struct fixture fixture;
	char *text;

	make(&fixture);
	text = golden_render("junit", &fixture.report);
	golden_check(path, text);
	free(text);
	fixture_free(&fixture);
}

static void a_call_stack_is_a_failed_test(void **state)
{
	(void)state;
	check(fixture_plain, "tests/golden/report.junit.xml");
}

static void hostile_names_are_text_in_quotes(void **state)
{
	(void)state;
	check(fixture_hostile, "tests/golden/hostile.junit.xml");
}

static size_t count(const char *text, const char *word)
{
	size_t found = 0;

	for (const char *at = strstr(text, word); at; at = strstr(at + 1, word))
		found++;
	return found;
}

/* 12,545 bytes are outstanding. */
static void within_the_limit_nothing_fails(void **state)
{
	struct fixture fixture;
	char *text;

	(void)state;
	fixture_plain(&fixture);
	fixture.report.fail_over = 12545;
	text = golden_render("junit", &fixture.report);
	assert_int_equal(count(text, "<failure"), 0);
	assert_int_equal(count(text, "<system-out>"), 3);
	free(text);
	fixture.report.fail_over = 12544;
	text = golden_render("junit", &fixture.report);
	assert_int_equal(count(text, "<failure"), 3);
	assert_int_equal(count(text, "failures=\"2\""), 1);
	assert_int_equal(count(text, "failures=\"1\""), 1);
	free(text);
	fixture_free(&fixture);
}

/* 4096 of the 12,545 bytes are. */
static void what_is_accepted_is_skipped_and_does_not_count(void **state)
{
	struct suppressions rules = {0};
	struct fixture fixture;
	char *text;

	(void)state;
	fixture_plain(&fixture);
	assert_int_equal(suppressions_parse(&rules, "leak:list_<append\nleak:list_append"), 0);
	assert_int_equal(suppressions_apply(&rules, &fixture.report), 0);
	fixture.report.fail_over = 12545 - 4096;
	text = golden_render("junit", &fixture.report);
	assert_int_equal(count(text, "<failure"), 0);
	assert_non_null(strstr(text, "<skipped message=\"4096 bytes in 2 allocations outstanding; "
				     "accepted by leak:list_append\"/>"));
	assert_int_equal(count(text, "skipped=\"1\""), 1);
	free(text);
	fixture.report.fail_over--;
	text = golden_render("junit", &fixture.report);
	assert_int_equal(count(text, "<failure"), 2);
	free(text);
	suppressions_free(&rules);
	fixture_free(&fixture);
}

/* A suite without a test case would be no result. */
static void a_process_that_holds_nothing_passes(void **state)
{
	const struct report_options options = {0};
	struct fixture fixture = {0};
	char *text;

	(void)state;
	fixture_process(&fixture, 5, "clean", NULL);
	assert_int_equal(report_build(&fixture.report, &fixture.snapshot, &options), 0);
	text = golden_render("junit", &fixture.report);
	assert_int_equal(count(text, "tests=\"1\" failures=\"0\""), 1);
	assert_int_equal(
		count(text, "<testcase classname=\"clean\" name=\"nothing is outstanding\"/>"), 1);
	free(text);
	fixture_free(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_call_stack_is_a_failed_test),
		cmocka_unit_test(hostile_names_are_text_in_quotes),
		cmocka_unit_test(within_the_limit_nothing_fails),
		cmocka_unit_test(what_is_accepted_is_skipped_and_does_not_count),
		cmocka_unit_test(a_process_that_holds_nothing_passes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
