// SPDX-License-Identifier: GPL-2.0-or-later
/* Rules that accept call stacks, and their effect on a report. */
#include "unit/golden.h"
#include "unit/report_fixture.h"

#include <errno.h>

#include "base/cleanup.h"
#include "report/analyze/suppress.h"

static void parse(struct suppressions *rules, const char *text)
{
	*rules = (struct suppressions){0};
	assert_int_equal(suppressions_parse(rules, text), 0);
}

static bool accepts(const char *pattern, struct frame frame)
{
	struct frames frames = {0};
	struct suppressions rules = {0};
	char line[128];
	bool found;

	snprintf(line, sizeof(line), "leak:%s", pattern);
	parse(&rules, line);
	*(struct frame *)vec_push(&frames.list) = (struct frame){.function = "main"};
	*(struct frame *)vec_push(&frames.list) = frame;
	found = suppressions_find(&rules, &frames);
	vec_free(&frames.list);
	suppressions_free(&rules);
	return found;
}

static void patterns_are_those_of_leak_sanitizer(void **state)
{
	static const struct {
		const char *pattern, *function;
		bool accepts;
	} cases[] = {
		{"list", "my_list_append", true},
		{"^list", "my_list_append", false},
		{"^my_", "my_list_append", true},
		{"append$", "my_list_append", true},
		{"list$", "my_list_append", false},
		{"^my_list_append$", "my_list_append", true},
		{"^my_list$", "my_list_append", false},
		{"my*append", "my_list_append", true},
		{"my*pend$", "my_append_append", true},
		{"^m*t_a*d$", "my_list_append", true},
		{"append*my", "my_list_append", false},
		{"*", "x", true},
		{"^*$", "x", true},
		{"aab", "aaab", true},
		{"^a*ab$", "aab", true},
		{"^a*ab$", "ab", false},
		{"$", "x", true},
		{"LIST", "my_list_append", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct frame frame = {.function = cases[i].function};

		if (accepts(cases[i].pattern, frame) != cases[i].accepts)
			fail_msg("leak:%s of %s", cases[i].pattern, cases[i].function);
	}
}

static void functions_files_and_modules_are_looked_at(void **state)
{
	(void)state;
	assert_true(accepts("src/list.c", (struct frame){.file = "/home/x/src/list.c"}));
	assert_true(accepts("libz.so", (struct frame){.module = "/usr/lib/libz.so.1"}));
	assert_true(accepts("^main$", (struct frame){0}));
	assert_false(accepts("list", (struct frame){.why = "list"}));
}

/* 20,000 characters against a pattern of many stars. */
static void a_hostile_name_is_matched_in_bounded_time(void **state)
{
	enum { LENGTH = 20000 };
	_cleanup_free_ char *name = malloc(LENGTH + 1);

	(void)state;
	assert_non_null(name);
	memset(name, 'a', LENGTH);
	name[LENGTH] = '\0';
	assert_false(accepts("a*a*a*a*a*a*a*a*a*a*a*a*a*b", (struct frame){.function = name}));
}

static void comments_and_empty_lines_are_ignored(void **state)
{
	struct suppressions rules;

	(void)state;
	parse(&rules, "# known\n\n  leak:first \r\n\t# indented\nleak:second one");
	assert_int_equal(rules.list.count, 2);
	assert_string_equal(rules.list.items[0].pattern, "first");
	assert_int_equal(rules.list.items[0].line, 3);
	assert_string_equal(rules.list.items[1].pattern, "second one");
	assert_int_equal(rules.list.items[1].line, 5);
	suppressions_free(&rules);
}

static void what_is_no_rule_is_refused_with_its_line(void **state)
{
	static const char *const wrong[] = {"race:x", "leak:", "first", "leak"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct suppressions rules = {0};
		char text[64];

		snprintf(text, sizeof(text), "leak:good\n%s\nleak:good", wrong[i]);
		assert_int_equal(suppressions_parse(&rules, text), -EINVAL);
		assert_int_equal(rules.bad_line, 2);
		suppressions_free(&rules);
	}
}

/* Site 3 has 4096 bytes in 2 blocks and list_append in its stack; the others have no names. */
static void what_is_accepted_leaves_the_report(void **state)
{
	struct fixture fixture;
	struct report_process *process;
	struct suppressions rules;

	(void)state;
	fixture_plain(&fixture);
	parse(&rules, "leak:^nothing$\nleak:list_append\nleak:string_copy");
	process = &fixture.report.processes.items[0];
	assert_int_equal(process->sites.count, 2);
	assert_int_equal(process->sites_total, 3);
	assert_int_equal(suppressions_apply(&rules, &fixture.report), 0);
	assert_int_equal(process->sites.count, 1);
	assert_int_equal(process->sites_total, 2);
	assert_int_equal(process->family_totals[FAMILY_HEAP], 2);
	assert_int_equal(process->suppressed.count, 1);
	assert_ptr_equal(process->suppressed.items[0].rule, &rules.list.items[1]);
	assert_int_equal(report_suppressed_heap_bytes(&fixture.report), 4096);
	assert_false(rules.list.items[0].used);
	assert_true(rules.list.items[1].used);
	assert_int_equal(rules.list.items[1].bytes, 4096);
	assert_int_equal(rules.list.items[1].blocks, 2);
	assert_false(rules.list.items[2].used); /* the first that fits is the one */
	suppressions_free(&rules);
	fixture_free(&fixture);
}

static void text_and_json_report_how_much_was_accepted(void **state)
{
	struct fixture fixture;
	struct suppressions rules;
	char *text;

	(void)state;
	fixture_plain(&fixture);
	parse(&rules, "leak:list_append");
	assert_int_equal(suppressions_apply(&rules, &fixture.report), 0);
	fixture.report.form.bytes = true;
	text = golden_render("text", &fixture.report);
	assert_non_null(strstr(text, "suppressed: 4096 bytes in 2 allocations from 1 stacks"));
	/* The cut string is the result. */
	assert_non_null(strstr(text, "and 1 more stacks (256 bytes)"));
	assert_null(strstr(text, "list_append"));
	free(text);
	text = golden_render("json", &fixture.report);
	assert_non_null(strstr(text, "\"suppressed\":{\"bytes\":4096,\"count\":2,\"sites\":1}"));
	free(text);
	suppressions_free(&rules);
	fixture_free(&fixture);
}

static void a_cut_keeps_the_first_of_each_family(void **state)
{
	struct fixture fixture;

	(void)state;
	fixture_mapped(&fixture);
	assert_int_equal(fixture.report.processes.items[0].sites.count, 3);
	report_cut(&fixture.report, 0);
	assert_int_equal(fixture.report.processes.items[0].sites.count, 3);
	report_cut(&fixture.report, 1);
	assert_int_equal(fixture.report.processes.items[0].sites.count, 2);
	assert_int_equal(fixture.report.processes.items[0].sites_total, 3);
	fixture_free(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(patterns_are_those_of_leak_sanitizer),
		cmocka_unit_test(functions_files_and_modules_are_looked_at),
		cmocka_unit_test(a_hostile_name_is_matched_in_bounded_time),
		cmocka_unit_test(comments_and_empty_lines_are_ignored),
		cmocka_unit_test(what_is_no_rule_is_refused_with_its_line),
		cmocka_unit_test(what_is_accepted_leaves_the_report),
		cmocka_unit_test(text_and_json_report_how_much_was_accepted),
		cmocka_unit_test(a_cut_keeps_the_first_of_each_family),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
