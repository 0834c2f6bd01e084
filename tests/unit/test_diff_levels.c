// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Differences count lasting blocks only. Simulated runs of a small shop, like
 * tests/workloads/shop.c: settings that stay, a cache that fills, an index built once, short-lived
 * reports, sessions of which some are lost. Two runs end in the middle of an activity.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "report/analyze/diff_build.h"
#include "report/diff.h"
#include "report/analyze/site_trend.h"
#include "report/analyze/report_build.h"
#include "base/cleanup.h"
#include "series_fixture.h"

enum part { SETTINGS, CACHE, INDEX, REPORTS, SESSIONS, PARTS };

static const char *const part_names[PARTS] = {"settings_load", "page_load", "index_build",
					      "report_make", "session_open"};

#define TICK_NS UINT64_C(250000000)
#define TICKS 120
#define SESSION_BYTES 2048

struct run {
	struct random random;
	double report_every, report_lasts, report_begin;
	uint64_t lost; /* sessions, so far */
	bool leaks;
	struct snapshot snapshot;
	struct report report;
	struct history around;
};

static void run_free(struct run *run)
{
	report_free(&run->report);
	snapshot_free(&run->snapshot);
	history_free(&run->around);
}

static void hold(struct site *site, uint64_t count, uint64_t size)
{
	site->count = count;
	site->bytes = count * size;
}

/* Lines of a report pile up, and go all at once. */
static uint64_t report_lines(const struct run *run, double tick)
{
	double phase = fmod(tick + run->report_begin, run->report_every);

	return phase < run->report_lasts ? (uint64_t)(64 * (phase + 1) / run->report_lasts) : 0;
}

static void run_step(struct run *run, size_t tick)
{
	struct site *sites = run->snapshot.processes.items[0].sites.items;

	run->snapshot.sequence++;
	run->snapshot.monotonic_ns += TICK_NS;
	if (run->leaks)
		run->lost += (uint64_t)random_between(&run->random, 0, 3);
	hold(&sites[SETTINGS], 60, 128);
	hold(&sites[CACHE], MIN(tick * 3, (size_t)220), 2048);
	hold(&sites[INDEX], tick < 40 ? 0 : 90, 4096);
	hold(&sites[REPORTS], report_lines(run, (double)tick), 5632);
	hold(&sites[SESSIONS], run->lost + (uint64_t)random_between(&run->random, 30, 48),
	     SESSION_BYTES);
}

static void run_name(struct run *run)
{
	const struct report_options all = {.sort = SORT_BYTES};
	struct report_process *process;

	report_free(&run->report);
	assert_int_equal(report_build(&run->report, &run->snapshot, &all), 0);
	process = &run->report.processes.items[0];
	for (size_t i = 0; i < process->sites.count; i++) {
		struct report_site *site = &process->sites.items[i];
		uint32_t part = site->site->index - 1;

		*(struct frame *)vec_push(&site->frames.list) =
			(struct frame){.function = part_names[part],
				       .module = "/bin/shop",
				       .build_id = "01",
				       .module_offset = 16 * (part + 1)};
		site->id = symbolizer_stack_id(&site->frames);
	}
}

static void run_make(struct run *run, uint64_t seed, bool leaks, size_t ticks)
{
	struct snapshot_process *process;

	*run = (struct run){.random.state = seed * 7919, .leaks = leaks};
	run->report_every = random_between(&run->random, 14, 25);
	run->report_lasts = random_between(&run->random, 3, 8);
	run->report_begin = random_between(&run->random, 0, 25);
	process = vec_push(&run->snapshot.processes);
	*process = (struct snapshot_process){.key = seed << 32 | 1, .pid = 1, .comm = "shop"};
	for (uint32_t i = 0; i < PARTS; i++)
		((struct site *)vec_push(&process->sites))->index = i + 1;
	for (size_t tick = 0; tick < ticks; tick++) {
		run_step(run, tick);
		assert_int_equal(history_add(&run->around, &run->snapshot, NULL), 0);
	}
	run_name(run);
	assert_int_equal(history_name(&run->around, &run->report), 0);
	run->report.around = &run->around;
	run->report.around_span = run->around.times.count;
}

static const struct diff_row *row_of(const struct diff *diff, enum part part)
{
	for (size_t i = 0; i < diff->rows.count; i++) {
		const struct frame *frame = diff->rows.items[i].site->frames.list.items;

		if (!strcmp(frame->function, part_names[part]))
			return &diff->rows.items[i];
	}
	return NULL;
}

struct tally {
	size_t wrong, instants_wrong, bursts;
};

/* Reports on anything but sessions, or wrong ones on these: between two runs of one program, or
 * before and after the fix. */
static void judge(struct tally *tally, const struct run *before, const struct run *after)
{
	_cleanup_(diff_free) struct diff diff = {0};
	int64_t lost = ((int64_t)after->lost - (int64_t)before->lost) * SESSION_BYTES;
	int64_t said, at_these_moments;
	bool wrong = false;

	assert_int_equal(
		diff_build(&diff, &before->report, &after->report, DIFF_BY_SITE, SORT_BYTES), 0);
	assert_true(diff.has_levels);
	said = (int64_t)(diff.stays_after.bytes - diff.stays_before.bytes);
	at_these_moments = (int64_t)(diff.total_after.bytes - diff.total_before.bytes);
	for (enum part i = 0; i < PARTS; i++) {
		const struct diff_row *row = row_of(&diff, i);

		if (row && i != SESSIONS)
			wrong |= row->state != DIFF_SAME;
		tally->bursts += row && diff_is_burst(row);
	}
	/* The sessions that live vary by 18. */
	wrong |= llabs(said - lost) > 18 * SESSION_BYTES;
	tally->wrong += wrong;
	tally->instants_wrong += llabs(at_these_moments - lost) > 18 * SESSION_BYTES;
	if (wrong)
		print_message("%" PRId64 " lost, %" PRId64 " said\n", lost, said);
}

static void two_hundred_pairs_of_runs_have_no_wrong_headline(void **state)
{
	struct tally tally = {0};

	(void)state;
	for (uint64_t seed = 1; seed <= 100; seed++) {
		_cleanup_(run_free) struct run leaking, again, repaired;

		run_make(&leaking, seed, true, TICKS);
		run_make(&again, seed + 1000, true, TICKS);
		run_make(&repaired, seed + 2000, false, TICKS);
		judge(&tally, &leaking, &again);
		judge(&tally, &leaking, &repaired);
	}
	print_message("200 pairs: %zu wrong headlines; by instants %zu; %zu bursts told apart\n",
		      tally.wrong, tally.instants_wrong, tally.bursts);
	assert_int_equal(tally.wrong, 0);
	assert_true(tally.instants_wrong > 40);
}

/* Points of one site; the last point is the snapshot's, unless the window differs. */
static struct level level_after(const uint64_t *bytes, size_t count, size_t at)
{
	_cleanup_(history_free) struct history history = {0};
	struct snapshot snapshot = {0};
	struct snapshot_process *process = vec_push(&snapshot.processes);
	struct level_window window;
	struct level level;

	*process = (struct snapshot_process){.key = 5, .pid = 5};
	*(struct site *)vec_push(&process->sites) = (struct site){.index = 1};
	for (size_t i = 0; i < count; i++) {
		snapshot.sequence++;
		snapshot.monotonic_ns += TICK_NS;
		hold(&process->sites.items[0], bytes[i], 1);
		assert_int_equal(history_add(&history, &snapshot, NULL), 0);
	}
	window = level_window(&history, at, count);
	level_of(&level, &history, &history.sites.items[0], &window);
	snapshot_free(&snapshot);
	return level;
}

static void what_stays_is_distinguished_from_what_is_in_flight(void **state)
{
	static const struct {
		const char *what;
		uint64_t bytes[16];
		size_t at;
		uint64_t stays;
	} cases[] = {
		{"level", {9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9}, 15, 9},
		{"grows", {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}, 15, 16},
		{"grows, from the first",
		 {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16},
		 0,
		 1},
		{"burst at the end", {4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 99}, 15, 4},
		{"of two", {4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 99, 99}, 15, 4},
		{"burst at the begin", {99, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4}, 0, 4},
		{"burst in the middle", {4, 4, 4, 4, 4, 4, 4, 99, 4, 4, 4, 4, 4, 4, 4, 4}, 7, 4},
		{"a step that lasts", {4, 4, 4, 4, 4, 4, 4, 4, 9, 9, 9, 9, 9, 9, 9, 9}, 15, 9},
		{"comes and goes", {4, 9, 4, 9, 4, 9, 4, 9, 4, 9, 4, 9, 4, 9, 4, 9}, 15, 4},
		{"gone", {4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 0, 0}, 15, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct level level = level_after(cases[i].bytes, 16, cases[i].at);

		if (level.bytes != cases[i].stays || level.count != cases[i].stays)
			fail_msg("%s: %" PRIu64 " bytes, %" PRIu64 " blocks", cases[i].what,
				 level.bytes, level.count);
	}
}

/* Two snapshots, and one: uses those available. */
static void without_snapshots_around_the_instants_are_compared(void **state)
{
	_cleanup_(run_free) struct run before, after;
	_cleanup_(diff_free) struct diff diff = {0};

	(void)state;
	run_make(&before, 3, true, 2);
	run_make(&after, 4, true, 1);
	assert_int_equal(diff_build(&diff, &before.report, &after.report, DIFF_BY_SITE, SORT_BYTES),
			 0);
	assert_false(diff.has_levels);
	assert_int_equal(diff.stays_before.bytes, diff.total_before.bytes);
	assert_int_equal(diff.stays_after.bytes, diff.total_after.bytes);
	assert_int_equal(diff.stays_after.count, diff.total_after.count);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_hundred_pairs_of_runs_have_no_wrong_headline),
		cmocka_unit_test(what_stays_is_distinguished_from_what_is_in_flight),
		cmocka_unit_test(without_snapshots_around_the_instants_are_compared),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
