// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace/collect/reading.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "base/cleanup.h"

/* Changes of a ledger as the probes count them, each in the order of struct lm_ledger. */
static void birth(struct lm_ledger *ledger)
{
	ledger->allocations++;
	ledger->settled++;
}

static void death(struct lm_ledger *ledger)
{
	ledger->begun++;
	ledger->frees++;
}

static void realloc_enters(struct lm_ledger *ledger)
{
	ledger->begun++;
}

static void realloc_frees(struct lm_ledger *ledger)
{
	ledger->begun++;
	ledger->frees++;
	ledger->settled++;
}

/* realloc() has failed, or its thread was killed in it. */
static void realloc_restores(struct lm_ledger *ledger)
{
	ledger->begun++;
	ledger->settled += 2;
}

static void realloc_is_left(struct lm_ledger *ledger)
{
	ledger->begun++;
	ledger->purged++;
	ledger->settled += 2;
}

static void birth_in_a_full_map(struct lm_ledger *ledger)
{
	birth(ledger);
	ledger->dropped[LM_DROP_BLOCKS_FULL]++;
}

static void free_that_another_was_first_at(struct lm_ledger *ledger)
{
	ledger->begun++;
	ledger->settled++;
}

typedef void (*change)(struct lm_ledger *ledger);

static void the_live_set_may_differ_by_what_was_under_way_and_no_more(void **state)
{
	static const struct {
		change before[4];   /* the walk over the live set */
		change after[4];    /* its beginning */
		uint64_t low, high; /* limits of the count */
		uint64_t outstanding;
	} cases[] = {
		{{birth, birth, birth}, {NULL}, 3, 3, 3},
		{{birth, birth, death}, {NULL}, 1, 1, 1},
		{{birth, birth, death}, {birth}, 1, 3, 2},
		{{birth, birth, birth}, {death, birth}, 1, 5, 3},
		/* Off the live set, and not freed yet: in the ledger alone. */
		{{birth, birth, realloc_enters}, {NULL}, 1, 3, 2},
		{{birth, birth, realloc_enters}, {realloc_frees}, 0, 3, 1},
		{{birth, birth, realloc_enters, realloc_frees}, {NULL}, 1, 1, 1},
		{{birth, birth, realloc_enters, realloc_restores}, {NULL}, 2, 2, 2},
		{{birth, birth, realloc_enters, realloc_is_left}, {NULL}, 1, 1, 1},
		{{birth, birth_in_a_full_map}, {NULL}, 1, 1, 1},
		{{birth, free_that_another_was_first_at}, {NULL}, 1, 1, 1},
		{{NULL}, {birth, birth}, 0, 4, 2},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct snapshot snapshot = {.has_ages = true};
		struct lm_ledger before = {0}, after;
		struct ledger ledger;

		for (size_t j = 0; j < 4 && cases[i].before[j]; j++)
			cases[i].before[j](&before);
		after = before;
		for (size_t j = 0; j < 4 && cases[i].after[j]; j++)
			cases[i].after[j](&after);
		ledger_from_raw(&before, &after, 0, &ledger);
		assert_int_equal(ledger.outstanding, cases[i].outstanding);
		for (uint64_t found = 0; found < 10; found++) {
			ledger.scanned = found;
			assert_int_equal(ledger_agrees(&snapshot, &ledger),
					 found >= cases[i].low && found <= cases[i].high);
		}
	}
}

static void without_a_walk_there_is_nothing_to_contradict(void **state)
{
	const struct snapshot snapshot = {.has_ages = false};
	const struct ledger ledger = {.outstanding = 10};

	(void)state;
	assert_true(ledger_agrees(&snapshot, &ledger));
}

/* A thread that ends after its process has its last change charged to slot 0. */
static void the_end_of_what_began_elsewhere_leaves_nothing_under_way(void **state)
{
	const struct lm_ledger raw = {.settled = 2, .begun = 1, .purged = 1};
	struct ledger ledger;

	(void)state;
	ledger_from_raw(&raw, &raw, 0, &ledger);
	assert_int_equal(ledger.moved, 0);
	assert_int_equal(ledger.outstanding, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_live_set_may_differ_by_what_was_under_way_and_no_more),
		cmocka_unit_test(without_a_walk_there_is_nothing_to_contradict),
		cmocka_unit_test(the_end_of_what_began_elsewhere_leaves_nothing_under_way),
	};

	return cmocka_run_group_tests_name("ledgers", tests, NULL, NULL);
}
