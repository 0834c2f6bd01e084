// SPDX-License-Identifier: GPL-2.0-or-later
/* The basis of estimates, and so their limits, at every snapshot; unknown in old files. */
#include <errno.h>
#include <sqlite3.h>

#include "report/analyze/report_build.h"
#include "unit/store_fixture.h"

#define HIT (512 << 10)
#define SITES 4
#define TICKS 80

/* Exact; growing; the same number of other blocks from tick to tick; all until it goes at 40. */
static void site_at(struct site *site, uint32_t index, size_t tick)
{
	uint64_t hits = index == 2 ? tick : 10;

	if (index == 1)
		return;
	site->hit_bytes = HIT;
	site->bytes = hits * HIT;
	site->count = site->bytes / 1024;
	site->allocated_bytes = site->bytes;
	site->hit_count = index == 3 && tick % 2 ? HIT / 512.0 : HIT / 1024.0;
	site->count_variance = (double)site->count * site->hit_count;
}

static bool is_there(uint32_t index, size_t tick)
{
	return index != 4 || tick < 40;
}

static void record_ticks(struct run *run)
{
	struct snapshot_process *process = run_process(run, 1234, "server");

	for (size_t tick = 1; tick <= TICKS; tick++) {
		process = &run->snapshot.processes.items[0];
		vec_free(&process->sites);
		for (uint32_t index = 1; index <= SITES; index++) {
			if (!is_there(index, tick))
				continue;
			run_site(process, index, 100, 64);
			site_at(&process->sites.items[process->sites.count - 1], index, tick);
		}
		assert_int_equal(run_append(run, NULL, false), 0);
	}
	run_end(run);
}

static void expect_sites(struct recording *recording, size_t position, size_t tick, bool known)
{
	_cleanup_(snapshot_free) struct snapshot snapshot = {0};
	_cleanup_(report_free) struct report report = {0};
	const struct report_options all = {.sort = SORT_BYTES};

	assert_int_equal(recording_read(recording, position, &snapshot), 0);
	assert_int_equal(report_build(&report, &snapshot, &all), 0);
	assert_int_equal(recording_name(recording, &report), 0);
	assert_int_equal(snapshot.processes.items[0].samples_itself, known);
	assert_int_equal(snapshot.processes.items[0].sample_interval, known ? HIT : 0);
	assert_false(snapshot.processes.items[0].without_free);
	for (uint32_t index = 1; index <= SITES; index++) {
		const struct report_site *site = read_site(&report, index);
		struct site expected = {0};

		if (!is_there(index, tick)) {
			assert_null(site);
			continue;
		}
		assert_non_null(site);
		if (known)
			site_at(&expected, index, tick);
		assert_true(site->site->hit_bytes == expected.hit_bytes);
		assert_true(site->site->count_variance == expected.count_variance);
		assert_true(site->site->hit_count == expected.hit_count);
	}
}

static void limits_are_read_as_they_were_at_every_snapshot(void **state)
{
	struct run *run = *state;

	record_ticks(run);
	read_expect(run->path, TICKS, expect_sites, true);
}

/* The latest 21 of a window of 100 s: earlier rows represent dropped ones. */
static void what_keep_leaves_is_still_right(void **state)
{
	struct run *run = *state;

	run->options.keep_ns = 100 * SECOND;
	record_ticks(run);
	read_expect(run->path, 21, expect_sites, true);
}

/* A program without free events holds nothing, and its allocations are shown. */
static void without_free_what_was_allocated_is_read(void **state)
{
	_cleanup_(recording_cleanup) struct recording *recording = NULL;
	_cleanup_(snapshot_free) struct snapshot snapshot = {0};
	struct run *run = *state;
	struct snapshot_process *process = run_process(run, 1234, "server");
	struct estimate estimate;
	struct site *site;

	site = vec_push(&process->sites);
	*site = (struct site){.index = 1, .hit_bytes = HIT, .allocated_bytes = 100ull * HIT};
	assert_int_equal(run_append(run, NULL, true), 0);
	run_end(run);
	assert_int_equal(recording_open(&recording, run->path), 0);
	assert_int_equal(recording_read(recording, 0, &snapshot), 0);
	process = &snapshot.processes.items[0];
	assert_true(process->without_free);
	assert_int_equal(process->sites.count, 1);
	estimate = snapshot_estimate_site(&process->sites.items[0]);
	assert_true(estimate.samples == 100);
	/* Garwood: 81.4 to 121.6 */
	assert_true(estimate.bytes.low > 81.0 * HIT && estimate.bytes.low < 82.0 * HIT);
	assert_true(estimate.bytes.high > 121.0 * HIT && estimate.bytes.high < 122.0 * HIT);
}

static void forged_values_are_refused(void **state)
{
	static const char *const forgeries[] = {
		"UPDATE estimates SET hit_bytes=-1",
		"UPDATE estimates SET count_variance=9e999",
		"UPDATE estimates SET hit_count=-9e999",
		"UPDATE estimates SET site='any' WHERE site=2 AND snapshot=1",
	};
	read_refuse(*state, record_ticks, forgeries, ARRAY_SIZE(forgeries));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		store_test(limits_are_read_as_they_were_at_every_snapshot),
		store_test(what_keep_leaves_is_still_right),
		store_test(without_free_what_was_allocated_is_read),
		store_test(forged_values_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
