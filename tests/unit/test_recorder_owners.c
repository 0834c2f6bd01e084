// SPDX-License-Identifier: GPL-2.0-or-later
/* Blocks of threads that have ended: as they were at every snapshot, and unknown in old files. */
#include <errno.h>
#include <sqlite3.h>

#include "report/analyze/report_build.h"
#include "unit/store_fixture.h"

#define SITES 5
#define TICKS 80

/*
 * Returns blocks by dead threads for sites 1..5 at a tick: none, growing, alternating, all until it
 * ends at 40, constant.
 */
static uint64_t by_dead_at(uint32_t index, size_t tick)
{
	const uint64_t counts[] = {0, 0, tick, tick % 3 ? 0 : 2, 4, 1};

	return counts[index];
}

static bool is_there(uint32_t index, size_t tick)
{
	return index != 4 || tick < 40;
}

static void set_sites(struct run *run, size_t tick)
{
	struct snapshot_process *process = &run->snapshot.processes.items[0];

	vec_free(&process->sites);
	for (uint32_t index = 1; index <= SITES; index++) {
		struct site *site;

		if (!is_there(index, tick))
			continue;
		/* The numbers of a site may be constant while its threads end, and the other way
		 * round. */
		run_site(process, index, index == 5 ? tick : 100, 64);
		site = &process->sites.items[process->sites.count - 1];
		site->by_dead_count = by_dead_at(index, tick);
		site->by_dead_bytes = site->by_dead_count * 64;
	}
}

static void record_ticks(struct run *run)
{
	run->snapshot.has_owners = true;
	run_process(run, 1234, "server");
	for (size_t tick = 1; tick <= TICKS; tick++) {
		set_sites(run, tick);
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
	assert_int_equal(snapshot.has_owners, known);
	for (uint32_t index = 1; index <= SITES; index++) {
		const struct report_site *site = read_site(&report, index);

		if (!is_there(index, tick)) {
			assert_null(site);
			continue;
		}
		assert_non_null(site);
		assert_int_equal(site->site->by_dead_count, known ? by_dead_at(index, tick) : 0);
		assert_int_equal(site->site->by_dead_bytes,
				 known ? by_dead_at(index, tick) * 64 : 0);
	}
}

static void what_ended_threads_left_is_read_as_it_was_at_every_snapshot(void **state)
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

static void only_theirs_is_distinguished_from_all(void **state)
{
	_cleanup_(recording_cleanup) struct recording *recording = NULL;
	struct run *run = *state;

	run->snapshot.only_by_dead = true;
	record_ticks(run);
	assert_int_equal(recording_open(&recording, run->path), 0);
	for (size_t i = 0; i < TICKS; i += TICKS - 1) {
		_cleanup_(snapshot_free) struct snapshot snapshot = {0};

		assert_int_equal(recording_read(recording, i, &snapshot), 0);
		assert_true(snapshot.only_by_dead);
	}
}

static void forged_values_are_refused(void **state)
{
	static const char *const forgeries[] = {
		"UPDATE by_dead SET count=-1",
		"UPDATE by_dead SET bytes='many'",
		"UPDATE snapshots SET has_owners='perhaps'",
	};
	read_refuse(*state, record_ticks, forgeries, ARRAY_SIZE(forgeries));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		store_test(what_ended_threads_left_is_read_as_it_was_at_every_snapshot),
		store_test(what_keep_leaves_is_still_right),
		store_test(only_theirs_is_distinguished_from_all),
		store_test(forged_values_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
