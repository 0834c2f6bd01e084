// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "report/analyze/report_build.h"
#include "report_fixture.h"

/* index, bytes, count; deliberately not in any order. */
static const struct {
	uint32_t index;
	uint64_t bytes, count;
} sites[] = {
	{5, 100, 1}, {3, 300, 2}, {7, 100, 9}, {2, 300, 2}, {8, 0, 0}, {1, 300, 4}, {6, 0, 1},
};

static void sites_make(struct fixture *fixture)
{
	struct snapshot_process *process;

	*fixture = (struct fixture){0};
	process = fixture_process(fixture, 1, "a", NULL);
	for (size_t i = 0; i < ARRAY_SIZE(sites); i++)
		fixture_site(process, sites[i].index, sites[i].bytes, sites[i].count,
			     sites[i].index / 2 * SECOND);
}

static void assert_order(const struct report *report, const uint32_t *indices, size_t count)
{
	const struct report_process *process = &report->processes.items[0];

	assert_int_equal(process->sites.count, count);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(process->sites.items[i].site->index, indices[i]);
}

static void sites_rank_by_the_key_then_the_other_key_then_the_index(void **state)
{
	static const struct {
		enum sort_key sort;
		uint32_t order[6];
	} cases[] = {
		{SORT_BYTES, {1, 2, 3, 7, 5, 6}},
		{SORT_COUNT, {7, 1, 2, 3, 5, 6}},
		{SORT_AGE, {7, 6, 5, 2, 3, 1}}, /* age of the oldest block, here index / 2 s */
	};
	struct fixture fixture;

	(void)state;
	sites_make(&fixture);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct report_options options = {.sort = cases[i].sort};

		assert_int_equal(report_build(&fixture.report, &fixture.snapshot, &options), 0);
		assert_order(&fixture.report, cases[i].order, 6);
		report_free(&fixture.report);
	}
	fixture_free(&fixture);
}

static void the_cut_keeps_the_first_and_the_total(void **state)
{
	static const uint32_t order[] = {1, 2, 3, 7, 5, 6};
	static const struct {
		size_t top, shown;
	} cases[] = {{0, 6}, {1, 1}, {5, 5}, {6, 6}, {7, 6}, {SIZE_MAX, 6}};
	struct fixture fixture;

	(void)state;
	sites_make(&fixture);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct report_options options = {.top = cases[i].top};

		assert_int_equal(report_build(&fixture.report, &fixture.snapshot, &options), 0);
		assert_order(&fixture.report, order, cases[i].shown);
		assert_int_equal(fixture.report.processes.items[0].sites_total, 6);
		report_free(&fixture.report);
	}
	fixture_free(&fixture);
}

static void processes_rank_by_bytes_then_count_then_key(void **state)
{
	static const struct {
		uint32_t pid;
		uint64_t bytes, count;
	} made[] = {{30, 10, 1}, {20, 10, 1}, {10, 5, 9}, {40, 10, 2}, {50, 0, 0}, {60, 99, 1}};
	static const uint32_t order[] = {60, 40, 20, 30, 10, 50};
	const struct report_options options = {0};
	struct fixture fixture = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(made); i++) {
		struct snapshot_process *process =
			fixture_process(&fixture, made[i].pid, "p", NULL);

		process->outstanding_bytes = made[i].bytes;
		process->outstanding_count = made[i].count;
	}
	assert_int_equal(report_build(&fixture.report, &fixture.snapshot, &options), 0);
	assert_int_equal(fixture.report.processes.count, ARRAY_SIZE(order));
	for (size_t i = 0; i < ARRAY_SIZE(order); i++)
		assert_int_equal(fixture.report.processes.items[i].process->pid, order[i]);
	fixture_free(&fixture);
}

static void blocks_go_to_their_site_oldest_first(void **state)
{
	const struct report_options options = {.top = 2, .show_allocs = true};
	static const uint64_t addresses[] = {0x30, 0x10, 0x20, 0x40};
	const struct report_site *shown;
	struct fixture fixture;

	(void)state;
	sites_make(&fixture);
	fixture_block(&fixture.snapshot.processes.items[0], 1, 0x20, 8, 500);
	fixture_block(&fixture.snapshot.processes.items[0], 6, 0x99, 8, 999);
	fixture_block(&fixture.snapshot.processes.items[0], 1, 0x40, 8, 0);
	fixture_block(&fixture.snapshot.processes.items[0], 1, 0x10, 8, 500);
	fixture_block(&fixture.snapshot.processes.items[0], 1, 0x30, 8, 501);
	assert_int_equal(report_build(&fixture.report, &fixture.snapshot, &options), 0);
	assert_true(fixture.report.show_allocs);
	shown = fixture.report.processes.items[0].sites.items;
	assert_int_equal(shown[0].blocks.count, ARRAY_SIZE(addresses));
	for (size_t i = 0; i < ARRAY_SIZE(addresses); i++)
		assert_int_equal(shown[0].blocks.items[i].address, addresses[i]);
	assert_int_equal(shown[1].blocks.count, 0);
	fixture_free(&fixture);
}

static void blocks_are_not_copied_unasked(void **state)
{
	const struct report_options options = {0};
	struct fixture fixture;

	(void)state;
	sites_make(&fixture);
	fixture_block(&fixture.snapshot.processes.items[0], 1, 0x20, 8, 500);
	assert_int_equal(report_build(&fixture.report, &fixture.snapshot, &options), 0);
	assert_false(fixture.report.show_allocs);
	assert_int_equal(fixture.report.processes.items[0].sites.items[0].blocks.count, 0);
	assert_int_equal(fixture.report.processes.items[0].sites.items[0].frames.list.count, 0);
	fixture_free(&fixture);
}

static void an_empty_snapshot_gives_an_empty_report(void **state)
{
	const struct report_options options = {.show_allocs = true};
	struct fixture fixture = {0};

	(void)state;
	assert_int_equal(report_build(&fixture.report, &fixture.snapshot, &options), 0);
	assert_ptr_equal(fixture.report.snapshot, &fixture.snapshot);
	assert_int_equal(fixture.report.processes.count, 0);
	fixture_free(&fixture);
}

static void sort_keys_parse_by_name_only(void **state)
{
	static const char *const unknown[] = {"", "byte", "bytesx", "BYTES", "ages"};
	enum sort_key key = SORT_MAX_;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(unknown); i++) {
		assert_int_equal(sort_key_parse(unknown[i], &key), -EINVAL);
		assert_int_equal(key, SORT_MAX_);
	}
	assert_int_equal(sort_key_parse("bytes", &key), 0);
	assert_int_equal(key, SORT_BYTES);
	assert_int_equal(sort_key_parse("age", &key), 0);
	assert_int_equal(key, SORT_AGE);
	assert_string_equal(sort_key_name(key), "age");
	assert_int_equal(sort_key_parse("count", &key), 0);
	assert_int_equal(key, SORT_COUNT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sites_rank_by_the_key_then_the_other_key_then_the_index),
		cmocka_unit_test(the_cut_keeps_the_first_and_the_total),
		cmocka_unit_test(processes_rank_by_bytes_then_count_then_key),
		cmocka_unit_test(blocks_go_to_their_site_oldest_first),
		cmocka_unit_test(blocks_are_not_copied_unasked),
		cmocka_unit_test(an_empty_snapshot_gives_an_empty_report),
		cmocka_unit_test(sort_keys_parse_by_name_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
