// SPDX-License-Identifier: GPL-2.0-or-later
/* Classes over the runs of a recording. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "report/class_history.h"

static struct class_history history_of(const struct retained_class (*runs)[2], size_t count)
{
	struct class_history history = {0};

	for (size_t i = 0; i < count; i++) {
		struct retained_class classes[2];
		struct retain_result result = {.time.tv_sec = 1000 + (time_t)i * 10};

		memcpy(classes, runs[i], sizeof(classes));
		result.classes.items = classes;
		result.classes.count = classes[1].id ? 2 : 1;
		assert_int_equal(class_history_add(&history, &result), 0);
	}
	return history;
}

#define CLASS(number, held)                                                                        \
	{                                                                                          \
		.id = (number), .total = {.bytes = (held) }                                        \
	}

static const struct retained_class steady_and_late[][2] = {
	{CLASS(7, 100), {0}},
	{CLASS(7, 100), CLASS(9, 40)},
	{CLASS(9, 400), CLASS(7, 100)},
};

static void an_integral_is_by_the_trapezoid_rule(void **state)
{
	struct class_history history = history_of(steady_and_late, 3);

	(void)state;
	assert_int_equal(history.times.count, 3);
	assert_true(class_history_find(&history, 7)->integral_byte_s == 100 * 20);
	assert_true(class_history_find(&history, 9)->integral_byte_s ==
		    (0 + 40) / 2.0 * 10 + (40 + 400) / 2.0 * 10);
	assert_null(class_history_find(&history, 8));
	class_history_free(&history);
}

static void a_class_that_came_late_was_not_there_before(void **state)
{
	struct class_history history = history_of(steady_and_late, 3);
	const struct class_series *series = class_history_find(&history, 9);
	unsigned char heights[CLASS_SERIES_WIDTH];

	(void)state;
	assert_int_equal(series->bytes.count, 3);
	assert_int_equal(series->bytes.items[0], 0);
	assert_int_equal(series->bytes.items[2], 400);
	assert_int_equal(class_series_heights(series, heights), 3);
	assert_int_equal(heights[0], 0);
	assert_int_equal(heights[1], 1); /* a little is not nothing */
	assert_int_equal(heights[2], 8);
	class_history_free(&history);
}

static void a_class_that_is_gone_holds_nothing(void **state)
{
	static const struct retained_class gone[][2] = {{CLASS(7, 100), CLASS(9, 5)},
							{CLASS(9, 5), {0}}};
	struct class_history history = history_of(gone, 2);

	(void)state;
	assert_int_equal(class_history_find(&history, 7)->bytes.items[1], 0);
	assert_true(class_history_find(&history, 7)->integral_byte_s == 500);
	class_history_free(&history);
}

static void the_greatest_integral_comes_first(void **state)
{
	struct class_history history = history_of(steady_and_late, 3);
	struct retained_class classes[] = {CLASS(8, 900), CLASS(7, 100), CLASS(9, 400)};
	struct retain_result result = {.classes = {.items = classes, .count = 3}};
	uint32_t places[3];

	(void)state;
	assert_int_equal(class_history_order(&history, &result, places), 0);
	assert_int_equal(places[0], 2);
	assert_int_equal(places[1], 1);
	assert_int_equal(places[2], 0); /* it has no series */
	class_history_free(&history);
}

/* Runs of one recording, with the clock set back. */
static void time_that_goes_back_adds_nothing(void **state)
{
	struct class_history history = history_of(steady_and_late, 2);
	struct retained_class classes[] = {CLASS(7, 100)};
	struct retain_result result = {.time.tv_sec = 1000,
				       .classes = {.items = classes, .count = 1}};

	(void)state;
	assert_int_equal(class_history_add(&history, &result), 0);
	assert_true(class_history_find(&history, 7)->integral_byte_s == 1000);
	class_history_free(&history);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_integral_is_by_the_trapezoid_rule),
		cmocka_unit_test(a_class_that_came_late_was_not_there_before),
		cmocka_unit_test(a_class_that_is_gone_holds_nothing),
		cmocka_unit_test(the_greatest_integral_comes_first),
		cmocka_unit_test(time_that_goes_back_adds_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
