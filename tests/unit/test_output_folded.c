// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit/golden.h"
#include "unit/report_fixture.h"

static void check(void (*make)(struct fixture *), const char *path)
{
	struct fixture fixture;
	char *text;

	make(&fixture);
	text = golden_render("folded", &fixture.report);
	golden_check(path, text);
	free(text);
	fixture_free(&fixture);
}

static void root_comes_first_and_bytes_last(void **state)
{
	(void)state;
	check(fixture_plain, "tests/golden/report.folded");
}

static void hostile_names_end_neither_frame_nor_line(void **state)
{
	(void)state;
	check(fixture_hostile, "tests/golden/hostile.folded");
}

static void semicolons_in_names_are_no_separators(void **state)
{
	struct fixture fixture;
	char *text;

	(void)state;
	fixture_plain(&fixture);
	fixture.report.processes.items[0].sites.items[1].frames.list.items[0].function =
		"a;b 12\n;c 3";
	fixture.report.processes.items[0].sites.items[1].frames.list.items[1].function = "";
	text = golden_render("folded", &fixture.report);
	assert_non_null(strstr(text, ";?;a:b 12\\x0a:c 3 4096\n"));
	free(text);
	fixture_free(&fixture);
}

static void the_lines_add_up_to_what_the_report_shows(void **state)
{
	struct fixture fixture;
	uint64_t sum = 0, want = 0;
	char *text, *rest, *line;

	(void)state;
	fixture_plain(&fixture);
	text = rest = golden_render("folded", &fixture.report);
	while ((line = strsep(&rest, "\n")) && *line)
		sum += strtoull(strrchr(line, ' '), NULL, 10);
	for (size_t i = 0; i < fixture.report.processes.count; i++) {
		const struct report_process *process = &fixture.report.processes.items[i];

		for (size_t j = 0; j < process->sites.count; j++)
			want += process->sites.items[j].site->bytes;
	}
	assert_int_equal(sum, want);
	free(text);
	fixture_free(&fixture);
}

/* They have no bytes. */
static void descriptors_are_counted(void **state)
{
	struct fixture fixture;
	char *text;

	(void)state;
	fixture_opened(&fixture);
	text = golden_render("folded", &fixture.report);
	assert_string_equal(text, "web;[descriptors];[socket];[0x1001] 98\n"
				  "web;[descriptors];[file];[lost: before] 3\n");
	free(text);
	fixture_free(&fixture);
}

static void mappings_stand_on_roots_of_their_own(void **state)
{
	struct fixture fixture;
	char *text;

	(void)state;
	fixture_mapped(&fixture);
	text = golden_render("folded", &fixture.report);
	assert_string_equal(text, "web;[0x1003] 512\n"
				  "web;[mapping];[thread stack];[0x1001] 131072\n"
				  "web;[mapping];[allocator arena];[0x1002] 4096\n");
	free(text);
	fixture_free(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(root_comes_first_and_bytes_last),
		cmocka_unit_test(hostile_names_end_neither_frame_nor_line),
		cmocka_unit_test(semicolons_in_names_are_no_separators),
		cmocka_unit_test(descriptors_are_counted),
		cmocka_unit_test(mappings_stand_on_roots_of_their_own),
		cmocka_unit_test(the_lines_add_up_to_what_the_report_shows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
