// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace/probe/held_words.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"

/* A ring is found by its descriptor, and again as the one last used by its thread. */
static void a_word_that_is_read_twice_stays_once_with_its_descriptor(void **state)
{
	struct lm_held_word words[] = {
		{0x2000, 7, LM_HELD_URING_REQUEST, -1}, {0x1000, 9, LM_HELD_URING_REQUEST, 5},
		{0x2000, 7, LM_HELD_URING_REQUEST, 4},	{0x2000, 7, LM_HELD_SIGNAL, -1},
		{0x2000, 8, LM_HELD_URING_REQUEST, 4},	{0x3000, 7, LM_HELD_URING_REQUEST, 4},
		{0x2000, 7, LM_HELD_URING_REQUEST, -1},
	};
	static const struct lm_held_word expected[] = {
		{0x2000, 7, LM_HELD_SIGNAL, -1},       {0x2000, 7, LM_HELD_URING_REQUEST, 4},
		{0x3000, 7, LM_HELD_URING_REQUEST, 4}, {0x2000, 8, LM_HELD_URING_REQUEST, 4},
		{0x1000, 9, LM_HELD_URING_REQUEST, 5},
	};

	(void)state;
	assert_int_equal(held_words_unique(words, ARRAY_SIZE(words)), ARRAY_SIZE(expected));
	assert_memory_equal(words, expected, sizeof(expected));
}

static void no_words_are_none(void **state)
{
	(void)state;
	assert_int_equal(held_words_unique(NULL, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_word_that_is_read_twice_stays_once_with_its_descriptor),
		cmocka_unit_test(no_words_are_none),
	};

	return cmocka_run_group_tests_name("held_words", tests, NULL, NULL);
}
