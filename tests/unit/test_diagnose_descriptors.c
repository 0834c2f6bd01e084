// SPDX-License-Identifier: GPL-2.0-or-later
/* Descriptor leaks: the opens and closes of call stacks, and the ages at the closes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "app/diagnose/descriptors.h"
#include "base/cleanup.h"

#define SECOND UINT64_C(1000000000)
#define WATCHED_S 54
#define READINGS 31
#define STACKS_MAX 3

/* Descriptors of one call stack that were opened from `oldest_s` ago until `youngest_s` ago, evenly
 * spread, and are open. */
struct planted {
	uint64_t open, oldest_s, youngest_s;
	uint64_t closed, reach_s;
	enum lm_lost lost;
};

static void plant(struct report_process *process, struct site *site, uint64_t id,
		  const struct planted *planted)
{
	struct report_site *row = vec_push(&process->sites);

	assert_non_null(row);
	*site = (struct site){.family = FAMILY_DESCRIPTORS,
			      .lost = planted->lost,
			      .count = planted->open,
			      .allocated_count = planted->open + planted->closed,
			      .freed_count = planted->closed,
			      .freed_reach_ns = planted->reach_s * SECOND,
			      .oldest_ns = planted->oldest_s * SECOND};
	*row = (struct report_site){.site = site, .id = id};
	for (uint64_t i = 0; i < planted->open; i++) {
		uint64_t span_s = planted->oldest_s - planted->youngest_s;
		struct block *block = vec_push(&row->blocks);

		assert_non_null(block);
		*block = (struct block){.age_ns = (planted->oldest_s * SECOND) -
						  span_s * SECOND * i / MAX(planted->open - 1, 1)};
	}
}

/* The shape of a count over READINGS readings of a minute: rising steadily, constant, ... */
typedef uint64_t count_shape(size_t reading);

static uint64_t ramp(size_t i)
{
	return 20 + i * 4;
}

static uint64_t burst_at_the_end(size_t i)
{
	return i + 3 < READINGS ? 20 : 80;
}

static uint64_t bursts(size_t i)
{
	return i % 10 < 5 ? 80 : 20;
}

static uint64_t wider_bursts(size_t i)
{
	return i % 5 == 3 || i == READINGS - 1 ? 20 + i * 3 : 20;
}

static uint64_t full_pool(size_t i)
{
	return i < 15 ? 20 + i * 10 : 170;
}

static uint64_t slow(size_t i)
{
	return 20 + i / 6;
}

static void fill(struct count_series *series, struct diagnosed_count *count, count_shape *shape)
{
	for (size_t i = 0; i < READINGS; i++)
		count_series_add(series, 2.0 * (double)i, shape(i));
	*count = (struct diagnosed_count){true, shape(0), shape(READINGS - 1)};
}

static const struct expected {
	const char *what;
	count_shape *shape;
	struct planted stacks[STACKS_MAX];
	enum descriptors_verdict verdict;
	int opener; /* index in `stacks`; -1: none */
	double share;
} cases[] = {
	{"a stack that never closes",
	 ramp,
	 {{.open = 120, .oldest_s = 54, .youngest_s = 0}},
	 DESCRIPTORS_OPENED,
	 0,
	 1},
	{"a slow one",
	 slow,
	 {{.open = 5, .oldest_s = 50, .youngest_s = 2}},
	 DESCRIPTORS_OPENED,
	 0,
	 1},
	{"the larger one of two",
	 ramp,
	 {{.open = 80, .oldest_s = 54, .youngest_s = 0},
	  {.open = 40, .oldest_s = 54, .youngest_s = 0}},
	 DESCRIPTORS_OPENED,
	 0,
	 0.667},
	{"one that closes nine in ten at once",
	 ramp,
	 {{.open = 120, .oldest_s = 54, .youngest_s = 0, .closed = 1080, .reach_s = 1}},
	 DESCRIPTORS_OPENED,
	 0,
	 0.975},
	{"one that closes one in a hundred, late",
	 ramp,
	 {{.open = 120, .oldest_s = 54, .youngest_s = 0, .closed = 1, .reach_s = 64}},
	 DESCRIPTORS_OPENED,
	 0,
	 1},
	{"a stack that leaks beside a busy one that closes",
	 ramp,
	 {{.open = 60, .oldest_s = 1, .youngest_s = 0, .closed = 100000, .reach_s = 2},
	  {.open = 110, .oldest_s = 54, .youngest_s = 0}},
	 DESCRIPTORS_OPENED,
	 1,
	 0.647},
	{"more of them at once, all closed again",
	 ramp,
	 {{.open = 120, .oldest_s = 3, .youngest_s = 0, .closed = 3000, .reach_s = 4}},
	 DESCRIPTORS_NO_LEAK,
	 -1,
	 0},
	{"a burst when the time is over",
	 burst_at_the_end,
	 {{.open = 60, .oldest_s = 5, .youngest_s = 5}},
	 DESCRIPTORS_NO_LEAK,
	 -1,
	 0},
	{"bursts, of which the last is open",
	 bursts,
	 {{.open = 60, .oldest_s = 3, .youngest_s = 3, .closed = 120, .reach_s = 11}},
	 DESCRIPTORS_NO_LEAK,
	 -1,
	 0},
	{"wider and wider bursts",
	 wider_bursts,
	 {{.open = 90, .oldest_s = 0, .youngest_s = 0, .closed = 900, .reach_s = 1}},
	 DESCRIPTORS_NO_LEAK,
	 -1,
	 0},
	{"a pool that is full",
	 full_pool,
	 {{.open = 150, .oldest_s = 54, .youngest_s = 30}},
	 DESCRIPTORS_NO_LEAK,
	 -1,
	 0},
	{"a pool that filled, beside a leak",
	 ramp,
	 {{.open = 60, .oldest_s = 54, .youngest_s = 40},
	  {.open = 50, .oldest_s = 54, .youngest_s = 0}},
	 DESCRIPTORS_SCATTERED,
	 1,
	 0.455},
	{"a pool that filled at one moment",
	 ramp,
	 {{.open = 120, .oldest_s = 50, .youngest_s = 50}},
	 DESCRIPTORS_NO_LEAK,
	 -1,
	 0},
	{"opened by io_uring's own threads",
	 ramp,
	 {{.open = 120,
	   .oldest_s = 54,
	   .youngest_s = 0,
	   .closed = 0,
	   .reach_s = 0,
	   .lost = LM_LOST_WORKER}},
	 DESCRIPTORS_COUNTED,
	 -1,
	 0},
	{"those from before are nobody's",
	 ramp,
	 {{.open = 500,
	   .oldest_s = 54,
	   .youngest_s = 54,
	   .closed = 0,
	   .reach_s = 0,
	   .lost = LM_LOST_BEFORE}},
	 DESCRIPTORS_NO_LEAK,
	 -1,
	 0},
};

static uint64_t opened_of(const struct planted stacks[STACKS_MAX])
{
	uint64_t open = 0;

	for (size_t i = 0; i < STACKS_MAX; i++)
		open += stacks[i].lost == LM_LOST_BEFORE ? 0 : stacks[i].open;
	return open;
}

static void expect(const struct expected *expected)
{
	struct snapshot_process snapshot = {0};
	struct report_process process = {.process = &snapshot};
	struct report opened = {.processes = {.items = &process, .count = 1}};
	struct count_series series = {0};
	struct diagnosed_opener opener = {0};
	struct diagnosed_count count;
	struct site sites[STACKS_MAX];
	enum descriptors_verdict verdict;

	for (size_t i = 0; i < STACKS_MAX && expected->stacks[i].open; i++)
		plant(&process, &sites[i], i + 1, &expected->stacks[i]);
	snapshot.descriptors.before = 20;
	snapshot.descriptors.outstanding = 20 + opened_of(expected->stacks);
	fill(&series, &count, expected->shape);
	verdict = descriptors_judge(&series, &count, &opened, &opener);
	if (verdict != expected->verdict)
		fail_msg("%s: %d", expected->what, verdict);
	assert_ptr_equal(opener.site,
			 expected->opener < 0 ? NULL : &process.sites.items[expected->opener]);
	if (expected->opener >= 0 &&
	    !(opener.share > expected->share - 0.01 && opener.share < expected->share + 0.01))
		fail_msg("%s: %f of the growth", expected->what, opener.share);
	for (size_t i = 0; i < process.sites.count; i++)
		vec_free(&process.sites.items[i].blocks);
	vec_free(&process.sites);
}

static void exact_evidence_decides(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		expect(&cases[i]);
}

/* Rows of one call stack, for two kinds of files: the larger one names the calls. */
static void rows_of_one_call_stack_are_one(void **state)
{
	const struct planted sockets = {.open = 60, .oldest_s = 54, .closed = 30, .reach_s = 1},
			     files = {.open = 40, .oldest_s = 54};
	struct snapshot_process snapshot = {.descriptors = {.before = 20, .outstanding = 120}};
	struct report_process process = {.process = &snapshot};
	struct report opened = {.processes = {.items = &process, .count = 1}};
	struct count_series series = {0};
	struct diagnosed_opener opener = {0};
	struct diagnosed_count count;
	struct site sites[2];

	(void)state;
	plant(&process, &sites[0], 9, &files);
	plant(&process, &sites[1], 9, &sockets);
	fill(&series, &count, ramp);
	assert_int_equal(descriptors_judge(&series, &count, &opened, &opener), DESCRIPTORS_OPENED);
	assert_ptr_equal(opener.site->site, &sites[1]);
	assert_int_equal(opener.opened, 130);
	assert_int_equal(opener.closed, 30);
	assert_int_equal(opener.open, 100);
	assert_int_equal(opener.closes_reach_ns, SECOND);
	for (size_t i = 0; i < process.sites.count; i++)
		vec_free(&process.sites.items[i].blocks);
	vec_free(&process.sites);
}

static void many_call_stacks_are_said_to_be_many(void **state)
{
	enum { MANY = 40 };
	const struct planted few = {.open = 3, .oldest_s = 54};
	struct snapshot_process snapshot = {
		.descriptors = {.before = 20, .outstanding = 20 + MANY * 3}};
	struct report_process process = {.process = &snapshot};
	struct report opened = {.processes = {.items = &process, .count = 1}};
	struct count_series series = {0};
	struct diagnosed_opener opener = {0};
	struct diagnosed_count count;
	struct site sites[MANY];

	(void)state;
	for (size_t i = 0; i < MANY; i++)
		plant(&process, &sites[i], i + 1, &few);
	fill(&series, &count, ramp);
	assert_int_equal(descriptors_judge(&series, &count, &opened, &opener),
			 DESCRIPTORS_SCATTERED);
	assert_null(opener.site);
	for (size_t i = 0; i < process.sites.count; i++)
		vec_free(&process.sites.items[i].blocks);
	vec_free(&process.sites);
}

static void without_a_report_the_number_alone_counts(void **state)
{
	struct count_series series = {0};
	struct diagnosed_opener opener = {0};
	struct diagnosed_count count;

	(void)state;
	fill(&series, &count, ramp);
	assert_int_equal(descriptors_judge(&series, &count, NULL, &opener), DESCRIPTORS_COUNTED);
	series.count = 0;
	fill(&series, &count, full_pool);
	assert_int_equal(descriptors_judge(&series, &count, NULL, &opener), DESCRIPTORS_NO_LEAK);
}

static void a_few_readings_tell_no_trend(void **state)
{
	struct count_series series = {0};

	(void)state;
	assert_int_equal(count_series_trend(&series), COUNT_TREND_UNKNOWN);
	for (size_t i = 0; i < 4; i++)
		count_series_add(&series, (double)i, i);
	assert_int_equal(count_series_trend(&series), COUNT_TREND_UNKNOWN);
	for (size_t i = 4; i < 9; i++)
		count_series_add(&series, (double)i, i);
	assert_int_equal(count_series_trend(&series), COUNT_TREND_RISES);
}

/* The last reading counts. */
static void a_full_series_keeps_its_last_reading(void **state)
{
	struct count_series series = {0};

	(void)state;
	for (size_t i = 0; i < COUNT_SERIES_MAX + 10; i++)
		count_series_add(&series, (double)i, i);
	assert_int_equal(series.count, COUNT_SERIES_MAX);
	assert_int_equal(series.readings[COUNT_SERIES_MAX - 1].value, COUNT_SERIES_MAX + 9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exact_evidence_decides),
		cmocka_unit_test(rows_of_one_call_stack_are_one),
		cmocka_unit_test(many_call_stacks_are_said_to_be_many),
		cmocka_unit_test(without_a_report_the_number_alone_counts),
		cmocka_unit_test(a_few_readings_tell_no_trend),
		cmocka_unit_test(a_full_series_keeps_its_last_reading),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
