// SPDX-License-Identifier: GPL-2.0-or-later
/* leakmon top without a terminal: effects of keys on rows, order, selection and pages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "app/top/model.h"
#include "base/cleanup.h"
#include "profile_report_fixture.h"
#include "report/analyze/report_build.h"
#include "report_fixture.h"

#define LONG_AGO (60 * SECOND)

struct scene {
	struct fixture fixture;
	struct top_model model;
};

static void name_sites(struct report *report)
{
	for (size_t i = 0; i < report->processes.count; i++) {
		struct report_process *process = &report->processes.items[i];

		for (size_t j = 0; j < process->sites.count; j++) {
			char *name;

			assert_true(asprintf(&name, "function_%u",
					     process->sites.items[j].site->index) > 0);
			fixture_frame(&process->sites.items[j],
				      (struct frame){.function = name, .module = "/bin/server"});
		}
	}
}

static void forget_names(struct report *report)
{
	for (size_t i = 0; i < report->processes.count; i++) {
		struct report_process *process = &report->processes.items[i];

		for (size_t j = 0; j < process->sites.count; j++)
			free((char *)process->sites.items[j].frames.list.items->function);
	}
}

/* `processes` of three sites each: 1 of 300 bytes, 2 of 200, 3 of 100, `more` on each; the older
 * the smaller. */
static void scene_fill(struct scene *scene, size_t processes, uint64_t more)
{
	const struct report_options options = {0};

	scene->fixture = (struct fixture){.snapshot.has_ages = true};
	for (uint32_t i = 0; i < processes; i++) {
		struct snapshot_process *process =
			fixture_process(&scene->fixture, 10 + i, i ? "worker" : "server", NULL);

		for (uint32_t j = 1; j <= 3; j++)
			fixture_site(process, j, (4 - j) * 100 + more, j, j * LONG_AGO);
	}
	report_build(&scene->fixture.report, &scene->fixture.snapshot, &options);
	name_sites(&scene->fixture.report);
}

static void scene_forget(struct scene *scene)
{
	forget_names(&scene->fixture.report);
	fixture_free(&scene->fixture);
}

/* The model's frames borrow the report's names: they end together. */
static void scene_begin(struct scene *scene, size_t processes)
{
	top_model_init(&scene->model, TOP_TARGETS, NULL);
	scene->model.height = 10;
	scene_fill(scene, processes, 0);
	assert_int_equal(top_model_take_report(&scene->model, &scene->fixture.report), 0);
}

static void scene_end(struct scene *scene)
{
	top_model_free(&scene->model);
	scene_forget(scene);
}

static enum top_action type(struct scene *scene, const char *keys)
{
	enum top_action action = TOP_NOTHING;

	for (; *keys; keys++)
		action = top_model_key(&scene->model, *keys);
	return action;
}

static uint32_t selected_site(const struct scene *scene)
{
	return top_model_selected(&scene->model)->site.index;
}

static void expect_order(const struct scene *scene, const char *indices)
{
	const struct top_view *view = &scene->model.views[scene->model.screen];

	assert_int_equal(view->order.count, strlen(indices));
	for (size_t i = 0; indices[i]; i++)
		assert_int_equal(top_model_row(&scene->model, i)->site.index,
				 (uint32_t)(indices[i] - '0'));
}

static void test_one_process_begins_with_its_call_stacks(void **state)
{
	struct scene scene;

	(void)state;
	scene_begin(&scene, 1);
	assert_int_equal(scene.model.screen, TOP_CALLS);
	expect_order(&scene, "123");
	scene_end(&scene);
	scene_begin(&scene, 2);
	assert_int_equal(scene.model.screen, TOP_TARGETS);
	assert_int_equal(scene.model.views[TOP_TARGETS].order.count, 2);
	scene_end(&scene);
}

static void test_sort_keys_order_rows_and_invert(void **state)
{
	static const struct {
		const char *keys, *order;
	} cases[] = {
		{"c", "321"}, {"a", "321"}, {"b", "123"}, {"I", "321"},
		{"b", "123"}, {"g", "123"}, /* without a history nothing is known to grow */
	};
	struct scene scene;

	(void)state;
	scene_begin(&scene, 1);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(type(&scene, cases[i].keys), TOP_NOTHING);
		expect_order(&scene, cases[i].order);
	}
	scene_end(&scene);
}

static void test_the_menu_sorts_by_what_is_chosen_there(void **state)
{
	struct scene scene;

	(void)state;
	scene_begin(&scene, 1);
	top_model_key(&scene.model, TOP_KEY_F1 + 5);
	assert_int_equal(scene.model.mode, TOP_SORTING);
	top_model_key(&scene.model, TOP_KEY_DOWN);
	type(&scene, "\n");
	assert_int_equal(scene.model.mode, TOP_NORMAL);
	assert_int_equal(scene.model.views[TOP_CALLS].sort, 1);
	expect_order(&scene, "321");
	/* Up from the first is the last; a letter chooses as well; Esc changes nothing. */
	type(&scene, ">");
	top_model_key(&scene.model, TOP_KEY_UP);
	top_model_key(&scene.model, TOP_KEY_UP);
	type(&scene, "\n");
	assert_int_equal(scene.model.views[TOP_CALLS].sort, 4);
	type(&scene, ">b");
	expect_order(&scene, "123");
	type(&scene, ">\033");
	expect_order(&scene, "123");
	assert_int_equal(scene.model.mode, TOP_NORMAL);
	scene_end(&scene);
}

static void test_a_selection_sticks_to_its_row_but_the_first_stays_the_first(void **state)
{
	struct scene scene;

	(void)state;
	scene_begin(&scene, 1);
	assert_int_equal(selected_site(&scene), 1);
	type(&scene, "c");
	assert_int_equal(selected_site(&scene), 3);
	type(&scene, "jb");
	assert_int_equal(selected_site(&scene), 2);
	type(&scene, "jc");
	assert_int_equal(selected_site(&scene), 3);
	assert_int_equal(scene.model.views[TOP_CALLS].selected, 0);
	top_model_key(&scene.model, TOP_KEY_HOME);
	type(&scene, "b");
	assert_int_equal(selected_site(&scene), 1);
	scene_end(&scene);
}

static void test_movement_stays_within_the_rows(void **state)
{
	static const struct {
		int key;
		size_t selected, first;
	} cases[] = {
		{TOP_KEY_UP, 0, 0},	   {TOP_KEY_DOWN, 1, 0},      {TOP_KEY_DOWN, 2, 1},
		{TOP_KEY_DOWN, 3, 2},	   {TOP_KEY_UP, 2, 2},	      {TOP_KEY_PAGE_DOWN, 4, 3},
		{TOP_KEY_PAGE_DOWN, 6, 5}, {TOP_KEY_PAGE_DOWN, 8, 7}, {TOP_KEY_PAGE_DOWN, 8, 7},
		{TOP_KEY_PAGE_UP, 6, 6},   {TOP_KEY_HOME, 0, 0},      {TOP_KEY_END, 8, 7},
	};
	struct scene scene;

	(void)state;
	scene_begin(&scene, 3);
	top_model_key(&scene.model, TOP_KEY_TAB); /* nine call stacks of three processes */
	scene.model.height = 2;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		top_model_key(&scene.model, cases[i].key);
		assert_int_equal(scene.model.views[TOP_CALLS].selected, cases[i].selected);
		assert_int_equal(scene.model.views[TOP_CALLS].first, cases[i].first);
	}
	scene_end(&scene);
}

static void test_enter_goes_down_to_the_frames_and_escape_back(void **state)
{
	struct scene scene;

	(void)state;
	scene_begin(&scene, 2);
	type(&scene, "j\n");
	assert_int_equal(scene.model.screen, TOP_CALLS);
	expect_order(&scene, "123");
	assert_int_equal(top_model_row(&scene.model, 0)->pid, 11);
	type(&scene, "j\n");
	assert_int_equal(scene.model.screen, TOP_STACK);
	assert_non_null(strstr(scene.model.page.text, "of process 11 worker\n"));
	assert_non_null(strstr(scene.model.page.text, "200 bytes in 2 blocks\n"));
	assert_non_null(strstr(scene.model.page.text, "  function_2+0x0 [server]\n"));
	assert_null(strstr(scene.model.page.text, "\t"));
	type(&scene, "\033");
	assert_int_equal(scene.model.screen, TOP_CALLS);
	type(&scene, "\033");
	assert_int_equal(scene.model.screen, TOP_TARGETS);
	assert_int_equal(type(&scene, "\033"), TOP_NOTHING);
	scene.model.nested = true;
	assert_int_equal(type(&scene, "\033"), TOP_LEAVE);
	scene_end(&scene);
}

static void test_filters_show_only_what_matches_any_name(void **state)
{
	static const struct {
		const char *filter, *order;
	} cases[] = {
		{"FUNCTION_2", "2"}, {"/bin/serv", "123"}, {"_3", "3"},
		{"nothing", ""},     {"too-early", "123"}, {"", "123"},
	};
	struct scene scene;

	(void)state;
	scene_begin(&scene, 1);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		type(&scene, "f\033f"); /* from none */
		type(&scene, cases[i].filter);
		expect_order(&scene, cases[i].order);
		type(&scene, "\n");
		expect_order(&scene, cases[i].order);
	}
	/* Input can be deleted; Esc on the list removes the filter. */
	type(&scene, "f_3\177\177_2\n");
	expect_order(&scene, "2");
	type(&scene, "\033");
	expect_order(&scene, "123");
	scene_end(&scene);
}

static void test_typing_counts_characters_and_has_an_end(void **state)
{
	struct scene scene;

	(void)state;
	scene_begin(&scene, 1);
	type(&scene, "f");
	top_model_key(&scene.model, 0x6f22);
	top_model_key(&scene.model, 0x1f41b);
	assert_string_equal(scene.model.filter, "\u6f22\U0001f41b");
	top_model_key(&scene.model, TOP_KEY_BACKSPACE);
	assert_string_equal(scene.model.filter, "\u6f22");
	top_model_key(&scene.model, 0x202e); /* not printable: ignored */
	top_model_key(&scene.model, TOP_KEY_LEFT);
	assert_string_equal(scene.model.filter, "\u6f22");
	for (size_t i = 0; i < 100; i++)
		type(&scene, "x");
	assert_int_equal(strlen(scene.model.filter), TOP_WORDS_SIZE - 1);
	scene_end(&scene);
}

static void test_search_walks_the_matches_round_the_list(void **state)
{
	struct scene scene;

	(void)state;
	scene_begin(&scene, 2);
	top_model_key(&scene.model, TOP_KEY_TAB);
	expect_order(&scene, "112233");
	type(&scene, "/function_2");
	assert_int_equal(scene.model.views[TOP_CALLS].selected, 2);
	type(&scene, "\nn");
	assert_int_equal(scene.model.views[TOP_CALLS].selected, 3);
	type(&scene, "n");
	assert_int_equal(scene.model.views[TOP_CALLS].selected, 2);
	type(&scene, "N");
	assert_int_equal(scene.model.views[TOP_CALLS].selected, 3);
	type(&scene, "/zebra\n");
	assert_int_equal(scene.model.views[TOP_CALLS].selected, 3);
	type(&scene, "n");
	assert_string_equal(scene.model.message, "not found");
	scene_end(&scene);
}

static void test_a_pause_stands_still_until_it_ends(void **state)
{
	struct scene scene, later = {0};

	(void)state;
	scene_begin(&scene, 1);
	assert_int_equal(type(&scene, " "), TOP_NOTHING);
	scene_fill(&later, 1, 1000);
	assert_int_equal(top_model_take_report(&scene.model, &later.fixture.report), 0);
	assert_true(top_model_row(&scene.model, 0)->fields[TOP_BYTES] == 300);
	assert_int_equal(scene.model.missed, 1);
	assert_int_equal(type(&scene, " "), TOP_REFRESH);
	assert_int_equal(top_model_take_report(&scene.model, &later.fixture.report), 0);
	assert_true(top_model_row(&scene.model, 0)->fields[TOP_BYTES] == 1300);
	assert_int_equal(scene.model.missed, 0);
	top_model_free(&scene.model);
	scene_forget(&scene);
	scene_forget(&later);
}

static void test_an_open_stack_follows_its_numbers_until_it_holds_nothing(void **state)
{
	struct scene scene, later = {0}, none = {0};

	(void)state;
	scene_begin(&scene, 1);
	type(&scene, "\n");
	assert_non_null(strstr(scene.model.page.text, "300 bytes in 1 blocks"));
	scene_fill(&later, 1, 1000);
	assert_int_equal(top_model_take_report(&scene.model, &later.fixture.report), 0);
	assert_non_null(strstr(scene.model.page.text, "1300 bytes in 1 blocks"));
	scene_fill(&none, 0, 0);
	assert_int_equal(top_model_take_report(&scene.model, &none.fixture.report), 0);
	assert_string_equal(scene.model.page.text, "This call stack holds nothing any more.\n");
	type(&scene, "\033");
	assert_int_equal(scene.model.screen, TOP_CALLS);
	assert_null(top_model_selected(&scene.model));
	assert_int_equal(type(&scene, "\njkn"), TOP_NOTHING);
	top_model_free(&scene.model);
	scene_forget(&scene);
	scene_forget(&later);
	scene_forget(&none);
}

static void test_help_scrolls_and_any_other_key_ends_it(void **state)
{
	struct scene scene;

	(void)state;
	scene_begin(&scene, 1);
	type(&scene, "\n?");
	assert_int_equal(scene.model.mode, TOP_HELP);
	scene.model.height = 5;
	assert_true(top_page_wrap(&scene.model.page, 80) > 30);
	top_model_key(&scene.model, TOP_KEY_PAGE_DOWN);
	assert_int_equal(scene.model.page_first, 5);
	top_model_key(&scene.model, TOP_KEY_END);
	assert_int_equal(scene.model.page_first, scene.model.page.lines.count - 5);
	assert_int_equal(type(&scene, "q"), TOP_NOTHING);
	assert_int_equal(scene.model.mode, TOP_NORMAL);
	assert_int_equal(scene.model.screen, TOP_STACK);
	assert_non_null(strstr(scene.model.page.text, "function_1"));
	assert_int_equal(type(&scene, "q"), TOP_QUIT);
	scene_end(&scene);
}

static void test_hostile_names_leave_the_page_inert(void **state)
{
	struct top_model model;
	struct fixture fixture;

	(void)state;
	top_model_init(&model, TOP_TARGETS, NULL);
	fixture_hostile(&fixture);
	assert_int_equal(top_model_take_report(&model, &fixture.report), 0);
	top_model_key(&model, TOP_KEY_ENTER);
	assert_int_equal(model.screen, TOP_STACK);
	for (const char *at = model.page.text; *at; at++)
		assert_true(*at == '\n' || (unsigned char)*at >= ' ');
	assert_null(strstr(model.page.text, "\xe2\x80\xae"));
	assert_null(strstr(model.page.text, "\xff"));
	assert_non_null(strstr(model.page.text, "a\"\\\\x0a\\x1b[2Jb"));
	top_model_free(&model);
	fixture_free(&fixture);
}

static void test_a_triage_asks_to_profile_the_process_on_enter_and_to_track_it_on_x(void **state)
{
	static struct triage_entry processes[] = {
		{.pid = 7, .comm = "first", .processes = 1, .spark = {1, 2}, .spark_count = 2},
		{.pid = 8, .comm = "second", .processes = 1, .cgroup = "/web.slice/db.service"},
	};
	static struct triage_entry groups[] = {
		{.comm = "", .cgroup = "/web.slice/db.service", .processes = 2}};
	const struct triage_report report = {.processes = {processes, 2, 2, {0}},
					     .groups = {groups, 1, 1, {0}}};
	struct top_model model;

	(void)state;
	top_model_init(&model, TOP_TRIAGE, NULL);
	model.height = 10;
	assert_int_equal(top_model_take_triage(&model, &report), 0);
	assert_int_equal(top_model_row(&model, 0)->pid, 7);
	assert_int_equal(top_model_key(&model, TOP_KEY_DOWN), TOP_NOTHING);
	assert_int_equal(top_model_key(&model, TOP_KEY_ENTER), TOP_FOLLOW);
	assert_int_equal(model.wanted_pid, 8);
	top_model_key(&model, TOP_KEY_UP);
	assert_int_equal(top_model_key(&model, 'x'), TOP_TRACK);
	assert_int_equal(model.wanted_pid, 7);
	model.wanted_pid = 0;
	assert_int_equal(top_model_key(&model, 'C'), TOP_COUNT_CLASSES);
	assert_int_equal(model.wanted_pid, 7);
	top_model_key(&model, TOP_KEY_DOWN);
	/* From a container to its processes. */
	top_model_key(&model, TOP_KEY_TAB);
	assert_int_equal(model.screen, TOP_GROUPS);
	assert_string_equal(top_model_selected(&model)->place, "db.service");
	top_model_key(&model, TOP_KEY_ENTER);
	assert_int_equal(model.screen, TOP_TRIAGE);
	assert_int_equal(model.views[TOP_TRIAGE].order.count, 1);
	assert_int_equal(top_model_selected(&model)->pid, 8);
	top_model_free(&model);
}

static void test_a_profile_shows_its_call_stacks_and_opens_their_numbers(void **state)
{
	struct profile_report report = {0};
	struct top_model model;

	(void)state;
	profile_report_fill(&report);
	profile_report_rank(&report, 0);
	top_model_init(&model, TOP_PROFILE, NULL);
	model.height = 10;
	assert_int_equal(top_model_take_profile(&model, &report), 0);
	assert_int_equal(model.views[TOP_PROFILE].order.count, 4);
	assert_float_equal(top_model_row(&model, 0)->fields[TOP_LEAST], 500, 0);
	assert_float_equal(top_model_row(&model, 0)->fields[TOP_UNTOUCHED], 0.5, 0);
	assert_string_equal(top_row_verdict(top_model_row(&model, 0)), "leaking");
	top_model_key(&model, TOP_KEY_ENTER);
	assert_int_equal(model.screen, TOP_STACK);
	assert_non_null(strstr(model.page.text, "Call stack of process 8 other"));
	assert_non_null(strstr(model.page.text, "+600 B/s (95%: +500 B to +1.17 KiB)"));
	assert_non_null(strstr(model.page.text, "untouched: 50% after 1 s"));
	assert_non_null(strstr(model.page.text, "surest"));
	/* The page stays, and its process can be tracked from it. */
	assert_int_equal(top_model_take_profile(&model, &report), 0);
	assert_int_equal(model.screen, TOP_STACK);
	assert_int_equal(top_model_key(&model, 'x'), TOP_TRACK);
	assert_int_equal(model.wanted_pid, 8);
	top_model_key(&model, TOP_KEY_ESCAPE);
	assert_int_equal(model.screen, TOP_PROFILE);
	top_model_free(&model);
	profile_report_free(&report);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_process_begins_with_its_call_stacks),
		cmocka_unit_test(test_sort_keys_order_rows_and_invert),
		cmocka_unit_test(test_the_menu_sorts_by_what_is_chosen_there),
		cmocka_unit_test(test_a_selection_sticks_to_its_row_but_the_first_stays_the_first),
		cmocka_unit_test(test_movement_stays_within_the_rows),
		cmocka_unit_test(test_enter_goes_down_to_the_frames_and_escape_back),
		cmocka_unit_test(test_filters_show_only_what_matches_any_name),
		cmocka_unit_test(test_typing_counts_characters_and_has_an_end),
		cmocka_unit_test(test_search_walks_the_matches_round_the_list),
		cmocka_unit_test(test_a_pause_stands_still_until_it_ends),
		cmocka_unit_test(test_an_open_stack_follows_its_numbers_until_it_holds_nothing),
		cmocka_unit_test(test_help_scrolls_and_any_other_key_ends_it),
		cmocka_unit_test(test_hostile_names_leave_the_page_inert),
		cmocka_unit_test(
			test_a_triage_asks_to_profile_the_process_on_enter_and_to_track_it_on_x),
		cmocka_unit_test(test_a_profile_shows_its_call_stacks_and_opens_their_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
