// SPDX-License-Identifier: GPL-2.0-or-later
/* How far long work is, as a line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/progress.h"

#define SECOND UINT64_C(1000000000)

static void the_rest_is_estimated_from_what_is_done(void **state)
{
	char text[64];

	(void)state;
	progress_text(text, sizeof(text), "reading", 0.25, 10 * SECOND);
	assert_string_equal(text, "reading: 25 %, about 30 s left");
	progress_text(text, sizeof(text), "reading", 0.01, 10 * SECOND);
	assert_string_equal(text, "reading: 1 %");
	progress_text(text, 12, "reading", 0.25, 10 * SECOND);
	assert_string_equal(text, "reading: 25");
}

static void it_comes_after_two_seconds_and_leaves_nothing_behind(void **state)
{
	char *text = NULL;
	size_t size;
	struct progress progress = {.out = open_memstream(&text, &size),
				    .began_ns = monotonic_ns()};

	(void)state;
	progress_at(NULL, "nobody watches", 0.5);
	progress_at(&progress, "too early", 0.5);
	progress_end(&progress);
	fflush(progress.out);
	assert_int_equal(size, 0);
	progress.began_ns -= 4 * SECOND;
	progress_at(&progress, "now", 0.5);
	progress_at(&progress, "too soon again", 0.6);
	progress_end(&progress);
	fclose(progress.out);
	assert_string_equal(text, "\r\033[Kleakmon: now: 50 %, about 4 s left\r\033[K");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_rest_is_estimated_from_what_is_done),
		cmocka_unit_test(it_comes_after_two_seconds_and_leaves_nothing_behind),
	};

	return cmocka_run_group_tests_name("progress", tests, NULL, NULL);
}
