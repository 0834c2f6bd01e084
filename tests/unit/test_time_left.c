// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * When a limit will be reached: simulated memory of programs that leak evenly, in bursts, between
 * collections, in steps, faster and faster; the interval stated with five minutes left must contain
 * the true time in nine of ten cases, and be narrow enough to be useful.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "report/analyze/time_left.h"

#define POLL_S 5.0
#define COURSES 400 /* of each kind */
#define MIB 1048576.0

struct course {
	double limit, rate; /* bytes; bytes a second on average */
	double value;	    /* without fluctuation */
	double time_s, period_s, size;
	uint64_t random;
};

static double chance(struct course *course)
{
	course->random += 0x9e3779b97f4a7c15u;
	return (double)(hash_mix(course->random) >> 11) / 9007199254740992.0;
}

/* Normal, by the sum of twelve. */
static double normal(struct course *course)
{
	double sum = -6;

	for (int i = 0; i < 12; i++)
		sum += chance(course);
	return sum;
}

/* Each advances by a second, and returns the measured value. */
static double even(struct course *course)
{
	course->value += course->rate;
	return course->value + 0.002 * course->limit * normal(course);
}

static double walking(struct course *course)
{
	course->value += course->rate * (1 + 3 * normal(course));
	return course->value;
}

/* Requests come for some seconds, and then none do. */
static double bursts(struct course *course)
{
	if (fmod(course->time_s, course->period_s) < course->period_s / 2)
		course->value += 2 * course->rate;
	return course->value;
}

/* Memory released by a collector, with the leak below it. */
static double collected(struct course *course)
{
	course->value += course->rate;
	return course->value +
	       course->size * fmod(course->time_s, course->period_s) / course->period_s;
}

/* Arenas and pools are taken in pieces, at any time. */
static double steps(struct course *course)
{
	if (chance(course) < course->rate / course->size)
		course->value += course->size;
	return course->value;
}

static double speed_up(struct course *course, double share_per_minute)
{
	course->rate *= 1 + share_per_minute / 60;
	course->value += course->rate * (1 + normal(course));
	return course->value;
}

static double faster(struct course *course)
{
	return speed_up(course, 0.02);
}

static double much_faster(struct course *course)
{
	return speed_up(course, 0.1);
}

/* Memory loaded at the start predicts nothing. */
static double started(struct course *course)
{
	course->value += (course->time_s < 30 ? 8 : 1) * course->rate * (1 + normal(course));
	return course->value;
}

static const struct kind {
	const char *name;
	double (*next)(struct course *course);
} kinds[] = {{"even", even},
	     {"walking", walking},
	     {"bursts", bursts},
	     {"collected", collected},
	     {"steps", steps},
	     {"faster", faster},
	     {"much faster", much_faster},
	     {"started", started}};

static void course_begin(struct course *course, uint64_t seed)
{
	*course = (struct course){.random = seed, .limit = 512 * MIB};
	/* It takes 8 to 30 minutes. */
	course->rate = course->limit / (480 + 1320 * chance(course));
	course->period_s = 15 + 35 * chance(course);
	course->size = course->limit * (0.005 + 0.015 * chance(course));
}

struct outcome {
	size_t stated, held, early;
	double width; /* sum of (high - low) / seconds */
};

/* Polls as the triage does, 64 points at most, until the limit is reached. */
static void course_run(const struct kind *kind, uint64_t seed, struct outcome *outcome)
{
	struct trend_point points[64];
	struct time_left said = {0};
	struct course course;
	size_t count = 0;
	double due_s = 0, said_s = 0, measured = 0;

	course_begin(&course, seed);
	for (; measured < course.limit && course.time_s < 7200; course.time_s++) {
		measured = kind->next(&course);
		if (course.time_s < due_s || said.known)
			continue;
		due_s = course.time_s + POLL_S * (0.8 + 0.4 * chance(&course));
		if (count == ARRAY_SIZE(points))
			memmove(points, points + 1, --count * sizeof(*points));
		points[count++] = (struct trend_point){course.time_s, measured};
		time_left_judge(&said, points, count, course.limit);
		said.known &= said.seconds <= 300;
		said_s = course.time_s;
	}
	if (!said.known || said.seconds <= 0)
		return;
	outcome->stated++;
	outcome->early += course.time_s - said_s < said.low;
	outcome->held += course.time_s - said_s >= said.low - POLL_S &&
			 course.time_s - said_s <= said.high + POLL_S;
	outcome->width += (said.high - said.low) / said.seconds;
}

static void of_each_kind_nine_of_ten_limits_are_reached_within_the_interval(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct outcome outcome = {0};

		for (uint64_t seed = 0; seed < COURSES; seed++)
			course_run(&kinds[i], 1000 * i + seed, &outcome);
		print_message("%-11s %zu stated, %zu within (%zu before), width %.2f\n",
			      kinds[i].name, outcome.stated, outcome.held, outcome.early,
			      outcome.width / (double)outcome.stated);
		assert_true(outcome.stated >= COURSES * 9 / 10);
		assert_true(10 * outcome.held >= 9 * outcome.stated);
		assert_true(outcome.width < 2.0 * (double)outcome.stated);
	}
}

static void points_fill(struct trend_point *points, size_t count, double from, double per_s)
{
	for (size_t i = 0; i < count; i++)
		points[i] = (struct trend_point){5.0 * (double)i, from + per_s * 5.0 * (double)i};
}

static void a_line_has_one_answer(void **state)
{
	struct trend_point points[20];
	struct time_left left;

	(void)state;
	points_fill(points, 20, 1000, 10);
	time_left_judge(&left, points, 20, 1950 + 2400);
	assert_true(left.known);
	assert_float_equal(left.seconds, 240, 0.01);
	assert_float_equal(left.low, 240, 0.01);
	assert_float_equal(left.high, 240, 0.01);
	time_left_judge(&left, points, 20, 1950);
	assert_true(left.known && !(left.seconds > 0));
}

static void what_does_not_surely_grow_has_no_answer(void **state)
{
	struct trend_point points[20];
	struct time_left left;

	(void)state;
	points_fill(points, 20, 1000, 0);
	time_left_judge(&left, points, 20, 2000);
	assert_false(left.known);
	points_fill(points, 20, 1000, -1);
	time_left_judge(&left, points, 20, 2000);
	assert_false(left.known);
	points_fill(points, 20, 1000, 10);
	time_left_judge(&left, points, TIME_LEFT_POINTS_MIN - 1, 5000);
	assert_false(left.known);
	for (size_t i = 0; i < 20; i++)
		points[i].value = i % 2 ? 1000 : 1040;
	time_left_judge(&left, points, 20, 2000);
	assert_false(left.known);
	for (size_t i = 0; i < 20; i++)
		points[i].time_s = 7;
	time_left_judge(&left, points, 20, 2000);
	assert_false(left.known);
	time_left_judge(&left, points, 0, 2000);
	assert_false(left.known);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_each_kind_nine_of_ten_limits_are_reached_within_the_interval),
		cmocka_unit_test(a_line_has_one_answer),
		cmocka_unit_test(what_does_not_surely_grow_has_no_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
