// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "app/triage/growth.h"

static struct quantities of(double heap)
{
	return (struct quantities){.values = {[QUANTITY_HEAP] = heap,
					      [QUANTITY_MAPPING] = NAN,
					      [QUANTITY_THREADS] = 1,
					      [QUANTITY_FILES] = 3}};
}

/* A reading a second, with its number as the value. */
static void fill(struct series *series, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		struct quantities quantities = of(i);

		assert_int_equal(series_add(series, i, &quantities), 0);
	}
}

static void the_latest_readings_are_kept_as_they_came(void **state)
{
	struct trend_point points[SERIES_POINTS];
	struct series series = {0};

	(void)state;
	assert_int_equal(series_points(&series, 0, QUANTITY_HEAP, points), 0);
	fill(&series, 5);
	assert_int_equal(series_points(&series, 0, QUANTITY_HEAP, points), 5);
	assert_float_equal(points[4].value, 4, 0);
	fill(&series, 1000);
	assert_int_equal(series_points(&series, 0, QUANTITY_HEAP, points), SERIES_POINTS);
	for (unsigned i = 0; i < SERIES_POINTS; i++) {
		assert_float_equal(points[i].value, 1000 - SERIES_POINTS + i, 0);
		assert_float_equal(points[i].time_s, 1000 - SERIES_POINTS + i, 0);
	}
	series_free(&series);
}

/* Each level holds the means of eight points of the one below it. */
static void older_readings_are_kept_as_means(void **state)
{
	struct trend_point points[SERIES_POINTS];
	struct series series = {0};
	unsigned width = 1;

	(void)state;
	fill(&series, 100000);
	for (unsigned level = 0; level < SERIES_LEVELS; level++, width *= SERIES_FOLD) {
		unsigned whole = 100000 / width,
			 count = whole < SERIES_POINTS ? whole : SERIES_POINTS;

		assert_int_equal(series_points(&series, level, QUANTITY_HEAP, points), count);
		for (unsigned i = 0; i < count; i++) {
			double first = (double)(whole - count + i) * width;
			double mean = first + (width - 1) / 2.0;

			assert_float_equal(points[i].value, mean, mean * 1e-6);
			assert_float_equal(points[i].time_s, mean, 0.011);
		}
	}
	series_free(&series);
}

static void what_is_not_known_is_left_out(void **state)
{
	struct trend_point points[SERIES_POINTS];
	struct series series = {0};
	struct quantities known = of(7);

	(void)state;
	fill(&series, 20);
	assert_int_equal(series_points(&series, 0, QUANTITY_MAPPING, points), 0);
	assert_int_equal(series_points(&series, 1, QUANTITY_MAPPING, points), 0);
	known.values[QUANTITY_MAPPING] = 9;
	assert_int_equal(series_add(&series, 20, &known), 0);
	assert_int_equal(series_points(&series, 0, QUANTITY_MAPPING, points), 1);
	assert_float_equal(points[0].time_s, 20, 0);
	assert_float_equal(series.minimum.values[QUANTITY_MAPPING], 9, 0);
	assert_float_equal(series.maximum.values[QUANTITY_HEAP], 19, 0);
	series_free(&series);
}

/* 10,000 processes must fit: 1.5 KiB each at first, 6 KiB after days. */
static void memory_is_bounded(void **state)
{
	struct series series = {0};
	size_t bytes = 0;

	(void)state;
	fill(&series, 300000);
	for (unsigned level = 0; level < SERIES_LEVELS; level++)
		bytes += series.levels[level].capacity * sizeof(struct series_point);
	assert_int_equal(bytes, SERIES_LEVELS * SERIES_POINTS * 24);
	series_free(&series);
	fill(&series, 8);
	assert_int_equal(series.levels[0].capacity, 8);
	series_free(&series);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_latest_readings_are_kept_as_they_came),
		cmocka_unit_test(older_readings_are_kept_as_means),
		cmocka_unit_test(what_is_not_known_is_left_out),
		cmocka_unit_test(memory_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
