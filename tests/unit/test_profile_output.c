// SPDX-License-Identifier: GPL-2.0-or-later
/* Output of profiles: numbers and limits, ranks, and hostile names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <jansson.h>
#include <math.h>

#include "report/oom_kills.h"
#include "report/report.h"
#include "base/cleanup.h"
#include "output/text/text.h"
#include "output/json/json.h"
#include "output/prom/prom.h"
#include "output/formats.h"
#include "report/profile_report.h"
#include "unit/profile_report_fixture.h"

typedef int (*writer)(FILE *out, const void *report);

/* The caller frees it. */
static char *written_with(writer write, size_t top, const struct oom_kills *kills)
{
	struct profile_report report = {.oom = kills};
	size_t size;
	char *text = NULL;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	profile_report_fill(&report);
	report.held_back = true;
	report.processes.items[1].missed = 3;
	report.processes.items[1].missed_why = EAGAIN;
	profile_report_rank(&report, top);
	assert_int_equal(write(out, &report), 0);
	assert_int_equal(fclose(out), 0);
	profile_report_free(&report);
	return text;
}

static char *written(writer write, size_t top)
{
	return written_with(write, top, NULL);
}

static const char *text_at(json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

static double real_at(json_t *object, const char *key)
{
	assert_true(json_is_number(json_object_get(object, key)));
	return json_number_value(json_object_get(object, key));
}

static void what_surely_grows_most_comes_first(void **state)
{
	_cleanup_free_ char *text = written(json_profile_write, 2);
	json_t *report = json_loads(text, 0, NULL), *process, *sites;

	(void)state;
	assert_non_null(report);
	process = json_array_get(json_object_get(report, "processes"), 0);
	assert_true(real_at(process, "pid") == 8);
	process = json_array_get(json_object_get(report, "processes"), 1);
	sites = json_object_get(process, "sites");
	assert_int_equal(json_array_size(sites), 2);
	assert_true(real_at(process, "sites_total") == 3);
	assert_true(real_at(json_array_get(sites, 0), "low") == 300);
	assert_true(real_at(json_array_get(sites, 1), "growth_bytes_per_s") == 900);
	json_decref(report);
}

/* The first process of the fixture, which is tracked exactly, or was. */
static char *written_exact(writer write, double exact_s, const char *why)
{
	struct profile_report report = {0};
	struct profile_report_process *process;
	size_t size;
	char *text = NULL;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	profile_report_fill(&report);
	process = &report.processes.items[0];
	process->exact_s = exact_s;
	process->events_per_s = exact_s > 0 ? 98.4 : 0;
	process->core = 0.00021;
	process->exact_why = why;
	assert_int_equal(write(out, &report), 0);
	assert_int_equal(fclose(out), 0);
	profile_report_free(&report);
	return text;
}

static void a_report_says_whether_everything_is_tracked(void **state)
{
	_cleanup_free_ char *exact = written_exact(text_profile_write, 61.2, NULL),
			    *windows = written_exact(text_profile_write, 0, "it is too dear"),
			    *line = written_exact(json_profile_write, 61.2, NULL);
	json_t *report = json_loads(line, 0, NULL), *processes;

	(void)state;
	assert_non_null(strstr(
		exact, ": tracked exactly for 61 s: 98.4 events/s, 0.02% of a core spent\n"));
	assert_null(strstr(exact, "not tracked exactly"));
	assert_null(strstr(windows, ": tracked exactly"));
	assert_non_null(strstr(windows, "   not tracked exactly: it is too dear\n"));
	processes = json_object_get(report, "processes");
	assert_true(json_is_null(json_object_get(json_array_get(processes, 1), "exact")));
	assert_true(real_at(json_object_get(json_array_get(processes, 0), "exact"),
			    "events_per_s") == 98.4);
	json_decref(report);
}

static void json_has_limits_survival_and_nulls_for_what_is_not_known(void **state)
{
	_cleanup_free_ char *text = written(json_profile_write, 0);
	json_t *report = json_loads(text, 0, NULL), *process, *site, *point;

	(void)state;
	assert_non_null(report);
	process = json_array_get(json_object_get(report, "processes"), 1);
	assert_string_equal(text_at(process, "comm"), HOSTILE);
	assert_true(json_is_null(json_object_get(json_object_get(process, "net_growth"), "low")));
	site = json_array_get(json_object_get(process, "sites"), 0);
	assert_string_equal(text_at(site, "verdict"), "leaking");
	assert_string_equal(text_at(site, "id"), "0000000000001236");
	assert_true(json_is_null(json_object_get(site, "ready_s")));
	assert_true(json_is_null(json_object_get(site, "births_high")));
	assert_true(real_at(site, "high") == 1000 && real_at(site, "most") == 1500);
	point = json_array_get(json_object_get(site, "survival"), 0);
	assert_true(real_at(point, "share") == 0.5 && real_at(point, "not_known_dead") == 1);
	site = json_array_get(json_object_get(process, "sites"), 1);
	assert_true(real_at(site, "ready_s") == 90);
	process = json_array_get(json_object_get(report, "processes"), 0);
	assert_true(json_is_null(json_object_get(process, "memory_bytes")));
	assert_true(json_is_null(json_object_get(process, "explained")));
	json_decref(report);
}

static void no_format_lets_a_name_through_as_it_is(void **state)
{
	const writer writers[] = {text_profile_write, json_profile_write, prom_profile_write,
				  output_folded.write[OUTPUT_PROFILE]};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(writers); i++) {
		_cleanup_free_ char *text = written(writers[i], 0);

		assert_null(strchr(text, '\033'));
		assert_non_null(strstr(text, "surest"));
		assert_int_equal(text[strlen(text) - 1], '\n');
	}
}

/* Bytes that an hour adds; a site that adds none has no line. */
static void folded_stacks_are_of_an_hours_growth(void **state)
{
	_cleanup_free_ char *text = written(output_folded.write[OUTPUT_PROFILE], 1);

	(void)state;
	assert_non_null(strstr(text, "other;surest 2160000\n"));
	assert_non_null(strstr(text, ";sure 1800000\n"));
	assert_null(strstr(text, "unsure"));
}

static void text_has_amounts_bounds_and_a_note_of_omitted_rows(void **state)
{
	_cleanup_free_ char *text = written(text_profile_write, 2);

	(void)state;
	assert_non_null(
		strstr(text, "+500 B/s (95%: +300 B to +0.98 KiB)  leaking: its blocks stay"));
	assert_non_null(strstr(text, "too-early: its blocks stay (more in 1.5 min)"));
	assert_non_null(strstr(text, "untouched: 50% after 1 s"));
	assert_non_null(strstr(text, "of which these sites explain 50%"));
	assert_non_null(strstr(text, "1 more call stacks"));
	assert_non_null(strstr(text, "it is a guess")); /* cost of a trap */
}

/* Names of a target are data, and cannot end the element that holds it. */
static void the_page_has_survival_and_nothing_that_a_name_could_start(void **state)
{
	struct profile_report report = {0};
	size_t size;
	char *text = NULL;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	profile_report_fill(&report);
	add_site(&report.processes.items[0], "<script>alert(\"&\")</script>", 100, 50,
		 PROFILE_LEAKING);
	strcpy(report.processes.items[1].comm, "</h2><img>");
	profile_report_rank(&report, 0);
	assert_int_equal(output_html.write[OUTPUT_PROFILE](out, &report), 0);
	fclose(out);
	assert_null(strchr(text, '\033'));
	assert_null(strstr(text, "<script>alert"));
	assert_null(strstr(text, "<img"));
	assert_non_null(strstr(text, "\"kind\":\"profile\""));
	assert_non_null(strstr(text, "\"verdict\":\"leaking\""));
	assert_non_null(strstr(text, "\"survival\":[{\"age_s\":1,\"share\":0.5,\"low\":0.25,"
				     "\"high\":0.75,\"not_known_dead\":1"));
	assert_non_null(strstr(text, "</html>\n"));
	free(text);
	profile_report_free(&report);
}

static void prometheus_has_bounds_and_every_verdict(void **state)
{
	_cleanup_free_ char *text = written(prom_profile_write, 0);

	(void)state;
	assert_non_null(strstr(text,
			       "leakmon_profile_site_growth_low_bytes_per_second{comm=\"other\","
			       "function=\"surest\",site=\"0000000000002235\","
			       "verdict=\"leaking\"} 500\n"));
	assert_non_null(strstr(text, "leakmon_profile_sites{verdict=\"churning\"} 0\n"));
	assert_non_null(strstr(text, "leakmon_profile_overhead_spent_ratio 0.008\n"));
}

/* Each format reports a killed process; without a kill it reports nothing. */
static void a_kill_is_reported(void **state)
{
	struct oom_kill kill = {.pid = 8, .cgroup = (char *)"/" HOSTILE, .limit_bytes = 1 << 20};
	struct oom_total total = {.comm = "other", .kills = 2};
	struct oom_site sites[] = {
		{.id = 5, .function = (char *)"leak" HOSTILE, .growth_bytes_per_s = 2.5},
		{.id = 5, .function = (char *)"the same", .growth_bytes_per_s = 1},
	};
	struct oom_kills kills = {.last = {.comm = "other", .profiled = true}};
	_cleanup_free_ char *text = NULL, *json = NULL, *prom = NULL;
	const char *series;

	(void)state;
	kills.last.sites.items = sites;
	kills.last.sites.count = 2;
	kills.list.items = &kill;
	kills.totals.items = &total;
	kills.list.count = kills.totals.count = 1;
	text = written_with(text_profile_write, 0, &kills);
	json = written_with(json_profile_write, 0, &kills);
	prom = written_with(prom_profile_write, 0, &kills);
	assert_non_null(strstr(text, "OOM-killed: process 8, "));
	assert_non_null(strstr(text, "PID 8 (other), OOM-killed:"));
	assert_null(strchr(text, '\033'));
	assert_non_null(strstr(json, "\"oom_kills\":[{\"pid\":8,"));
	assert_non_null(strstr(json, "\"limit_bytes\":1048576"));
	assert_non_null(strstr(json, "\"oom_killed\":true"));
	assert_non_null(strstr(prom, "leakmon_oom_kills_total{comm=\"other\"} 2\n"));
	series = strstr(prom, "leakmon_oom_last_site_growth_bytes_per_second{comm=\"other\","
			      "site=\"0000000000000005\",function=\"leak");
	assert_non_null(series);
	assert_null(strstr(prom, "the same"));
	assert_null(strchr(prom, '\033'));
}

/* A process without windows has a reason. */
static void windows_that_came_to_nothing_are_reported(void **state)
{
	_cleanup_free_ char *text = written(text_profile_write, 0);
	_cleanup_free_ char *json = written(json_profile_write, 0);
	json_t *report = json_loads(json, 0, NULL), *processes;

	(void)state;
	assert_non_null(strstr(text, "   3 windows came to nothing (the latest: Resource "
				     "temporarily unavailable)\n"));
	assert_non_null(strstr(text, "   leakmon has used as much CPU time as it may: windows "
				     "wait\n"));
	processes = json_object_get(report, "processes");
	assert_true(real_at(json_array_get(processes, 0), "missed_windows") == 3);
	assert_string_equal(text_at(json_array_get(processes, 0), "missed_why"),
			    "Resource temporarily unavailable");
	assert_true(json_is_null(json_object_get(json_array_get(processes, 1), "missed_why")));
	assert_true(json_is_true(json_object_get(json_object_get(report, "monitor"), "held_back")));
	json_decref(report);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_surely_grows_most_comes_first),
		cmocka_unit_test(a_report_says_whether_everything_is_tracked),
		cmocka_unit_test(json_has_limits_survival_and_nulls_for_what_is_not_known),
		cmocka_unit_test(no_format_lets_a_name_through_as_it_is),
		cmocka_unit_test(folded_stacks_are_of_an_hours_growth),
		cmocka_unit_test(text_has_amounts_bounds_and_a_note_of_omitted_rows),
		cmocka_unit_test(the_page_has_survival_and_nothing_that_a_name_could_start),
		cmocka_unit_test(prometheus_has_bounds_and_every_verdict),
		cmocka_unit_test(a_kill_is_reported),
		cmocka_unit_test(windows_that_came_to_nothing_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
