// SPDX-License-Identifier: GPL-2.0-or-later
/* Recordings of several hosts in one: nothing is lost, nothing counts twice, and builds are
 * distinguished. */
#include <errno.h>

#include "report/analyze/diff_build.h"
#include "report/analyze/fleet_build.h"
#include "report/diff.h"
#include "report/fleet.h"
#include "report/analyze/report_build.h"
#include "app/runs/merge.h"
#include "unit/store_fixture.h"

#define SNAPSHOTS 24
#define HOSTS 4

/* On each host `server` runs: site 1 stays as it is, site 2 grows where the host's build leaks. */
static char *record(struct run *run, const char *host, const char *boot_id, bool leaks)
{
	struct snapshot_process *process = run_process(run, 100, "server");
	char *path, sql[256];

	assert_true(asprintf(&path, "%s/%s-%s.lkm", run->directory, host, boot_id) > 0);
	snprintf(run->path, sizeof(run->path), "%s", path);
	for (uint64_t i = 0; i < SNAPSHOTS; i++) {
		run_site(process, 1, 10, 100);
		run_site(process, 2, leaks ? 5 + i * 20 : 5, 1000);
		assert_int_equal(run_append(run, NULL, i + 1 == SNAPSHOTS), 0);
	}
	run_end(run);
	snapshot_free(&run->snapshot);
	run->snapshot = (struct snapshot){
		.time = {.tv_sec = 1795179600}, .monotonic_ns = 1000 * SECOND, .has_ages = true};
	snprintf(sql, sizeof(sql),
		 "UPDATE meta SET value='%s' WHERE key='host';"
		 "UPDATE meta SET value='%s' WHERE key='boot_id'",
		 host, boot_id);
	store_sql(path, sql);
	return path;
}

static int merge_into(const char *fleet, const char *const *paths, size_t count)
{
	static const struct recorder_options all = {0};
	struct recorder *recorder = NULL;
	struct merge *merge = NULL;
	int error = merge_open(&merge, paths, count);

	if (!error)
		error = recorder_open(&recorder, fleet, &all);
	if (!error)
		error = merge_write(merge, recorder);
	recorder_close(recorder);
	merge_free(merge);
	return error;
}

/* A snapshot of a fleet with all that `leakmon report` makes of it. */
struct view {
	struct recording *recording;
	struct history history;
	struct snapshot snapshot;
	struct report report;
	struct fleet fleet;
};

static void view_free(struct view *view)
{
	fleet_free(&view->fleet);
	report_free(&view->report);
	snapshot_free(&view->snapshot);
	history_free(&view->history);
	recording_close(view->recording);
}

static void view_read(struct view *view, const char *path, const char *at)
{
	const struct report_options all = {.sort = SORT_BYTES, .history = &view->history};
	size_t position;

	assert_int_equal(recording_open(&view->recording, path), 0);
	assert_int_equal(recording_find(view->recording, at, &position), 0);
	assert_int_equal(recording_history(view->recording, position, &view->history), 0);
	assert_int_equal(recording_read(view->recording, position, &view->snapshot), 0);
	assert_int_equal(report_build(&view->report, &view->snapshot, &all), 0);
	assert_int_equal(recording_name(view->recording, &view->report), 0);
	view->report.hosts = recording_hosts(view->recording, &view->report.host_count);
	assert_int_equal(fleet_build(&view->fleet, &view->report), 0);
}

static uint64_t bytes_of(const struct report *report)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < report->processes.count; i++)
		bytes += report->processes.items[i].process->outstanding_bytes;
	return bytes;
}

/* web-1, web-2 and web-3 of one boot each, then a second machine that calls itself web-1. */
static void record_all(struct run *run, char *paths[HOSTS])
{
	paths[0] = record(run, "web-1", "aaaaaaaa-1", true);
	paths[1] = record(run, "web-2", "bbbbbbbb-2", true);
	paths[2] = record(run, "web-3", "cccccccc-3", false);
	paths[3] = record(run, "web-1", "dddddddd-4", true);
}

static void paths_free(char *paths[HOSTS])
{
	for (size_t i = 0; i < HOSTS; i++)
		free(paths[i]);
}

static char *fleet_path(const struct run *run, const char *name)
{
	static char path[96];

	snprintf(path, sizeof(path), "%s/%s", run->directory, name);
	return path;
}

static void a_fleet_is_the_sum_of_its_hosts(void **state)
{
	static const struct {
		const char *at;
		uint64_t bytes;
	} ends[] = {
		{"first", 4 * (1000 + 5000)},
		{"last", 4 * (1000 + 5000) + 3 * (SNAPSHOTS - 1) * 20000},
	};
	struct run *run = *state;
	char *paths[HOSTS];

	record_all(run, paths);
	assert_int_equal(merge_into(fleet_path(run, "fleet"), (const char *const *)paths, HOSTS),
			 0);
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		_cleanup_(view_free) struct view view = {0};
		uint64_t blocks = ends[i].bytes / 1000 - 4 + 40;

		view_read(&view, fleet_path(run, "fleet"), ends[i].at);
		assert_int_equal(view.report.processes.count, HOSTS);
		assert_int_equal(bytes_of(&view.report), ends[i].bytes);
		assert_int_equal(view.snapshot.ledger.outstanding, blocks);
	}
	paths_free(paths);
}

static void hosts_are_distinguished_by_name_and_boot(void **state)
{
	static const char *const names[] = {"web-1", "web-1 (dddddddd)", "web-2", "web-3"};
	_cleanup_(view_free) struct view view = {0};
	struct run *run = *state;
	char *paths[HOSTS];

	record_all(run, paths);
	assert_int_equal(merge_into(fleet_path(run, "fleet"), (const char *const *)paths, HOSTS),
			 0);
	view_read(&view, fleet_path(run, "fleet"), "last");
	assert_int_equal(view.report.host_count, HOSTS);
	for (size_t i = 0; i < HOSTS; i++) {
		assert_string_equal(view.report.hosts[i].name, names[i]);
		assert_int_equal(view.report.hosts[i].snapshots, SNAPSHOTS);
	}
	paths_free(paths);
}

/* One row of modules, frames and stacks serves all hosts; sites are rows of their processes. */
static void a_build_has_the_number_of_hosts_on_which_it_grows(void **state)
{
	_cleanup_(view_free) struct view view = {0};
	struct run *run = *state;
	const struct fleet_build *build;
	char *paths[HOSTS];

	record_all(run, paths);
	store_sql(paths[2], "UPDATE modules SET build_id='fedc' WHERE build_id='0123abcd'");
	assert_int_equal(merge_into(fleet_path(run, "fleet"), (const char *const *)paths, HOSTS),
			 0);
	view_read(&view, fleet_path(run, "fleet"), "last");
	assert_int_equal(view.fleet.builds.count, 2);
	build = &view.fleet.builds.items[0];
	assert_string_equal(build->comm, "server");
	assert_string_equal(build->build_id, "0123abcd");
	assert_int_equal(build->hosts, 3);
	assert_int_equal(build->growing_hosts, 3);
	assert_int_equal(build->sites.count, 2);
	assert_int_equal(build->sites.items[0].growing_hosts, 3);
	assert_int_equal(build->sites.items[0].bytes, 3 * (5000 + (SNAPSHOTS - 1) * 20000));
	assert_true(build->bytes_per_s > 3 * 3999 && build->bytes_per_s < 3 * 4001);
	assert_int_equal(build->sites.items[1].hosts, 3);
	assert_int_equal(build->sites.items[1].growing_hosts, 0);
	build = &view.fleet.builds.items[1];
	assert_string_equal(build->build_id, "fedc");
	assert_int_equal(build->hosts, 1);
	assert_int_equal(build->growing_hosts, 0);
	paths_free(paths);
}

/* A host recorded an hour before the others: its series is judged within its own time. */
static void what_was_recorded_at_another_time_is_judged_by_it(void **state)
{
	_cleanup_(view_free) struct view view = {0};
	struct run *run = *state;
	char *paths[2] = {record(run, "web-1", "a", true), record(run, "web-2", "b", true)};

	store_sql(paths[0], "UPDATE snapshots SET time_ns=time_ns-3600*1000000000");
	assert_int_equal(merge_into(fleet_path(run, "fleet"), (const char *const *)paths, 2), 0);
	view_read(&view, fleet_path(run, "fleet"), "last");
	assert_int_equal(view.fleet.builds.count, 1);
	assert_int_equal(view.fleet.builds.items[0].growing_hosts, 2);
	assert_int_equal(view.fleet.builds.items[0].since_ns,
			 (1795179605 - 3600) * SECOND + view.report.hosts[0].first_ns % SECOND);
	free(paths[0]);
	free(paths[1]);
}

/* The build that was recorded an hour later grows; whether that is new shows in the functions of
 * the earlier one. */
static void what_no_earlier_build_has_is_new(void **state)
{
	static const struct {
		const char *sql;
		bool is_new;
	} cases[] = {
		{"UPDATE frames SET function_offset=function_offset+1", false},
		{"UPDATE frames SET function=function||'_of_old'", true},
		{"UPDATE frames SET function=NULL", false},
	};
	struct run *run = *state;
	char *later = record(run, "web-2", "b", true), name[16];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(view_free) struct view view = {0};
		char boot[] = {(char)('c' + i), '\0'};
		char *before = record(run, "web-1", boot, false);
		const struct fleet_build *build;

		store_sql(before, "UPDATE modules SET build_id='fedc' WHERE build_id='0123abcd';"
				  "UPDATE snapshots SET time_ns=time_ns-3600*1000000000");
		store_sql(before, cases[i].sql);
		snprintf(name, sizeof(name), "new-%zu", i);
		assert_int_equal(
			merge_into(fleet_path(run, name), (const char *const[]){before, later}, 2),
			0);
		view_read(&view, fleet_path(run, name), "last");
		assert_int_equal(view.fleet.builds.count, 2);
		build = &view.fleet.builds.items[0];
		assert_string_equal(build->build_id, "0123abcd");
		assert_int_equal(build->sites.items[0].is_new, cases[i].is_new);
		/* It does not grow. */
		assert_false(build->sites.items[1].is_new);
		assert_false(view.fleet.builds.items[1].sites.items[0].is_new);
		free(before);
	}
	free(later);
}

static void nothing_counts_twice(void **state)
{
	struct run *run = *state;
	char *one = record(run, "web-1", "a", true), *two = record(run, "web-2", "b", true);
	char *fleet = strdup(fleet_path(run, "fleet"));
	const char *const twice[] = {one, one}, *const both[] = {one, two},
			  *const again[] = {fleet, two}, *const alone[] = {fleet};

	assert_int_equal(merge_into(fleet_path(run, "x"), twice, 2), -EEXIST);
	assert_int_equal(merge_into(fleet, both, 2), 0);
	assert_int_equal(merge_into(fleet_path(run, "y"), again, 2), -EEXIST);
	assert_int_equal(merge_into(fleet_path(run, "z"), alone, 1), 0);
	for (size_t i = 0; i < 2; i++) {
		_cleanup_(view_free) struct view view = {0};

		view_read(&view, i ? fleet_path(run, "z") : fleet, "last");
		assert_int_equal(view.report.host_count, 2);
		assert_int_equal(bytes_of(&view.report), 2 * (6000 + (SNAPSHOTS - 1) * 20000));
	}
	free(one);
	free(two);
	free(fleet);
}

static void a_difference_goes_by_host_and_by_build(void **state)
{
	struct run *run = *state;
	char *paths[HOSTS];

	record_all(run, paths);
	assert_int_equal(merge_into(fleet_path(run, "fleet"), (const char *const *)paths, HOSTS),
			 0);
	for (enum diff_group by = DIFF_BY_BUILD; by <= DIFF_BY_HOST; by++) {
		_cleanup_(view_free) struct view first = {0}, last = {0};
		struct diff diff;

		view_read(&first, fleet_path(run, "fleet"), "first");
		view_read(&last, fleet_path(run, "fleet"), "last");
		assert_int_equal(diff_build(&diff, &first.report, &last.report, by, SORT_BYTES), 0);
		assert_int_equal(diff.rows.count, by == DIFF_BY_BUILD ? 1 : HOSTS);
		assert_string_equal(diff.rows.items[0].name,
				    by == DIFF_BY_BUILD ? "server 0123abcd" : "web-1");
		assert_int_equal(diff_bytes(&diff.rows.items[0]),
				 (by == DIFF_BY_BUILD ? 3 : 1) * (SNAPSHOTS - 1) * 20000);
		diff_free(&diff);
	}
	paths_free(paths);
}

static void one_host_of_a_fleet_has_its_own_ledger(void **state)
{
	_cleanup_(snapshot_free) struct snapshot snapshot = {0};
	_cleanup_(recording_cleanup) struct recording *recording = NULL;
	struct run *run = *state;
	char *paths[HOSTS];
	size_t position;

	record_all(run, paths);
	assert_int_equal(merge_into(fleet_path(run, "fleet"), (const char *const *)paths, HOSTS),
			 0);
	assert_int_equal(recording_open(&recording, fleet_path(run, "fleet")), 0);
	assert_int_equal(recording_find(recording, "last", &position), 0);
	assert_int_equal(recording_read(recording, position, &snapshot), 0);
	assert_int_equal(snapshot.processes.count, HOSTS);
	snapshot_keep_host(&snapshot, "web-3");
	assert_int_equal(snapshot.processes.count, 1);
	assert_string_equal(snapshot.processes.items[0].host, "web-3");
	assert_int_equal(snapshot.ledger.outstanding, 15);
	paths_free(paths);
}

/* The first and the last of very many. */
static void many_snapshots_are_thinned_evenly(void **state)
{
	_cleanup_(view_free) struct view view = {0};
	struct run *run = *state;
	struct snapshot_process *process = run_process(run, 100, "server");
	const char *const one[] = {run->path};

	for (uint64_t i = 0; i < 300; i++) {
		run_site(process, 1, i + 1, 10);
		assert_int_equal(run_append(run, NULL, i == 299), 0);
	}
	run_end(run);
	assert_int_equal(merge_into(fleet_path(run, "fleet"), one, 1), 0);
	view_read(&view, fleet_path(run, "fleet"), "last");
	assert_int_equal(view.history.times.count, MERGE_SNAPSHOTS_MAX);
	assert_int_equal(history_point_at(&view.history.sites.items[0].series, 0).count, 1);
	assert_int_equal(bytes_of(&view.report), 3000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		store_test(a_fleet_is_the_sum_of_its_hosts),
		store_test(hosts_are_distinguished_by_name_and_boot),
		store_test(a_build_has_the_number_of_hosts_on_which_it_grows),
		store_test(what_was_recorded_at_another_time_is_judged_by_it),
		store_test(what_no_earlier_build_has_is_new),
		store_test(nothing_counts_twice),
		store_test(a_difference_goes_by_host_and_by_build),
		store_test(one_host_of_a_fleet_has_its_own_ledger),
		store_test(many_snapshots_are_thinned_evenly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
