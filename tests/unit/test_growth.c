// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <math.h>

#include "app/triage/growth.h"
#include "base/cleanup.h"

#define MIB (1024.0 * 1024)
#define PAUSE_S 5

/* A reading every 5 s from `from_s` to `to_s`; other figures stay. */
struct plan {
	double from_s, to_s;
	double start[QUANTITY_MAX_], per_minute[QUANTITY_MAX_];
};

static void follow(struct series *series, const struct plan *plan)
{
	for (double now_s = plan->from_s; now_s < plan->to_s; now_s += PAUSE_S) {
		struct quantities quantities;

		for (size_t i = 0; i < QUANTITY_MAX_; i++)
			quantities.values[i] = floor(
				plan->start[i] + plan->per_minute[i] * (now_s - plan->from_s) / 60);
		assert_int_equal(series_add(series, now_s, &quantities), 0);
	}
}

/*
 * Otherwise, on a machine with hundreds of processes, triage itself seems to leak for its first
 * hours.
 */
static void the_history_of_a_process_takes_no_more_memory_after_some_minutes(void **state)
{
	static const struct plan minutes = {0, 700, {100 * MIB, 50, 4, 9}, {0}};
	static const struct plan hours = {700, 20000, {100 * MIB, 50, 4, 9}, {0}};
	const void *points[SERIES_LEVELS];
	struct series series = {0};

	(void)state;
	follow(&series, &minutes);
	for (size_t i = 0; i < SERIES_LEVELS; i++) {
		assert_int_equal(series.levels[i].capacity, SERIES_POINTS);
		points[i] = series.levels[i].points;
	}
	follow(&series, &hours);
	for (size_t i = 0; i < SERIES_LEVELS; i++)
		assert_ptr_equal(series.levels[i].points, points[i]);
	series_free(&series);
}

static struct growth growth_since(double born_s, const struct plan *plans, size_t count)
{
	struct series series = {0};
	struct growth growth;

	for (size_t i = 0; i < count; i++)
		follow(&series, &plans[i]);
	growth_of(&growth, &series, born_s);
	series_free(&series);
	return growth;
}

static struct growth growth_after(const struct plan *plans, size_t count)
{
	return growth_since(NAN, plans, count);
}

#define AFTER(...)                                                                                 \
	growth_after((const struct plan[]){__VA_ARGS__},                                           \
		     sizeof((const struct plan[]){__VA_ARGS__}) / sizeof(struct plan))

static void nothing_is_reported_before_two_minutes(void **state)
{
	struct growth growth = AFTER({0, 115, {100 * MIB, 50, 4, 9}, {60 * MIB, 100, 100, 100}});

	(void)state;
	assert_int_equal(growth.verdict, TREND_TOO_EARLY);
	growth = AFTER({0, 120, {100 * MIB, 50, 4, 9}, {60 * MIB, 0, 0, 0}});
	assert_int_equal(growth.verdict, TREND_LEAKING);
}

/*
 * An operator with two minutes of memory left is told within half a minute; leaking is reported
 * later.
 */
static void a_line_of_100_mib_a_minute_is_growing_within_30_s(void **state)
{
	struct growth growth = AFTER({0, 30, {500 * MIB, 50, 4, 9}, {100 * MIB, 0, 0, 0}});

	(void)state;
	assert_int_equal(growth.verdict, TREND_GROWING);
	assert_float_equal(growth.per_s, 100 * MIB / 60, 1);
	assert_true(growth.confidence >= 0.5 && growth.confidence < 0.75);
	assert_true(growth_is_worth_probes(&growth));
	growth = AFTER({0, 25, {500 * MIB, 50, 4, 9}, {100 * MIB, 0, 0, 0}});
	assert_int_equal(growth.verdict, TREND_TOO_EARLY);
	growth = AFTER({0, 115, {500 * MIB, 50, 4, 9}, {100 * MIB, 0, 0, 0}});
	assert_int_equal(growth.verdict, TREND_GROWING);
	growth = AFTER({0, 120, {500 * MIB, 50, 4, 9}, {100 * MIB, 0, 0, 0}});
	assert_int_equal(growth.verdict, TREND_LEAKING);
}

static void what_is_slower_jumps_or_has_stopped_is_not_called_so_soon(void **state)
{
	struct growth growth = AFTER({0, 60, {500 * MIB, 50, 4, 9}, {50 * MIB, 0, 0, 0}});

	(void)state;
	assert_int_equal(growth.verdict, TREND_TOO_EARLY);
	growth = AFTER({0, 30, {100 * MIB, 50, 4, 9}, {0, 0, 0, 0}},
		       {30, 60, {300 * MIB, 50, 4, 9}, {0, 0, 0, 0}});
	assert_int_equal(growth.verdict, TREND_TOO_EARLY);
	/* A program that loads 100 MiB at its start, then rests. */
	growth = AFTER({0, 30, {5 * MIB, 50, 4, 9}, {200 * MIB, 0, 0, 0}},
		       {30, 80, {105 * MIB, 50, 4, 9}, {0, 0, 0, 0}});
	assert_int_equal(growth.verdict, TREND_TOO_EARLY);
	growth = AFTER({0, 30, {5 * MIB, 50, 4, 9}, {200 * MIB, 0, 0, 0}},
		       {30, 300, {105 * MIB, 50, 4, 9}, {0, 0, 0, 0}});
	assert_false(trend_is_suspect(growth.verdict));
}

/* The budget of a busy machine makes readings rare: as many as come in two minutes will do. */
static void rare_readings_take_no_more_time(void **state)
{
	static const struct {
		double pause_s, verdict_s;
	} cases[] = {{2, 46}, {5, 115}, {8, 120}, {10, 120}, {16, 176}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct series series = {0};
		struct growth growth = {.verdict = TREND_TOO_EARLY};
		double now_s = 0;

		for (; growth.verdict == TREND_TOO_EARLY; now_s += cases[i].pause_s) {
			struct quantities quantities = {
				.values = {100 * MIB + now_s * MIB / 10, 50, 4, 9}};

			assert_int_equal(series_add(&series, now_s, &quantities), 0);
			growth_of(&growth, &series, NAN);
		}
		assert_float_equal(now_s - cases[i].pause_s, cases[i].verdict_s, 0.001);
		assert_int_equal(growth.verdict, TREND_LEAKING);
		series_free(&series);
	}
}

static void a_leak_has_its_rate(void **state)
{
	struct growth growth = AFTER({0, 180, {100 * MIB, 50, 4, 9}, {MIB, 0, 0, 0}});

	(void)state;
	assert_int_equal(growth.kind, QUANTITY_HEAP);
	assert_int_equal(growth.verdict, TREND_LEAKING);
	assert_float_equal(growth.per_s, MIB / 60, 20);
	assert_float_equal(growth.memory_per_s, growth.per_s, 0);
	assert_true(growth.confidence > 0.99);
}

/* The cause is named and not its effect: a leaked thread brings two mappings and some memory. */
static void the_kind_that_grows_is_named(void **state)
{
	static const struct {
		enum quantity kind;
		double per_minute[QUANTITY_MAX_];
	} cases[] = {
		{QUANTITY_HEAP, {MIB, 0, 0, 0}},
		{QUANTITY_MAPPING, {0, 60, 0, 0}},
		{QUANTITY_THREADS, {20 * 64 * 1024, 40, 20, 0}},
		{QUANTITY_FILES, {60 * 4096, 0, 0, 60}},
		{QUANTITY_HEAP, {60 * 256 * 1024, 60, 0, 0}}, /* blocks that malloc maps */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct plan plan = {0, 300, {100 * MIB, 50, 4, 9}, {0}};
		struct growth growth;

		memcpy(plan.per_minute, cases[i].per_minute, sizeof(plan.per_minute));
		growth = growth_after(&plan, 1);
		assert_int_equal(growth.kind, cases[i].kind);
		assert_int_equal(growth.verdict, TREND_LEAKING);
		assert_float_equal(growth.memory_per_s, cases[i].per_minute[QUANTITY_HEAP] / 60,
				   MIB / 600);
	}
}

/*
 * A program that began with 300 threads seems to warm up as these grow: the verdict on its
 * mappings, and on its heap, is the harder one. Growth faster than threads could cause has another
 * cause.
 */
static void what_threads_bring_is_not_named_before_them(void **state)
{
	static const struct {
		enum quantity kind;
		double per_minute[QUANTITY_MAX_];
	} cases[] = {
		{QUANTITY_THREADS, {0, 120, 60, 0}},
		{QUANTITY_THREADS, {60 * 48 * 1024, 120, 60, 0}},
		{QUANTITY_MAPPING, {0, 240, 60, 0}},
		{QUANTITY_HEAP, {60 * 96 * 1024, 120, 60, 0}},
		{QUANTITY_MAPPING, {0, 120, 0, 0}},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct plan plan = {0, 180, {MIB, 50, 300, 9}, {0}};
		struct growth growth;

		memcpy(plan.per_minute, cases[i].per_minute, sizeof(plan.per_minute));
		growth = growth_since(0, &plan, 1);
		assert_int_equal(growth.kind, cases[i].kind);
		assert_int_equal(growth.verdict,
				 cases[i].kind == QUANTITY_THREADS ? TREND_GROWING : TREND_LEAKING);
	}
}

/* 1 MiB an hour does not show in five minutes, but in four hours. */
static void a_slow_leak_shows_in_a_longer_window(void **state)
{
	struct growth growth = AFTER({0, 4 * 3600, {100 * MIB, 50, 4, 9}, {MIB / 60, 0, 0, 0}});

	(void)state;
	assert_int_equal(growth.verdict, TREND_LEAKING);
	assert_int_equal(growth.level, 2);
	assert_float_equal(growth.per_s * 3600, MIB, MIB / 20);
}

/*
 * A leak after a steep beginning: hidden at first, then visible in a window without the beginning.
 */
static void a_leak_after_a_large_start_is_found(void **state)
{
	struct growth growth = AFTER({0, 60, {2 * MIB, 50, 4, 9}, {500 * MIB, 0, 0, 0}},
				     {60, 600, {502 * MIB, 50, 4, 9}, {1.5 * MIB, 0, 0, 0}});

	(void)state;
	assert_int_equal(growth.verdict, TREND_LEAKING);
	assert_float_equal(growth.per_s * 60, 1.5 * MIB, MIB / 20);
}

static void a_leak_that_ended_is_a_plateau(void **state)
{
	struct growth growth = AFTER({0, 900, {100 * MIB, 50, 4, 9}, {10 * MIB, 0, 0, 0}},
				     {900, 1800, {250 * MIB, 50, 4, 9}, {0}});

	(void)state;
	assert_int_equal(growth.verdict, TREND_PLATEAU);
	assert_float_equal(growth.confidence, 0, 0);
}

/* Each ramp fills the finest window and looks like a leak there. */
static void a_batch_of_ten_minutes_is_no_leak_once_it_was_seen(void **state)
{
	struct series series = {0};
	struct growth growth;

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		struct plan ramp = {i * 600, i * 600 + 400, {100 * MIB, 50, 4, 9}, {20 * MIB}};
		struct plan rest = {i * 600 + 400, i * 600 + 600, {100 * MIB, 50, 4, 9}, {0}};

		ramp.per_minute[QUANTITY_MAPPING] = 0;
		follow(&series, &ramp);
		if (i == 3) {
			growth_of(&growth, &series, NAN);
			assert_int_equal(growth.verdict, TREND_CHURNING);
			assert_float_equal(growth.confidence, 0, 0);
		}
		follow(&series, &rest);
	}
	series_free(&series);
}

/* A busy process varies by 0.2 % of 10 GiB in five minutes anyway. */
static void growth_is_measured_by_what_is_there(void **state)
{
	struct growth growth = AFTER({0, 300, {10240 * MIB, 50, 4, 9}, {MIB, 0, 0, 0}});

	(void)state;
	assert_int_equal(growth.verdict, TREND_STEADY);
	growth = AFTER({0, 300, {10240 * MIB, 50, 4, 9}, {6 * MIB, 0, 0, 0}});
	assert_int_equal(growth.verdict, TREND_LEAKING);
}

/*
 * 100 MiB when the watch begins, then 20 MiB a minute: at the last reading, at 175 s, there are
 * 158.3 MiB, and four fifths of that over the age is the rate below which it is a warm-up: 20 MiB a
 * minute where the process is up to 380 s old.
 */
static void a_process_that_starts_up_is_not_called_leaking(void **state)
{
	static const struct {
		double born_s;
		enum trend_verdict verdict;
		bool warms_up;
	} cases[] = {
		{-1, TREND_GROWING, true},    {-204, TREND_GROWING, true},
		{-206, TREND_LEAKING, false}, {-500, TREND_LEAKING, false},
		{NAN, TREND_LEAKING, false},
	};
	const struct plan plan = {0, 180, {100 * MIB, 50, 4, 9}, {20 * MIB, 0, 0, 0}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct growth growth = growth_since(cases[i].born_s, &plan, 1);

		assert_int_equal(growth.verdict, cases[i].verdict);
		assert_int_equal(growth.warms_up, cases[i].warms_up);
		if (!isnan(cases[i].born_s))
			assert_float_equal(growth.age_s, 175 - cases[i].born_s, 1e-6);
		assert_int_equal(growth_is_worth_probes(&growth), !cases[i].warms_up);
		assert_float_equal(growth.per_s * 60, 20 * MIB, 100);
	}
}

/* A leak since the start has not slowed down; an old process does not start up. */
static void a_leak_of_a_young_process_and_a_small_one_of_an_old_one_are_leaks(void **state)
{
	const struct plan young = {0, 180, {MIB, 50, 4, 9}, {20 * MIB, 0, 0, 0}};
	const struct plan old = {0, 180, {800 * MIB, 50, 4, 9}, {MIB, 0, 0, 0}};
	struct growth growth = growth_since(-1, &young, 1);

	(void)state;
	assert_int_equal(growth.verdict, TREND_LEAKING);
	assert_false(growth.warms_up);
	growth = growth_since(-600, &old, 1);
	assert_int_equal(growth.age_s, 775);
	assert_int_equal(growth.verdict, TREND_LEAKING);
	/* The evidence reaches back into the first ten minutes, and the rest of it is too short. */
	growth = growth_since(-500, &old, 1);
	assert_int_equal(growth.verdict, TREND_GROWING);
	assert_true(growth.warms_up);
}

/*
 * Two servers under steady load, as measured: MiB at each minute of the first sixteen, and the
 * minute from which they are almost constant.
 */
static void what_has_started_up_and_stands_still_is_not_called_leaking(void **state)
{
	static const double courses[][17] = {
		/* node: growing evenly for nine minutes */
		{6.5, 11.5, 13.8, 15.6, 17.7, 19.8, 21.2, 23.4, 25.5, 26.9, 26.9, 27.3, 27.2, 27.7,
		 27.4, 27.3, 27.6},
		/* java -Xmx128m: its heap, in steps */
		{53.2, 66.8, 75.1, 94.2, 94.3, 102.6, 125.6, 125.7, 125.9, 129.5, 138.1, 138.1,
		 138.1, 138.1, 139, 139.1, 139.1},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(courses); i++) {
		struct series series = {0};
		struct growth growth;
		unsigned suspected = 0;

		for (double time_s = 12; time_s < 960; time_s += 5) {
			size_t minute = (size_t)(time_s / 60);
			double part = time_s / 60 - (double)minute;
			struct quantities now = {
				{(courses[i][minute] * (1 - part) + courses[i][minute + 1] * part) *
					 MIB,
				 50, 4, 9}};

			assert_int_equal(series_add(&series, time_s, &now), 0);
			growth_of(&growth, &series, 0);
			suspected += trend_is_suspect(growth.verdict);
			assert_int_not_equal(growth.verdict, TREND_LEAKING);
		}
		assert_true(suspected > 24);
		series_free(&series);
	}
}

/* Readings of a JVM's memory: MiB each 78 s. Its map grew evenly all the time. */
static const double jvm_steps[] = {105,	  138, 150.9, 181.6, 203.6, 259.2, 259.2,
				   259.2, 301, 301.2, 301.7, 301.7, 305.2, 323.7};

/* MiB, minute by minute, of two monitors whose caches fill as processes come and go: by their own
 * measure the growth is not sure. */
static void caches_that_fill_are_not_called_leaking(void **state)
{
	static const double mib[2][40] = {
		{11, 14, 16, 16, 16, 16, 16, 16, 21, 22, 28, 31, 34, 34, 36, 36, 36, 37, 38, 38,
		 38, 38, 38, 38, 42, 42, 43, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44},
		{11, 11, 16, 16, 16, 16, 16, 16, 16, 21, 27, 32, 34, 34, 34, 34, 37, 37, 37, 37,
		 39, 42, 42, 44, 44, 44, 44, 44, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46, 46},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(mib); i++) {
		struct series series = {0};

		for (double now_s = 0; now_s < 60.0 * (double)ARRAY_SIZE(mib[i]); now_s += 10) {
			struct quantities quantities = {
				{mib[i][(size_t)(now_s / 60)] * MIB, 50, 4, 9}};
			struct growth growth;

			assert_int_equal(series_add(&series, now_s, &quantities), 0);
			growth_of(&growth, &series, -30);
			if (growth.verdict == TREND_LEAKING)
				fail_msg("%zu: after %.0f s, confidence %.2f", i, now_s,
					 growth.confidence);
		}
		series_free(&series);
	}
}

static void a_collected_heap_that_grows_in_steps_keeps_its_verdict(void **state)
{
	struct series series = {0};
	struct held_growth held = {0};
	enum trend_verdict before = TREND_TOO_EARLY;
	unsigned changes = 0, suspected = 0, flips = 0;

	(void)state;
	for (double time_s = 5; time_s < 78 * (ARRAY_SIZE(jvm_steps) - 1); time_s += 5) {
		size_t step = (size_t)(time_s / 78);
		double part = fmin((time_s / 78 - (double)step) * 4, 1);
		double mib = jvm_steps[step] * (1 - part) + jvm_steps[step + 1] * part;
		struct quantities now = {{mib * MIB, 50, 4, 9}};
		struct growth growth;

		assert_int_equal(series_add(&series, time_s, &now), 0);
		growth_of(&growth, &series, -600);
		flips += suspected && !trend_is_suspect(growth.verdict);
		growth_hold(&held, &growth, mib * MIB, time_s);
		assert_true(!suspected || trend_is_suspect(growth.verdict));
		suspected += trend_is_suspect(growth.verdict);
		changes += growth.verdict != before;
		before = growth.verdict;
	}
	/* Without the hold it would have flipped; with it, it only became more certain. */
	assert_true(flips > 24);
	assert_in_range(changes, 1, 4);
	series_free(&series);
}

static void what_was_held_ends_with_the_growth(void **state)
{
	struct held_growth held = {0};
	struct growth growth = {.verdict = TREND_LEAKING, .evidence.last = 100 * MIB};

	(void)state;
	growth_hold(&held, &growth, 100 * MIB, 100);
	growth = (struct growth){.verdict = TREND_PLATEAU};
	growth_hold(&held, &growth, 100 * MIB, 100 + GROWTH_HOLD_S - 1);
	assert_int_equal(growth.verdict, TREND_LEAKING);
	growth = (struct growth){.verdict = TREND_PLATEAU};
	growth_hold(&held, &growth, 100 * MIB, 100 + GROWTH_HOLD_S);
	assert_int_equal(growth.verdict, TREND_PLATEAU);
	/* It gave memory back. */
	growth = (struct growth){.verdict = TREND_CHURNING};
	growth_hold(&held, &growth, 80 * MIB, 200);
	assert_int_equal(growth.verdict, TREND_CHURNING);
	/* Another kind has no such steps. */
	growth = (struct growth){.kind = QUANTITY_THREADS, .verdict = TREND_STEADY};
	growth_hold(&held, &growth, 100 * MIB, 200);
	assert_int_equal(growth.verdict, TREND_STEADY);
}

static void a_heap_that_grows_in_steps_has_no_plateau_at_first(void **state)
{
	struct held_growth held = {0};
	struct growth growth = {.verdict = TREND_ONE_OFF};

	(void)state;
	growth_hold(&held, &growth, 100 * MIB, 120);
	assert_int_equal(growth.verdict, TREND_TOO_EARLY);
	growth.verdict = TREND_PLATEAU;
	growth_hold(&held, &growth, 100 * MIB, 119 + GROWTH_HOLD_S);
	assert_int_equal(growth.verdict, TREND_TOO_EARLY);
	growth.verdict = TREND_PLATEAU;
	growth_hold(&held, &growth, 100 * MIB, 120 + GROWTH_HOLD_S);
	assert_int_equal(growth.verdict, TREND_PLATEAU);
}

/* It is called a leak as soon as two minutes have followed the first ten, and from then on. */
static void a_leak_that_began_with_the_process_is_found_when_that_is_warm(void **state)
{
	struct series series = {0};
	struct growth growth;

	(void)state;
	for (double time_s = 0; time_s < 1800; time_s += 5) {
		struct quantities now = {{40 * MIB + time_s * 32 * 1024, 50, 4, 9}};

		assert_int_equal(series_add(&series, time_s, &now), 0);
		growth_of(&growth, &series, 0);
		if (time_s >= 725)
			assert_int_equal(growth.verdict, TREND_LEAKING);
	}
	series_free(&series);
}

/* A server opens the files of its tables one by one, and starts threads as work comes. */
static void a_few_files_threads_and_mappings_make_no_leak(void **state)
{
	static const struct {
		double per_minute[QUANTITY_MAX_];
		enum trend_verdict verdict;
	} cases[] = {
		{{0, 0, 0, 5}, TREND_STEADY},	/* 15 files in all */
		{{0, 0, 0, 9}, TREND_GROWING},	/* 26 */
		{{0, 0, 0, 12}, TREND_LEAKING}, /* 35 */
		{{0, 0, 1, 0}, TREND_STEADY},	/* 2 threads */
		{{0, 0, 2, 0}, TREND_GROWING},	/* 5 */
		{{0, 0, 4, 0}, TREND_LEAKING},	/* 11 */
		{{0, 5, 0, 0}, TREND_STEADY},	/* 15 mappings */
		{{0, 9, 0, 0}, TREND_GROWING},	/* 26 */
		{{0, 12, 0, 0}, TREND_LEAKING}, /* 35 */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct plan plan = {0, 180, {100 * MIB, 50, 4, 9}, {0}};

		memcpy(plan.per_minute, cases[i].per_minute, sizeof(plan.per_minute));
		assert_int_equal(growth_after(&plan, 1).verdict, cases[i].verdict);
	}
}

static void what_grows_ranks_before_what_does_not(void **state)
{
	struct growth steady = {.verdict = TREND_CHURNING, .urgency = 1e9};
	struct growth growing = {.verdict = TREND_GROWING, .urgency = 1e6};
	struct growth leaking = {.verdict = TREND_LEAKING, .urgency = 1};
	struct growth faster = {.verdict = TREND_LEAKING, .urgency = 2};

	(void)state;
	assert_true(growth_compare(&growing, &steady) < 0);
	assert_true(growth_compare(&leaking, &growing) < 0);
	assert_true(growth_compare(&faster, &leaking) < 0);
	assert_true(growth_compare(&steady, &faster) > 0);
	assert_int_equal(growth_compare(&leaking, &leaking), 0);
}

static void kinds_are_called_as_in_json(void **state)
{
	(void)state;
	assert_string_equal(growth_kind_name(QUANTITY_HEAP), "heap");
	assert_string_equal(growth_kind_name(QUANTITY_MAPPING), "mapping");
	assert_string_equal(growth_kind_name(QUANTITY_THREADS), "threads");
	assert_string_equal(growth_kind_name(QUANTITY_FILES), "files");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_history_of_a_process_takes_no_more_memory_after_some_minutes),
		cmocka_unit_test(nothing_is_reported_before_two_minutes),
		cmocka_unit_test(a_line_of_100_mib_a_minute_is_growing_within_30_s),
		cmocka_unit_test(what_is_slower_jumps_or_has_stopped_is_not_called_so_soon),
		cmocka_unit_test(rare_readings_take_no_more_time),
		cmocka_unit_test(a_leak_has_its_rate),
		cmocka_unit_test(the_kind_that_grows_is_named),
		cmocka_unit_test(what_threads_bring_is_not_named_before_them),
		cmocka_unit_test(a_slow_leak_shows_in_a_longer_window),
		cmocka_unit_test(a_leak_after_a_large_start_is_found),
		cmocka_unit_test(a_leak_that_ended_is_a_plateau),
		cmocka_unit_test(a_batch_of_ten_minutes_is_no_leak_once_it_was_seen),
		cmocka_unit_test(growth_is_measured_by_what_is_there),
		cmocka_unit_test(a_process_that_starts_up_is_not_called_leaking),
		cmocka_unit_test(a_leak_of_a_young_process_and_a_small_one_of_an_old_one_are_leaks),
		cmocka_unit_test(what_has_started_up_and_stands_still_is_not_called_leaking),
		cmocka_unit_test(caches_that_fill_are_not_called_leaking),
		cmocka_unit_test(a_collected_heap_that_grows_in_steps_keeps_its_verdict),
		cmocka_unit_test(what_was_held_ends_with_the_growth),
		cmocka_unit_test(a_heap_that_grows_in_steps_has_no_plateau_at_first),
		cmocka_unit_test(a_leak_that_began_with_the_process_is_found_when_that_is_warm),
		cmocka_unit_test(a_few_files_threads_and_mappings_make_no_leak),
		cmocka_unit_test(what_grows_ranks_before_what_does_not),
		cmocka_unit_test(kinds_are_called_as_in_json),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
