// SPDX-License-Identifier: GPL-2.0-or-later
/* Answers about dead slots from a parser taken over by a hostile file. For honest ones see
 * tests/e2e/test_e2e_retain.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "binary/parse/slots.h"
#include "unit/decode_answers.h"

struct sent {
	uint32_t counts[2];
	struct slot_range ranges[4];
	size_t range_count;
};

static int decode(const struct sent *sent, size_t cut, struct slot_answer *answer)
{
	_cleanup_(bytes_free) struct bytes body = {0};

	bytes_append(&body, sent->counts, sizeof(sent->counts));
	bytes_append(&body, sent->ranges, sent->range_count * sizeof(sent->ranges[0]));
	body.size -= cut;
	return decode_slots(&body, 2, answer);
}

static void each_address_has_its_own(void **state)
{
	static const struct sent sent = {{1, 2}, {{-24, -16}, {-64, -48}, {-32, -8}}, 3};
	_cleanup_(slot_answer_free) struct slot_answer answer = {0};

	(void)state;
	assert_int_equal(decode(&sent, 0, &answer), 0);
	assert_int_equal(answer.count, 2);
	assert_int_equal(answer.counts[0], 1);
	assert_int_equal(answer.counts[1], 2);
	assert_memory_equal(answer.ranges, sent.ranges, 3 * sizeof(sent.ranges[0]));
}

static void answers_that_no_honest_parser_gives_are_refused(void **state)
{
	static const struct {
		struct sent sent;
		size_t cut;
	} cases[] = {
		{{{1, 0}, {{-16, -16}}, 1}, 0},		    /* nothing */
		{{{1, 0}, {{-16, -24}}, 1}, 0},		    /* backwards */
		{{{1, 0}, {{-16, 0}}, 1}, 0},		    /* where it returns to */
		{{{1, 0}, {{-16, INT32_MAX}}, 1}, 0},	    /* its callers' */
		{{{1, 0}, {{-20, -12}}, 1}, 0},		    /* half a word */
		{{{2, 0}, {{-32, -16}, {-24, -8}}, 2}, 0},  /* into each other */
		{{{2, 0}, {{-32, -24}, {-64, -48}}, 2}, 0}, /* in no order */
		{{{1, 1}, {{-32, -24}}, 1}, 0},		    /* fewer than announced */
		{{{1, 0}, {{-32, -24}, {-16, -8}}, 2}, 0},  /* and more */
		{{{SLOTS_MAX + 1, 0}, {{-32, -24}}, 1}, 0},
		{{{UINT32_MAX, UINT32_MAX}, {{-32, -24}}, 1}, 0},
		{{{1, 0}, {{-32, -24}}, 1}, 1},
		{{{0, 0}, {{0, 0}}, 0}, 5},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct slot_answer answer = {.count = 77};

		assert_int_equal(decode(&cases[i].sent, cases[i].cut, &answer), -EPROTO);
		assert_int_equal(answer.count, 77);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_address_has_its_own),
		cmocka_unit_test(answers_that_no_honest_parser_gives_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
