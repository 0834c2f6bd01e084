// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Verdicts from reading to reading: the same course in triage (anonymous memory of a process) and
 * in a watch (bytes of a call stack), judged at every reading.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "app/triage/growth.h"
#include "base/cleanup.h"
#include "report/analyze/site_trend.h"
#include "series_fixture.h"

#define KIB 1024.0
#define PAUSE_S 5
#define READINGS 160

/* One process with one site, as triage and as a watch see it. */
struct watched {
	struct series series;
	struct history history;
	struct snapshot snapshot;
	unsigned reading;
	enum trend_verdict triage, watch;
};

static void watched_begin(struct watched *watched)
{
	struct snapshot_process *process;

	*watched = (struct watched){.snapshot.has_ages = true};
	process = vec_push(&watched->snapshot.processes);
	assert_non_null(process);
	*process = (struct snapshot_process){.key = 77ull << 32 | 1, .pid = 77, .comm = "course"};
	((struct site *)vec_push(&process->sites))->index = 1;
}

static void watched_end(struct watched *watched)
{
	series_free(&watched->series);
	history_free(&watched->history);
	snapshot_free(&watched->snapshot);
}

/*
 * Takes the next reading. `replaced`: blocks that were freed since the last reading; the oldest
 * goes first.
 */
static void watched_read(struct watched *watched, double bytes, uint64_t count, uint64_t replaced)
{
	struct site *site = &watched->snapshot.processes.items[0].sites.items[0];
	struct quantities quantities = {.values = {bytes, 50, 4, 9}};
	double now_s = PAUSE_S * (double)watched->reading++;
	struct site_trend trend;
	struct growth growth;

	site->freed_count += replaced;
	site->allocated_count = count + site->freed_count;
	site->count = count;
	site->bytes = (uint64_t)bytes;
	site->oldest_ns = (uint64_t)(1e9 * (replaced >= count ? PAUSE_S : now_s + 1));
	watched->snapshot.sequence++;
	watched->snapshot.monotonic_ns = (uint64_t)((now_s + PAUSE_S) * 1e9);
	assert_int_equal(series_add(&watched->series, now_s, &quantities), 0);
	assert_int_equal(history_add(&watched->history, &watched->snapshot, NULL), 0);
	growth_of(&growth, &watched->series, NAN);
	site_trend_of(&trend, &watched->history, &watched->history.sites.items[0]);
	watched->triage = growth.verdict;
	watched->watch = trend.verdict;
}

static void expect_both(const struct watched *watched, enum trend_verdict verdict)
{
	if (watched->reading < GROWTH_READINGS_MIN)
		return;
	if (watched->triage != verdict || watched->watch != verdict)
		print_message("reading %u: triage %s, watch %s\n", watched->reading,
			      trend_verdict_name(watched->triage),
			      trend_verdict_name(watched->watch));
	assert_int_equal(watched->triage, verdict);
	assert_int_equal(watched->watch, verdict);
}

/* R² is 1.00, and the residuals are correlated over minutes. */
static void a_leak_that_rises_in_every_reading_stays_leaking(void **state)
{
	(void)state;
	for (unsigned period = 10; period <= 160; period += 50) {
		struct watched watched;
		double bytes = 30000 * KIB;

		watched_begin(&watched);
		for (unsigned i = 0; i < READINGS; i++) {
			bytes += 500 * KIB * (1 + 0.3 * sin(2 * M_PI * i / period));
			watched_read(&watched, bytes, 100 + i, 0);
			expect_both(&watched, TREND_LEAKING);
		}
		watched_end(&watched);
	}
}

#define CACHED_PAGES 64

/* Pages are requested by chance, so the last ones come late and far apart. */
static void a_cache_that_is_full_stays_a_plateau(void **state)
{
	(void)state;
	for (unsigned seed = 0; seed < 8; seed++) {
		struct random random = {seed};
		bool cached[CACHED_PAGES] = {0};
		unsigned pages = 0, requests = 4 + seed, full_for = 0;
		struct watched watched;

		watched_begin(&watched);
		for (unsigned i = 0; i < READINGS; i++) {
			for (unsigned j = 0; j < requests; j++) {
				bool *page =
					&cached[(size_t)random_between(&random, 0, CACHED_PAGES)];

				pages += !*page;
				*page = true;
			}
			watched_read(&watched, 64 * KIB * pages, pages, 0);
			full_for += pages == CACHED_PAGES;
			/* A reading for the last step, and some to see that no other comes. */
			if (full_for <= 12 || watched.reading < GROWTH_READINGS_MIN)
				continue;
			assert_false(trend_is_suspect(watched.triage));
			assert_false(trend_is_suspect(watched.watch));
		}
		assert_true(full_for > 40);
		watched_end(&watched);
	}
}

/* A queue of constant length with growing messages: no block stays, and yet it has no bound. */
static void messages_that_grow_in_a_queue_of_constant_length_leak(void **state)
{
	struct watched watched;

	(void)state;
	watched_begin(&watched);
	for (unsigned i = 0; i < READINGS; i++) {
		watched_read(&watched, 100 * KIB * (64 + 4.0 * i), 100, 100);
		expect_both(&watched, TREND_LEAKING);
	}
	watched_end(&watched);
}

/*
 * Returns the verdict on a site that gains that many blocks evenly, in a process with `others`
 * further bytes.
 */
static enum trend_verdict verdict_on_blocks(uint64_t blocks, uint64_t size, uint64_t others)
{
	struct watched watched;
	enum trend_verdict verdict;

	watched_begin(&watched);
	watched.snapshot.processes.items[0].outstanding_count = 1;
	for (unsigned i = 0; i < 64; i++) {
		uint64_t count = 2 + blocks * i / 63;

		watched.snapshot.processes.items[0].outstanding_bytes = others + count * size;
		watched_read(&watched, (double)(count * size), count, 0);
	}
	verdict = watched.watch;
	watched_end(&watched);
	return verdict;
}

static void few_small_blocks_and_a_trifle_of_the_process_accuse_nobody(void **state)
{
	(void)state;
	assert_int_equal(verdict_on_blocks(3, 2048, 0), TREND_STEADY);
	assert_true(trend_is_suspect(verdict_on_blocks(63, 2048, 0)));
	/* 126 KiB are more than a ten-thousandth of 1 GiB, and less than one of 2 GiB. */
	assert_true(trend_is_suspect(verdict_on_blocks(63, 2048, 1ull << 30)));
	assert_int_equal(verdict_on_blocks(63, 2048, 2ull << 30), TREND_STEADY);
}

#define SEEDS 4

/* How often the word changes once it is leaking, in triage and in the watch together. */
static unsigned changes(enum course_kind kind, unsigned seed)
{
	struct course course = {.random.state = seed * 7919 + kind * 104729,
				.level_kib = 20000,
				.amplitude_kib = 300,
				.noise_kib = 200,
				.time_s = 10 + 5 * seed};
	bool in_triage = false, in_watch = false;
	struct watched watched;
	unsigned count = 0;

	watched_begin(&watched);
	for (unsigned i = 0; i < READINGS; i++) {
		watched_read(&watched, KIB * course_kib(&course, kind, PAUSE_S * i), 10 + i, 0);
		count += in_triage && watched.triage != TREND_LEAKING;
		count += in_watch && watched.watch != TREND_LEAKING;
		in_triage = watched.triage == TREND_LEAKING;
		in_watch = watched.watch == TREND_LEAKING;
	}
	assert_true(in_triage && in_watch);
	watched_end(&watched);
	return count;
}

static void what_is_called_a_leak_stays_one_while_it_leaks(void **state)
{
	static const enum course_kind kinds[] = {COURSE_LEAK, COURSE_LEAK_NOISE, COURSE_LEAK_BURSTS,
						 COURSE_LEAK_GC};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		for (unsigned seed = 0; seed < SEEDS; seed++)
			assert_int_equal(changes(kinds[i], seed), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_leak_that_rises_in_every_reading_stays_leaking),
		cmocka_unit_test(a_cache_that_is_full_stays_a_plateau),
		cmocka_unit_test(messages_that_grow_in_a_queue_of_constant_length_leak),
		cmocka_unit_test(few_small_blocks_and_a_trifle_of_the_process_accuse_nobody),
		cmocka_unit_test(what_is_called_a_leak_stays_one_while_it_leaks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
