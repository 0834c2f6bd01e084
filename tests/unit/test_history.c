// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "report/analyze/report_build.h"
#include "report/history.h"
#include "base/cleanup.h"

#define TICK_NS UINT64_C(2000000000)

struct course {
	struct snapshot snapshot;
	struct history history;
};

static struct snapshot_process *process_of(struct course *course, uint32_t pid)
{
	for (size_t i = 0; i < course->snapshot.processes.count; i++) {
		if (course->snapshot.processes.items[i].pid == pid)
			return &course->snapshot.processes.items[i];
	}
	struct snapshot_process *process = vec_push(&course->snapshot.processes);

	process->pid = pid;
	process->key = (uint64_t)pid << 32;
	memcpy(process->comm, "server", 7);
	return process;
}

static struct site *site_of(struct snapshot_process *process, uint32_t index)
{
	for (size_t i = 0; i < process->sites.count; i++) {
		if (process->sites.items[i].index == index)
			return &process->sites.items[i];
	}
	struct site *site = vec_push(&process->sites);

	site->index = index;
	return site;
}

static void hold(struct course *course, uint32_t pid, uint32_t index, uint64_t bytes)
{
	struct site *site = site_of(process_of(course, pid), index);

	site->bytes = bytes;
	site->count = bytes ? 1 : 0;
	site->allocated_bytes = bytes + 8;
	site->freed_bytes = 8;
}

static void tick(struct course *course, const char *label)
{
	course->snapshot.sequence++;
	course->snapshot.monotonic_ns += TICK_NS;
	for (size_t i = 0; i < course->snapshot.processes.count; i++) {
		struct snapshot_process *process = &course->snapshot.processes.items[i];

		process->outstanding_bytes = process->outstanding_count = 0;
		for (size_t j = 0; j < process->sites.count; j++) {
			process->outstanding_bytes += process->sites.items[j].bytes;
			process->outstanding_count += process->sites.items[j].count;
		}
	}
	assert_int_equal(history_add(&course->history, &course->snapshot, label), 0);
}

static void course_free(struct course *course)
{
	snapshot_free(&course->snapshot);
	history_free(&course->history);
}

static const struct history_site *find(const struct course *course, uint32_t pid, uint32_t index)
{
	return history_site_find(&course->history, (uint64_t)pid << 32,
				 &(struct site){.index = index});
}

static void points_follow_the_snapshots(void **state)
{
	_cleanup_(course_free) struct course course = {0};
	const struct history_site *site;

	(void)state;
	hold(&course, 1, 7, 100);
	tick(&course, NULL);
	hold(&course, 1, 7, 150);
	hold(&course, 1, 8, 20);
	tick(&course, "second");
	vec_free(&course.snapshot.processes.items[0].sites);
	hold(&course, 1, 8, 30);
	tick(&course, NULL);
	assert_int_equal(course.history.times.count, 3);
	assert_string_equal(course.history.times.items[1].label, "second");
	site = find(&course, 1, 7);
	assert_int_equal(site->series.first, 0);
	assert_int_equal(site->series.points.count, 3);
	assert_int_equal(history_point_at(&site->series, 1).bytes, 150);
	assert_int_equal(history_point_at(&site->series, 2).bytes, 0);
	/* Missing blocks were freed. */
	assert_int_equal(history_point_at(&site->series, 2).freed_bytes, 158);
	assert_true(site->series.integral_byte_s == (100 + 150) / 2.0 * 2 + 150 / 2.0 * 2);
	site = find(&course, 1, 8);
	assert_int_equal(site->series.first, 1);
	assert_int_equal(history_point_at(&site->series, 0).bytes, 0);
	assert_int_equal(history_point_at(&site->series, 2).bytes, 30);
	assert_true(site->series.integral_byte_s == 20 / 2.0 * 2 + (20 + 30) / 2.0 * 2);
	assert_int_equal(course.history.processes.items[0].series.points.items[1].bytes, 170);
	assert_null(find(&course, 2, 8));
	assert_null(find(&course, 1, 9));
}

static void sites_of_one_call_through_compiled_code_are_summed_up_once(void **state)
{
	_cleanup_(course_free) struct course course = {0};
	static const uint64_t natives[] = {5, 5, 6, 0};
	const struct history_merged *merged;

	(void)state;
	hold(&course, 1, 0, 1000);
	tick(&course, NULL);
	for (uint64_t bytes = 10; bytes <= 30; bytes += 10) {
		for (uint32_t i = 0; i < ARRAY_SIZE(natives); i++) {
			hold(&course, 2, i, bytes << i);
			site_of(process_of(&course, 2), i)->native = natives[i];
		}
		tick(&course, NULL);
	}
	/* The second is in another process, and the third and the fourth are not of that call. */
	hold(&course, 3, 0, 1);
	site_of(process_of(&course, 3), 0)->native = 5;
	tick(&course, NULL);
	merged = &course.history.merged.items[find(&course, 2, 0)->merged - 1];
	assert_ptr_equal(merged, &course.history.merged.items[find(&course, 2, 1)->merged - 1]);
	assert_int_equal(find(&course, 2, 2)->merged, 0);
	assert_int_equal(find(&course, 2, 3)->merged, 0);
	assert_int_equal(find(&course, 3, 0)->merged, 0);
	assert_int_equal(merged->stacks, 2);
	assert_int_equal(merged->site.series.first, 1);
	assert_int_equal(merged->site.series.points.count, 4);
	for (size_t time = 1; time < 5; time++) {
		struct history_point sum = history_point_at(&merged->site.series, time);

		assert_int_equal(sum.bytes, 30 * MIN(time, 3));
		assert_int_equal(sum.count, 2);
		assert_int_equal(sum.allocated_bytes, sum.bytes + 16);
		assert_int_equal(sum.freed_bytes, 16);
	}
	/* A former member remains part of it, with zero bytes. */
	process_of(&course, 2)->sites.items[1].native = 0;
	vec_free(&process_of(&course, 2)->sites);
	hold(&course, 2, 1, 50);
	tick(&course, NULL);
	merged = &course.history.merged.items[find(&course, 2, 0)->merged - 1];
	assert_int_equal(merged->stacks, 2);
	assert_int_equal(history_point_at(&merged->site.series, 5).bytes, 50);
	assert_int_equal(history_point_at(&merged->site.series, 5).freed_bytes, 38 + 8);
}

static void thinning_keeps_the_whole_time_and_the_exact_integral(void **state)
{
	_cleanup_(course_free) struct course course = {.history.limits.max_times = 16};
	const struct history_site *site;
	double integral = 0;

	(void)state;
	for (uint64_t i = 0; i < 1000; i++) {
		hold(&course, 1, 1, i * 10);
		if (i >= 500)
			hold(&course, 1, 2, i);
		tick(&course, i == 333 ? "kept" : NULL);
		integral += i ? (double)(i * 10 + (i - 1) * 10) / 2 * 2 : 0;
		assert_true(course.history.times.count <= 16);
	}
	site = find(&course, 1, 1);
	assert_int_equal(course.history.times.items[0].sequence, 1);
	assert_int_equal(course.history.times.items[course.history.times.count - 1].sequence, 1000);
	assert_true(site->series.integral_byte_s == integral);
	for (size_t i = 0; i < course.history.times.count; i++) {
		uint64_t sequence = course.history.times.items[i].sequence;

		assert_int_equal(history_point_at(&site->series, i).bytes, (sequence - 1) * 10);
		assert_int_equal(history_point_at(&find(&course, 1, 2)->series, i).bytes,
				 sequence > 500 ? sequence - 1 : 0);
		if (course.history.times.items[i].label)
			assert_int_equal(sequence, 334);
	}
}

static void labels_alone_cannot_fill_the_history(void **state)
{
	_cleanup_(course_free) struct course course = {.history.limits.max_times = 8};

	(void)state;
	for (uint64_t i = 0; i < 100; i++) {
		hold(&course, 1, 1, i);
		tick(&course, "all the same");
		assert_true(course.history.times.count <= 8);
	}
}

static void sites_beyond_the_limit_are_counted_and_the_empty_ones_give_way(void **state)
{
	_cleanup_(course_free) struct course course = {.history.limits.max_sites = 10};

	(void)state;
	for (uint32_t i = 1; i <= 8; i++)
		hold(&course, 1, i, 100);
	tick(&course, NULL);
	for (uint32_t i = 1; i <= 4; i++)
		hold(&course, 1, i, 0);
	tick(&course, NULL);
	vec_free(&course.snapshot.processes.items[0].sites);
	for (uint32_t i = 5; i <= 16; i++)
		hold(&course, 1, i, 100);
	tick(&course, NULL);
	assert_int_equal(course.history.sites.count, 10);
	assert_int_equal(course.history.untracked_sites, 2);
	assert_null(find(&course, 1, 2));
	assert_int_equal(history_point_at(&find(&course, 1, 5)->series, 0).bytes, 100);
}

static size_t room_of_points(const struct history *history)
{
	size_t sum = history->times.capacity * sizeof(*history->times.items);

	for (size_t i = 0; i < history->sites.count; i++)
		sum += history->sites.items[i].series.points.capacity *
		       sizeof(*history->sites.items[i].series.points.items);
	return sum;
}

/* A watch grows while its history grows: for 240 snapshots, and no longer. */
static void a_history_grows_for_240_snapshots_and_no_longer(void **state)
{
	_cleanup_(course_free) struct course course = {0};
	size_t room = 0;

	(void)state;
	for (size_t i = 1; i <= 2000; i++) {
		for (uint32_t site = 1; site <= 20; site++)
			hold(&course, 1, site, i);
		tick(&course, NULL);
		if (i == 240)
			room = room_of_points(&course.history);
		else if (i > 240)
			assert_int_equal(room_of_points(&course.history), room);
	}
	assert_int_equal(room, 256 * sizeof(struct history_time) +
				       20 * 256 * sizeof(struct history_point));
}

static void a_storm_of_processes_does_not_fill_the_history(void **state)
{
	_cleanup_(course_free) struct course course = {
		.history.limits = {.max_sites = 50, .max_processes = 50}};

	(void)state;
	hold(&course, 1, 1, 100);
	for (uint32_t pid = 2; pid < 1000; pid++) {
		if (course.snapshot.processes.count > 1) {
			vec_free(&course.snapshot.processes.items[1].sites);
			course.snapshot.processes.count = 1;
		}
		hold(&course, pid, 1, 10);
		tick(&course, NULL);
		assert_true(course.history.processes.count <= 50);
		assert_true(course.history.sites.count <= 50);
		assert_int_equal(course.history.untracked_sites, 0);
	}
	assert_non_null(find(&course, 1, 1));
	assert_int_equal(course.history.processes.items[find(&course, 999, 1)->process_index].pid,
			 999);
}

static void processes_beyond_the_limit_are_counted_and_the_empty_ones_give_way(void **state)
{
	_cleanup_(course_free) struct course course = {
		.history.limits = {.max_sites = 8, .max_processes = 3}};

	(void)state;
	for (uint32_t pid = 1; pid <= 5; pid++)
		hold(&course, pid, 1, 10 * pid);
	tick(&course, NULL);
	assert_int_equal(course.history.processes.count, 3);
	assert_int_equal(course.history.sites.count, 3);
	assert_int_equal(course.history.untracked_sites, 2);
	assert_null(history_process_find(&course.history, UINT64_C(5) << 32, 5));
	hold(&course, 2, 1, 0);
	tick(&course, NULL);
	hold(&course, 6, 1, 60);
	tick(&course, NULL);
	for (uint32_t pid = 1; pid <= 6; pid++) {
		const struct history_process *process =
			history_process_find(&course.history, (uint64_t)pid << 32, pid);

		assert_true(!process || process->pid == pid);
		assert_true(!process == !find(&course, pid, 1));
		if (process)
			assert_ptr_equal(process,
					 &course.history.processes
						  .items[find(&course, pid, 1)->process_index]);
	}
	assert_int_equal(course.history.processes.count, 3);
}

/* Processes have a separate limit, eight times that of sites by default. */
static void steady_processes_do_not_evict_sites_that_hold_nothing(void **state)
{
	static const uint32_t counts[] = {2040, 2060};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
		_cleanup_(course_free) struct course course = {0};

		for (uint32_t pid = 1; pid <= counts[i]; pid++)
			hold(&course, pid, 1, 10);
		tick(&course, NULL);
		hold(&course, 7, 1, 0);
		tick(&course, NULL);
		tick(&course, NULL);
		assert_non_null(find(&course, 7, 1));
		assert_int_equal(course.history.processes.count, counts[i]);
	}
}

/* Its ledger may show zero: for mappings, or in a forged recording. */
static void a_process_stays_as_long_as_one_of_its_sites_holds_something(void **state)
{
	_cleanup_(course_free) struct course course = {
		.history.limits = {.max_sites = 2, .max_processes = 4}};

	(void)state;
	for (uint32_t pid = 1; pid <= 4; pid++)
		hold(&course, pid, 1, 10);
	assert_int_equal(history_add(&course.history, &course.snapshot, NULL), 0);
	assert_int_equal(course.history.processes.count, 4);
	snapshot_free(&course.snapshot);
	hold(&course, 5, 1, 10);
	assert_int_equal(history_add(&course.history, &course.snapshot, NULL), 0);
	assert_int_equal(course.history.processes.count, 3);
	for (uint32_t pid = 1; pid <= 2; pid++)
		assert_int_equal(
			course.history.processes.items[find(&course, pid, 1)->process_index].pid,
			pid);
}

static void targets_without_a_key_are_distinguished_by_their_pid(void **state)
{
	_cleanup_(course_free) struct course course = {0};

	(void)state;
	for (uint32_t pid = 1; pid <= 3; pid++)
		process_of(&course, pid)->key = 0;
	tick(&course, NULL);
	tick(&course, NULL);
	assert_int_equal(course.history.processes.count, 3);
	assert_int_equal(history_process_find(&course.history, 0, 2)->pid, 2);
	assert_int_equal(history_process_find(&course.history, 0, 2)->series.points.count, 2);
	assert_null(history_process_find(&course.history, 0, 4));
}

static void a_sparkline_shows_peaks_and_never_nothing_for_something(void **state)
{
	_cleanup_(course_free) struct course course = {0};
	char text[SPARKLINE_SIZE];

	(void)state;
	for (uint64_t i = 0; i < 8; i++) {
		hold(&course, 1, 1, i == 5 ? 8000 : i);
		tick(&course, NULL);
	}
	assert_string_equal(
		history_sparkline(&course.history, &find(&course, 1, 1)->series, 8, text),
		" ▁▁▁▁█▁▁");
	assert_string_equal(
		history_sparkline(&course.history, &find(&course, 1, 1)->series, 4, text), "▁▁█▁");
	assert_string_equal(
		history_sparkline(&course.history, &find(&course, 1, 1)->series, 0, text), "");
}

static void names_are_those_of_the_latest_report(void **state)
{
	_cleanup_(course_free) struct course course = {0};
	_cleanup_(report_free) struct report report = {0};
	struct report_options all = {.history = &course.history};
	struct report_site *site;

	(void)state;
	hold(&course, 1, 1, 100);
	tick(&course, NULL);
	assert_int_equal(report_build(&report, &course.snapshot, &all), 0);
	site = &report.processes.items[0].sites.items[0];
	assert_ptr_equal(site->series, find(&course, 1, 1));
	site->id = 4711;
	((struct frame *)vec_push(&site->frames.list))->function = "leaker";
	assert_int_equal(history_name(&course.history, &report), 0);
	assert_int_equal(find(&course, 1, 1)->id, 4711);
	assert_string_equal(find(&course, 1, 1)->frames.list.items[0].function, "leaker");
}

static void growth_and_integral_rank_sites(void **state)
{
	_cleanup_(course_free) struct course course = {0};
	static const struct {
		enum sort_key sort;
		uint32_t first;
	} cases[] = {{SORT_BYTES, 1}, {SORT_GROWTH, 2}, {SORT_INTEGRAL, 3}};

	(void)state;
	/* 1 holds most now, 2 grows, 3 has held most for most of the time. */
	for (uint64_t i = 0; i < 60; i++) {
		hold(&course, 1, 1, i < 59 ? 100000 : 900000);
		hold(&course, 1, 2, 1000 * i);
		hold(&course, 1, 3, i < 59 ? 800000 : 10);
		tick(&course, NULL);
	}
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(report_free) struct report report = {0};
		struct report_options options = {
			.history = &course.history, .sort = cases[i].sort, .top = 1};

		assert_int_equal(report_build(&report, &course.snapshot, &options), 0);
		assert_int_equal(report.processes.items[0].sites.items[0].site->index,
				 cases[i].first);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(points_follow_the_snapshots),
		cmocka_unit_test(sites_of_one_call_through_compiled_code_are_summed_up_once),
		cmocka_unit_test(thinning_keeps_the_whole_time_and_the_exact_integral),
		cmocka_unit_test(labels_alone_cannot_fill_the_history),
		cmocka_unit_test(a_history_grows_for_240_snapshots_and_no_longer),
		cmocka_unit_test(sites_beyond_the_limit_are_counted_and_the_empty_ones_give_way),
		cmocka_unit_test(a_storm_of_processes_does_not_fill_the_history),
		cmocka_unit_test(
			processes_beyond_the_limit_are_counted_and_the_empty_ones_give_way),
		cmocka_unit_test(steady_processes_do_not_evict_sites_that_hold_nothing),
		cmocka_unit_test(a_process_stays_as_long_as_one_of_its_sites_holds_something),
		cmocka_unit_test(targets_without_a_key_are_distinguished_by_their_pid),
		cmocka_unit_test(a_sparkline_shows_peaks_and_never_nothing_for_something),
		cmocka_unit_test(names_are_those_of_the_latest_report),
		cmocka_unit_test(growth_and_integral_rank_sites),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
