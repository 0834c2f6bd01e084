// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "report/analyze/trend.h"
#include "series_fixture.h"

#define NEAR 1e-9
#define POINTS_MAX 512

static struct trend_point points[POINTS_MAX];

/* values[i] at i seconds. */
static size_t fill(const double *values, size_t count)
{
	for (size_t i = 0; i < count; i++)
		points[i] = (struct trend_point){(double)i, values[i]};
	return count;
}
#define FILL(...)                                                                                  \
	fill((const double[]){__VA_ARGS__}, sizeof((const double[]){__VA_ARGS__}) / sizeof(double))

static struct trend judge(size_t count, double quantum)
{
	struct trend trend;

	trend_judge(&trend, points, count, &(struct trend_options){.quantum = quantum});
	return trend;
}

static void shuffle(double *values, size_t count, struct random *random)
{
	for (size_t i = count - 1; i > 0; i--) {
		size_t j = (size_t)(random_unit(random) * (double)(i + 1));
		double kept = values[i];

		values[i] = values[j];
		values[j] = kept;
	}
}

static void the_median_is_the_middle_of_a_sorted_array(void **state)
{
	static const double ascending[] = {1, 2, 2, 2, 3, 7, 8, 8, 9};

	(void)state;
	for (unsigned seed = 0; seed < 50; seed++) {
		struct random random = {seed};

		for (size_t count = 1; count <= ARRAY_SIZE(ascending); count++) {
			double values[ARRAY_SIZE(ascending)];

			memcpy(values, ascending, sizeof(values));
			shuffle(values, count, &random);
			assert_float_equal(trend_median(values, count),
					   (ascending[(count - 1) / 2] + ascending[count / 2]) / 2,
					   0);
		}
	}
	assert_float_equal(trend_median(NULL, 0), 0, 0);
}

/* One wild point in nine moves no median of slopes. */
static void the_slope_is_that_of_the_many(void **state)
{
	size_t count = FILL(10, 12, 14, 16, 900, 20, 22, 24, 26);
	struct trend_slope slope = trend_theil_sen(points, count, 0);

	(void)state;
	assert_float_equal(slope.slope, 2, NEAR);
}

static void intervals_may_differ_and_times_may_be_equal(void **state)
{
	static const double times[] = {0, 1, 1, 5, 6, 20, 50, 51, 90};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(times); i++)
		points[i] = (struct trend_point){times[i], 3 * times[i] + 1};
	assert_float_equal(trend_theil_sen(points, ARRAY_SIZE(times), 0).slope, 3, NEAR);
	for (size_t i = 0; i < 3; i++)
		points[i] = (struct trend_point){7, (double)i};
	assert_float_equal(trend_theil_sen(points, 3, 0).slope, 0, 0);
}

/* By hand: one of the 10 pairs of (1 2 2 3 5) is tied; 9 rise. Var = (5*4*15 - 2*1*9) / 18. */
static void ties_lower_the_variance_by_kendalls_formula(void **state)
{
	size_t count = FILL(1, 2, 2, 3, 5);
	struct trend_rank_test test = trend_mann_kendall(points, count, 0.875);

	(void)state;
	assert_float_equal(test.s, 9, 0);
	assert_float_equal(test.deviation * test.deviation / test.correction, 282.0 / 18, NEAR);
	assert_float_equal(test.z, 8 / test.deviation, NEAR);
}

/* The shortest and the longest straight line: S is the number of pairs. */
static void a_line_is_as_significant_as_its_points_allow(void **state)
{
	(void)state;
	for (size_t count = 4; count <= TREND_POINTS_MAX; count *= 2) {
		double n = (double)count;
		struct trend_rank_test test;

		for (size_t i = 0; i < count; i++)
			points[i] = (struct trend_point){(double)i, 5.0 * (double)i};
		test = trend_mann_kendall(points, count, 5);
		assert_float_equal(test.s, n * (n - 1) / 2, 0);
		assert_float_equal(test.correction, 1, NEAR);
		assert_float_equal(
			test.z, (n * (n - 1) / 2 - 1) / sqrt(n * (n - 1) * (2 * n + 5) / 18), NEAR);
		for (size_t i = 0; i < count; i++)
			points[i].value = -points[i].value;
		assert_float_equal(trend_mann_kendall(points, count, -5).z, -test.z, NEAR);
	}
}

/* A smooth curve has far fewer independent points than points. */
static void autocorrelation_costs_significance(void **state)
{
	struct trend_rank_test test;
	double slope;

	(void)state;
	for (size_t i = 0; i < 64; i++)
		points[i] = (struct trend_point){(double)i, 1000 * (1 - exp(-(double)i / 16))};
	slope = trend_theil_sen(points, 64, 0).slope;
	test = trend_mann_kendall(points, 64, slope);
	assert_float_equal(test.s, 64 * 63 / 2, 0);
	assert_true(test.correction > 8);
	assert_true(test.z < 4.2);
}

static void movements_count_from_the_threshold_on(void **state)
{
	size_t count = FILL(0, 5, 10, 9, 10, 3, 4, 12, 11, 2, 3);
	struct trend_zigzag zigzag;

	(void)state;
	trend_zigzag(&zigzag, points, count, 5);
	assert_float_equal(zigzag.rise, 10 + 9, 0);
	assert_float_equal(zigzag.fall, 7 + 10, 0);
	assert_int_equal(zigzag.falls, 2);
	assert_int_equal(zigzag.trough_count, 2);
	assert_float_equal(zigzag.troughs[0].value, 0, 0);
	assert_float_equal(zigzag.troughs[1].value, 3, 0);
	trend_zigzag(&zigzag, points, count, 100);
	assert_int_equal(zigzag.falls + zigzag.trough_count, 0);
	trend_zigzag(&zigzag, points, 1, 5);
	assert_int_equal(zigzag.falls, 0);
}

/* More troughs than there is room for: the lower of two neighbours stays. */
static void troughs_are_thinned_when_there_are_many(void **state)
{
	struct trend_zigzag zigzag;

	(void)state;
	for (size_t i = 0; i < POINTS_MAX; i++)
		points[i] = (struct trend_point){(double)i, i % 2 ? 100 : (double)(i % 4)};
	trend_zigzag(&zigzag, points, POINTS_MAX, 50);
	assert_true(zigzag.trough_count >= TREND_POINTS_MAX / 2);
	assert_true(zigzag.trough_count <= TREND_POINTS_MAX);
	for (size_t i = 0; i < TREND_POINTS_MAX / 2; i++)
		assert_float_equal(zigzag.troughs[i].value, 0, 0);
}

static void the_evidence_of_a_line_is_exact(void **state)
{
	struct trend trend;

	(void)state;
	for (size_t i = 0; i < 36; i++)
		points[i] = (struct trend_point){5.0 * (double)i, 1000 + 50.0 * (double)i};
	trend = judge(36, 100);
	assert_int_equal(trend.verdict, TREND_LEAKING);
	assert_float_equal(trend.slope, 10, NEAR);
	assert_float_equal(trend.slope_low, 10, NEAR);
	assert_float_equal(trend.slope_high, 10, NEAR);
	assert_float_equal(trend.growth, 1750, NEAR);
	assert_float_equal(trend.r_squared, 1, NEAR);
	assert_float_equal(trend.noise, 0, NEAR);
	assert_float_equal(trend.recent, 1.0 * (2.0 / 6 * 36 * 50) / (1750.0 / 3), 0.1);
	assert_float_equal(trend.consistency, 1, 0);
	assert_true(trend.confidence > 0.999 && trend.confidence <= 1);
	assert_int_equal(trend.points, 36);
	assert_float_equal(trend.level_share, 0, 0);
}

static void stairs_are_level_but_at_their_steps(void **state)
{
	(void)state;
	for (size_t i = 0; i < 41; i++)
		points[i] = (struct trend_point){5.0 * (double)i, 1000 + 200.0 * (double)(i / 5)};
	assert_float_equal(judge(41, 100).level_share, 32 / 40.0, NEAR);
}

static void too_few_points_have_no_verdict(void **state)
{
	struct trend trend;

	(void)state;
	for (size_t i = 0; i < POINTS_MAX; i++)
		points[i] = (struct trend_point){(double)i, 1e6 * (double)i};
	for (size_t count = 0; count < 12; count++) {
		trend = judge(count, 1);
		assert_int_equal(trend.verdict, TREND_TOO_EARLY);
		assert_float_equal(trend.confidence, 0, 0);
	}
	assert_int_equal(judge(12, 1).verdict, TREND_LEAKING);
	trend_judge(&trend, points, 20, &(struct trend_options){.quantum = 1, .points_min = 21});
	assert_int_equal(trend.verdict, TREND_TOO_EARLY);
}

/* All at one time: no rate. */
static void points_of_one_moment_have_no_verdict(void **state)
{
	(void)state;
	for (size_t i = 0; i < 30; i++)
		points[i] = (struct trend_point){7, (double)i};
	assert_int_equal(judge(30, 1).verdict, TREND_TOO_EARLY);
}

static void growth_below_the_quantum_is_none(void **state)
{
	(void)state;
	for (size_t i = 0; i < 60; i++)
		points[i] = (struct trend_point){(double)i, (double)i};
	assert_int_equal(judge(60, 60).verdict, TREND_STEADY);
	assert_int_equal(judge(60, 59).verdict, TREND_LEAKING);
}

static void every_verdict_has_a_name(void **state)
{
	static const char *const names[] = {"too-early", "steady",  "one-off", "plateau",
					    "churning",	 "growing", "leaking"};

	(void)state;
	for (enum trend_verdict i = 0; i < TREND_MAX_; i++) {
		assert_string_equal(trend_verdict_name(i), names[i]);
		assert_int_equal(trend_is_suspect(i), i >= TREND_GROWING);
	}
}

static struct course course_of(enum course_kind kind, unsigned seed, double span_s)
{
	struct course course = {.random.state = seed * 7919 + kind * 104729};
	struct random *random = &course.random;

	course.level_kib = random_between(random, 5000, 500000);
	course.noise_kib = random_between(random, 100, 1500);
	course.amplitude_kib = random_between(random, 10000, 200000);
	course.time_s = random_between(random, span_s / 20, span_s / 3.5);
	if (kind == COURSE_LEAK || kind == COURSE_LEAK_BURSTS || kind == COURSE_LEAK_GC) {
		course.amplitude_kib = random_between(random, 8, 40);
		course.time_s = random_between(random, 10, 30);
	} else if (kind == COURSE_LEAK_NOISE) {
		course.amplitude_kib =
			fmax(course.noise_kib * random_between(random, 6, 30), 600) / span_s;
	} else if (kind == COURSE_CACHE) {
		course.time_s = random_between(random, span_s / 20, span_s / 6);
	} else if (kind == COURSE_STEP || kind == COURSE_SPIKE) {
		course.time_s = random_between(random, span_s / 10, span_s * 0.8);
	} else if (kind == COURSE_SHRINK) {
		course.amplitude_kib = random_between(random, 1, 20);
	}
	return course;
}

#define SEEDS 40
#define PAUSE_S 5

static void confusion_matrix(size_t count, unsigned matrix[COURSE_MAX_][TREND_MAX_])
{
	for (enum course_kind kind = 0; kind < COURSE_MAX_; kind++) {
		for (unsigned seed = 0; seed < SEEDS; seed++) {
			struct course course = course_of(kind, seed, PAUSE_S * (double)count);

			for (size_t i = 0; i < count; i++) {
				double time_s = PAUSE_S * (double)i +
						random_between(&course.random, 0, 0.5);

				points[i] = (struct trend_point){time_s,
								 course_kib(&course, kind, time_s)};
			}
			matrix[kind][judge(count, 512).verdict]++;
		}
	}
}

static void matrix_print(size_t count, unsigned matrix[COURSE_MAX_][TREND_MAX_])
{
	printf("%zu points\n%12s", count, "");
	for (enum trend_verdict i = 0; i < TREND_MAX_; i++)
		printf(" %9s", trend_verdict_name(i));
	for (enum course_kind i = 0; i < COURSE_MAX_; i++) {
		printf("\n%12s", course_names[i]);
		for (enum trend_verdict j = 0; j < TREND_MAX_; j++)
			printf(" %9u", matrix[i][j]);
	}
	puts("");
}

/* Courses that are never a leak, and some that always are, in windows of every length. */
static void verdicts_on_15_kinds_of_series(void **state)
{
	static const size_t counts[] = {36, 64, 128, 500};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
		unsigned matrix[COURSE_MAX_][TREND_MAX_] = {0};

		confusion_matrix(counts[i], matrix);
		matrix_print(counts[i], matrix);
		for (enum course_kind kind = 0; kind < COURSE_MAX_; kind++) {
			bool leak = kind >= COURSE_LEAK && kind <= COURSE_LEAK_GC;

			assert_int_equal(matrix[kind][TREND_TOO_EARLY], 0);
			/* A random walk does grow for a while; one in forty may resemble it. */
			if (!leak)
				assert_in_range(matrix[kind][TREND_LEAKING], 0,
						kind == COURSE_WANDER);
			else if (kind == COURSE_LEAK || kind == COURSE_LEAK_BURSTS)
				assert_int_equal(matrix[kind][TREND_LEAKING], SEEDS);
		}
		assert_int_equal(matrix[COURSE_IDLE][TREND_STEADY], SEEDS);
	}
}

/* The matrix of one window length, to the last count: a change of a rule shows here. */
static void the_confusion_matrix_of_64_points_is_known(void **state)
{
	/* too-early, steady, one-off, plateau, churning, growing, leaking */
	static const unsigned known[COURSE_MAX_][TREND_MAX_] = {
		[COURSE_IDLE] = {0, 40, 0, 0, 0, 0, 0},
		[COURSE_NOISE] = {0, 35, 0, 0, 5, 0, 0},
		[COURSE_WANDER] = {0, 32, 0, 0, 8, 0, 0},
		[COURSE_LEAK] = {0, 0, 0, 0, 0, 0, 40},
		[COURSE_LEAK_NOISE] = {0, 0, 0, 0, 0, 0, 40},
		[COURSE_LEAK_BURSTS] = {0, 0, 0, 0, 0, 0, 40},
		[COURSE_LEAK_GC] = {0, 0, 0, 0, 0, 0, 40},
		[COURSE_CACHE] = {0, 1, 9, 30, 0, 0, 0},
		[COURSE_CACHE_LINE] = {0, 7, 7, 26, 0, 0, 0},
		[COURSE_SAWTOOTH] = {0, 3, 0, 0, 37, 0, 0},
		[COURSE_BATCH] = {0, 1, 0, 0, 39, 0, 0},
		[COURSE_STEP] = {0, 7, 33, 0, 0, 0, 0},
		[COURSE_SPIKE] = {0, 40, 0, 0, 0, 0, 0},
		[COURSE_SHRINK] = {0, 34, 0, 0, 6, 0, 0},
		[COURSE_HYSTERESIS] = {0, 0, 28, 12, 0, 0, 0},
	};
	unsigned matrix[COURSE_MAX_][TREND_MAX_] = {0};

	(void)state;
	confusion_matrix(64, matrix);
	for (enum course_kind i = 0; i < COURSE_MAX_; i++) {
		for (enum trend_verdict j = 0; j < TREND_MAX_; j++)
			assert_int_equal(matrix[i][j], known[i][j]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_median_is_the_middle_of_a_sorted_array),
		cmocka_unit_test(the_slope_is_that_of_the_many),
		cmocka_unit_test(intervals_may_differ_and_times_may_be_equal),
		cmocka_unit_test(ties_lower_the_variance_by_kendalls_formula),
		cmocka_unit_test(a_line_is_as_significant_as_its_points_allow),
		cmocka_unit_test(autocorrelation_costs_significance),
		cmocka_unit_test(movements_count_from_the_threshold_on),
		cmocka_unit_test(troughs_are_thinned_when_there_are_many),
		cmocka_unit_test(the_evidence_of_a_line_is_exact),
		cmocka_unit_test(stairs_are_level_but_at_their_steps),
		cmocka_unit_test(too_few_points_have_no_verdict),
		cmocka_unit_test(points_of_one_moment_have_no_verdict),
		cmocka_unit_test(growth_below_the_quantum_is_none),
		cmocka_unit_test(every_verdict_has_a_name),
		cmocka_unit_test(verdicts_on_15_kinds_of_series),
		cmocka_unit_test(the_confusion_matrix_of_64_points_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
