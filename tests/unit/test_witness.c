// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "heap/retain/witness.h"

#define KIND 7
#define FORGOTTEN 3

/* Blocks of one kind: `others` that are strongly held, then FORGOTTEN weakly held ones. */
static void look_make(struct witness_look *look, size_t others, size_t changed)
{
	look->time_ns = 1;
	for (size_t i = 0; i < others + FORGOTTEN; i++)
		*(struct witness_block *)vec_push(&look->blocks) = (struct witness_block){
			.address = 0x1000 + 0x100 * i,
			.size = 200,
			.kind = KIND,
			.hash = 1000 + i + (i < changed ? 5000 : 0),
			.weak = i >= others,
		};
}

/* Returns the result of two runs over 20 others, with changes before the second. */
static struct witness_kind say(size_t others, size_t changed, void (*spoil)(struct witness_look *))
{
	struct witness_look first = {0}, now = {0};
	struct witness_kinds kinds = {0};
	struct witness_kind kind = {0};

	look_make(&first, others, 0);
	look_make(&now, others, changed);
	if (spoil)
		spoil(&now);
	assert_int_equal(witness_compare(&first, &now, &kinds), 0);
	if (kinds.list.count) {
		assert_int_equal(kinds.list.count, 1);
		kind = kinds.list.items[0];
		assert_int_equal(kind.kind, KIND);
	}
	vec_free(&kinds.list);
	witness_look_free(&first);
	witness_look_free(&now);
	return kind;
}

static void what_stays_while_its_like_goes_is_probably_lost(void **state)
{
	struct witness_kind kind = say(20, 18, NULL);

	(void)state;
	assert_int_equal(kind.probable.blocks, FORGOTTEN);
	assert_int_equal(kind.probable.bytes, FORGOTTEN * 200);
	assert_int_equal(kind.others, 20);
	assert_int_equal(kind.gone, 18);
}

static void where_others_stay_or_are_few_nothing_is_reported(void **state)
{
	(void)state;
	assert_int_equal(say(20, 17, NULL).probable.blocks, 0);
	assert_int_equal(say(20, 0, NULL).probable.blocks, 0);
	assert_int_equal(say(WITNESS_OTHERS - 1, WITNESS_OTHERS - 1, NULL).probable.blocks, 0);
	assert_int_equal(say(WITNESS_OTHERS, WITNESS_OTHERS, NULL).probable.blocks, FORGOTTEN);
}

static struct witness_block *latest(struct witness_look *look)
{
	return &look->blocks.items[look->blocks.count - 1];
}

static void touch(struct witness_look *look)
{
	latest(look)->hash++;
}

static void forget(struct witness_look *look)
{
	look->blocks.count--;
}

static void hold(struct witness_look *look)
{
	latest(look)->weak = false;
}

static void resize(struct witness_look *look)
{
	latest(look)->size = 100;
}

static void rename_kind(struct witness_look *look)
{
	latest(look)->kind = KIND + 1;
}

static void another_block_or_another_holder_is_no_witness(void **state)
{
	static void (*const spoils[])(struct witness_look *) = {touch, forget, hold, resize,
								rename_kind};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(spoils); i++) {
		struct witness_kind kind = say(40, 40, spoils[i]);

		assert_int_equal(kind.probable.blocks, FORGOTTEN - 1);
		/* Strongly held blocks stay; all others are different blocks now. */
		assert_int_equal(kind.others, 41);
		assert_int_equal(kind.gone, spoils[i] == hold ? 40 : 41);
	}
}

static void fail_to_read_half(struct witness_look *look)
{
	for (size_t i = 10; i < 20; i++)
		look->blocks.items[i].hash = 0;
	latest(look)->hash = 0;
}

static void fail_to_read_all(struct witness_look *look)
{
	for (size_t i = 0; i < look->blocks.count; i++)
		look->blocks.items[i].hash = 0;
}

/* Of a large heap, only a limited number of bytes is read. */
static void a_block_that_was_not_read_is_not_gone(void **state)
{
	struct witness_kind kind = say(20, 20, fail_to_read_half);

	(void)state;
	assert_int_equal(kind.probable.blocks, FORGOTTEN - 1);
	assert_int_equal(kind.others, 10);
	assert_int_equal(kind.gone, 10);
	assert_int_equal(say(20, 20, fail_to_read_all).probable.blocks, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_stays_while_its_like_goes_is_probably_lost),
		cmocka_unit_test(where_others_stay_or_are_few_nothing_is_reported),
		cmocka_unit_test(another_block_or_another_holder_is_no_witness),
		cmocka_unit_test(a_block_that_was_not_read_is_not_gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
