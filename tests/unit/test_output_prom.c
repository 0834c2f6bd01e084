// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/cleanup.h"
#include "base/text.h"
#include "process/proc/container.h"
#include "report/analyze/report_build.h"
#include "unit/golden.h"
#include "unit/report_fixture.h"

static void check(void (*make)(struct fixture *), const char *path)
{
	struct fixture fixture;
	char *text;

	make(&fixture);
	text = golden_render("prom", &fixture.report);
	golden_check(path, text);
	free(text);
	fixture_free(&fixture);
}

static void totals_sites_losses_and_time_are_exposed(void **state)
{
	(void)state;
	check(fixture_plain, "tests/golden/report.prom");
}

static void hostile_names_are_inert_labels(void **state)
{
	(void)state;
	check(fixture_hostile, "tests/golden/hostile.prom");
}

/* Lines that begin with `prefix`. */
static size_t lines_with(const char *text, const char *prefix)
{
	size_t count = 0;

	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		count += !strncmp(line, prefix, strlen(prefix));
	}
	return count;
}

static void a_container_is_named_as_cadvisor_names_it(void **state)
{
	struct container *container = calloc(1, sizeof(*container));
	struct fixture fixture;
	char *text;

	(void)state;
	strcpy(container->id, "0123");
	container->namespace = strdup("shop");
	container->pod = strdup("web-0");
	container->name = strdup("we\"b\\");
	fixture_plain(&fixture);
	container_free(fixture.snapshot.processes.items[1].container);
	fixture.snapshot.processes.items[1].container = container;
	text = golden_render("prom", &fixture.report);
	assert_non_null(strstr(text, "leakmon_outstanding_bytes{comm=\"redis-server\",namespace="
				     "\"shop\",pod=\"web-0\",container=\"we\\\"b\\\\\"} 12544\n"));
	free(text);
	fixture_free(&fixture);
}

static void series_are_few_and_no_two_are_the_same(void **state)
{
	const struct report_options all = {.sort = SORT_BYTES};
	struct fixture fixture = {0};
	char *text, comm[16];
	uint64_t total = 0;

	(void)state;
	for (uint32_t pid = 1; pid <= 100; pid++) {
		struct snapshot_process *process;

		/* Two processes of each name, with the same stacks. */
		snprintf(comm, sizeof(comm), "worker%u", pid / 2);
		process = fixture_process(&fixture, pid, comm, NULL);
		for (uint32_t site = 1; site <= 10; site++)
			fixture_site(process, site, pid * 10, 1, 0);
		total += process->outstanding_bytes;
	}
	report_build(&fixture.report, &fixture.snapshot, &all);
	for (size_t i = 0; i < 100; i++) {
		for (size_t j = 0; j < 10; j++)
			fixture.report.processes.items[i].sites.items[j].id = j;
	}
	text = golden_render("prom", &fixture.report);
	assert_int_equal(lines_with(text, "leakmon_outstanding_bytes{"), 20);
	assert_int_equal(lines_with(text, "leakmon_outstanding_bytes{comm=\"other\"}"), 1);
	assert_int_equal(lines_with(text, "leakmon_site_outstanding_bytes{"), 10);
	assert_int_equal(lines_with(text, "leakmon_build_processes{"), 20);
	assert_int_equal(
		lines_with(text, "leakmon_build_processes{comm=\"other\",build_id=\"other\"} "), 1);
	for (char *line = strstr(text, "leakmon_outstanding_bytes{"); line && *line == 'l';
	     line = strchr(line, '\n') + 1) {
		if (strncmp(line, "leakmon_outstanding_bytes{", 26) != 0)
			break;
		total -= strtoull(strchr(line, '}') + 2, NULL, 10);
	}
	assert_int_equal(total, 0);
	free(text);
	fixture_free(&fixture);
}

static void every_metric_has_help_and_type_and_ends_in_a_newline(void **state)
{
	struct fixture fixture;
	char *text;

	(void)state;
	fixture_plain(&fixture);
	text = golden_render("prom", &fixture.report);
	assert_int_equal(lines_with(text, "# HELP leakmon_"), lines_with(text, "# TYPE leakmon_"));
	assert_int_equal(text[strlen(text) - 1], '\n');
	free(text);
	fixture_free(&fixture);
}

static void expect_line(const char *text, const char *line)
{
	assert_non_null(text);
	if (!strstr(text, line))
		fail_msg("`%s` is not in:\n%s", line, text);
}

static void mappings_have_metrics_of_their_own(void **state)
{
	struct fixture fixture;
	char *text;

	(void)state;
	fixture_mapped(&fixture);
	text = golden_render("prom", &fixture.report);
	expect_line(text, "\nleakmon_outstanding_bytes{comm=\"web\"} 512\n");
	expect_line(text, "\nleakmon_mapping_outstanding_bytes{comm=\"web\"} 135168\n");
	expect_line(text, "\nleakmon_mapping_outstanding_ranges{comm=\"web\"} 3\n");
	expect_line(text, "\nleakmon_mapping_mapped_bytes_total 200704\n");
	expect_line(text, "\nleakmon_mapping_unmapped_bytes_total 65536\n");
	expect_line(text, "\nleakmon_mapping_events_lost_total 7\n");
	expect_line(text, "family=\"mapping\",kind=\"thread stack\",function=\"\",module=\"\","
			  "file=\"\",line=\"0\"} 131072\n");
	free(text);
	fixture_free(&fixture);

	fixture_plain(&fixture);
	text = golden_render("prom", &fixture.report);
	assert_null(strstr(text, "leakmon_mapping_"));
	free(text);
	fixture_free(&fixture);
}

/* Mappings are larger than blocks, and would leave no room for them. */
/* Nothing where nothing is pushed: the golden files have none. */
static void what_became_of_pushed_profiles_is_exposed(void **state)
{
	struct fixture fixture;
	char *text;

	(void)state;
	fixture_plain(&fixture);
	fixture.report.pushed.profiles = (struct pushed_lane){true, 40, 3, 2};
	text = golden_render("prom", &fixture.report);
	expect_line(text, "\nleakmon_pushed_total{kind=\"profile\",result=\"delivered\"} 40\n");
	expect_line(text, "\nleakmon_pushed_total{kind=\"profile\",result=\"lost\"} 3\n");
	expect_line(text, "\nleakmon_push_queue{kind=\"profile\"} 2\n");
	assert_null(strstr(text, "kind=\"event\""));
	free(text);
	fixture_free(&fixture);
}

static void the_first_sites_of_each_family_are_shown(void **state)
{
	const struct report_options all = {.sort = SORT_BYTES};
	struct fixture fixture = {.snapshot.has_mappings = true};
	struct snapshot_process *process;
	char *text;

	(void)state;
	process = fixture_process(&fixture, 1, "web", NULL);
	for (uint32_t site = 1; site <= 30; site++)
		fixture_site(process, site, site, 1, 0)->family =
			site <= 15 ? FAMILY_HEAP : FAMILY_MAPPING;
	report_build(&fixture.report, &fixture.snapshot, &all);
	for (size_t i = 0; i < 30; i++)
		fixture.report.processes.items[0].sites.items[i].id = i;
	text = golden_render("prom", &fixture.report);
	assert_int_equal(lines_with(text, "leakmon_site_outstanding_bytes{"), 20);
	expect_line(text, "family=\"heap\",function=\"\",module=\"\",file=\"\",line=\"0\"} 6\n");
	assert_null(strstr(text, "line=\"0\"} 5\n"));
	free(text);
	fixture_free(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(totals_sites_losses_and_time_are_exposed),
		cmocka_unit_test(hostile_names_are_inert_labels),
		cmocka_unit_test(a_container_is_named_as_cadvisor_names_it),
		cmocka_unit_test(series_are_few_and_no_two_are_the_same),
		cmocka_unit_test(every_metric_has_help_and_type_and_ends_in_a_newline),
		cmocka_unit_test(mappings_have_metrics_of_their_own),
		cmocka_unit_test(what_became_of_pushed_profiles_is_exposed),
		cmocka_unit_test(the_first_sites_of_each_family_are_shown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
