// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Sites with known truth, through windows and checks as in a profile: intervals cover the truth,
 * and verdicts are right, for 200 fixed seeds and the eighteen kinds of sites.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "report/analyze/verdict.h"
#include "unit/profile_fixture.h"
#include "unit/site_kinds.h"

#define SEEDS 200

/* A site of a simulated program: blocks per second, and their properties. */
struct habit {
	double rate, rate_until_s; /* 0: to the end */
	double life_s;		   /* mean of an exponential time, or exact; INFINITY */
	double writes_s;	   /* between writes to a block; 0: none */
	double quiet_share;	   /* share of quiet ones */
	/* when, in the life of every other block, it is swapped out, and for how long */
	double swapped_from_s, swapped_for_s;
	bool exact_life, zeroed, quiet, unmapped, chunked;
	bool again; /* a dead block is replaced by an identical one of this site */
	bool equal; /* all have the same contents, and so have later blocks */
};

static void live_through(struct program *program, uint32_t site, const struct habit *habit,
			 double at_s, double length_s)
{
	double rate = habit->rate_until_s && at_s > habit->rate_until_s ? 0 : habit->rate;
	size_t births = sim_poisson(&program->random, rate * length_s);

	for (size_t i = 0; i < births; i++) {
		double born_s = at_s + length_s * sim_unit(&program->random);
		struct simulated *block = program_allocate(program, site, born_s);

		if (habit->exact_life)
			block->dies_s = born_s + habit->life_s;
		else if (isfinite(habit->life_s))
			block->dies_s = born_s + sim_exponential(&program->random, habit->life_s);
		block->writes_s = habit->writes_s;
		block->zeroed = habit->zeroed;
		block->quiet = habit->quiet || sim_unit(&program->random) < habit->quiet_share;
		block->unmapped = habit->unmapped;
		block->chunked = habit->chunked;
		block->again_s = habit->again ? habit->life_s : 0;
		/* Every other one. */
		if (habit->swapped_for_s > 0 && i % 2)
			block->swapped_from_s = born_s + habit->swapped_from_s;
		block->swapped_to_s = block->swapped_from_s > 0
					      ? block->swapped_from_s + habit->swapped_for_s
					      : 0;
		if (habit->equal) {
			block->contents = 4711;
			block->again_s = isfinite(habit->life_s) ? habit->life_s : 0;
		}
	}
}

struct run {
	struct program program;
	struct profiled profiled;
	double now_s, next_s;
};

static void run_begin(struct run *run, uint64_t seed)
{
	memset(run, 0, sizeof(*run));
	run->program.random = seed * 1000003;
	profiled_init(&run->profiled, seed);
}

static void run_end(struct run *run)
{
	program_free(&run->program);
	profiled_free(&run->profiled);
}

/* Windows of `length_s` about every `gap_s`. */
static void run_until(struct run *run, const struct habit *habits, size_t count, double end_s,
		      double length_s, double gap_s)
{
	while (run->next_s + length_s < end_s) {
		size_t first = run->program.blocks.count;

		looks_until(&run->profiled, &run->program, run->next_s);
		for (size_t i = 0; i < count; i++)
			live_through(&run->program, (uint32_t)i + 1, &habits[i], run->next_s,
				     length_s);
		window_over(&run->profiled, &run->program, first, run->next_s, length_s);
		run->next_s += length_s + sim_exponential(&run->program.random, gap_s);
	}
	looks_until(&run->profiled, &run->program, end_s);
	run->now_s = end_s;
}

/* 10 blocks of 100 bytes per second, among short-lived others, with 1.5 % of the time tracked. */
static void growth_of_a_leak_is_covered_after_five_minutes(void **state)
{
	static const struct habit habits[] = {
		{.rate = 10, .life_s = INFINITY},
		{.rate = 8000, .life_s = 0.05},
		{.rate = 300, .life_s = 3},
	};
	size_t covered = 0, first = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct run run;
		struct site_judgement leak, churn, other;

		run_begin(&run, seed);
		run_until(&run, habits, ARRAY_SIZE(habits), 300, 0.03, 2);
		leak = judge_site(&run.profiled, 1);
		churn = judge_site(&run.profiled, 2);
		other = judge_site(&run.profiled, 3);
		covered +=
			leak.growth_bytes_per_s.low <= 1000 && 1000 <= leak.growth_bytes_per_s.high;
		first += leak.growth_bytes_per_s.low > churn.growth_bytes_per_s.low &&
			 leak.growth_bytes_per_s.low > other.growth_bytes_per_s.low;
		assert_int_equal(leak.verdict, PROFILE_TOO_EARLY);
		assert_int_not_equal(churn.verdict, PROFILE_LEAKING);
		run_end(&run);
	}
	print_message("leak of 10 blocks/s: %zu of %d covered, %zu first\n", covered, SEEDS, first);
	assert_true(covered >= SEEDS * 90 / 100);
	assert_true(first >= SEEDS * 95 / 100);
}

/* Every other block is swapped out before it settles: the others represent it. */
static void growth_of_a_leak_is_covered_where_half_of_it_is_swapped_out(void **state)
{
	static const struct habit habits[] = {
		{.rate = 20, .life_s = INFINITY, .swapped_from_s = 10, .swapped_for_s = 1e6},
		{.rate = 2000, .life_s = 0.05},
	};
	size_t covered = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct run run;
		struct site_judgement leak;

		run_begin(&run, seed);
		run_until(&run, habits, ARRAY_SIZE(habits), 300, 0.1, 2);
		leak = judge_site(&run.profiled, 1);
		covered +=
			leak.growth_bytes_per_s.low <= 2000 && 2000 <= leak.growth_bytes_per_s.high;
		run_end(&run);
	}
	print_message("half swapped out: %zu of %d covered\n", covered, SEEDS);
	assert_true(covered >= SEEDS * 90 / 100);
}

static void a_leak_is_called_one_after_twenty_minutes(void **state)
{
	static const struct habit habits[] = {
		{.rate = 10, .life_s = INFINITY},
		{.rate = 2000, .life_s = 0.05},
	};
	size_t leaking = 0, covered = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS / 10; seed++) {
		struct run run;
		struct site_judgement leak;

		run_begin(&run, seed);
		run_until(&run, habits, ARRAY_SIZE(habits), 1200, 0.05, 1.5);
		leak = judge_site(&run.profiled, 1);
		leaking += leak.verdict == PROFILE_LEAKING;
		covered +=
			leak.growth_blocks_per_s.low <= 10 && 10 <= leak.growth_blocks_per_s.high;
		assert_int_equal(judge_site(&run.profiled, 2).verdict, PROFILE_CHURNING);
		run_end(&run);
	}
	print_message("%zu of %d leaks called, %zu covered\n", leaking, SEEDS / 10, covered);
	assert_true(leaking >= SEEDS / 10 * 95 / 100);
	assert_true(covered >= SEEDS / 10 * 90 / 100);
}

#define FAST_SEEDS 8

/* However many blocks come: the young ones take no room from the few that become old. */
static void a_fast_leak_is_called_one_as_soon_as_a_slow_one(void **state)
{
	static const struct {
		struct habit habit;
		double length_s, gap_s;
	} leaks[] = {
		{{.rate = 10, .life_s = INFINITY}, 0.05, 1.5},
		{{.rate = 24, .life_s = INFINITY}, 1, 3},
		{{.rate = 24, .life_s = INFINITY}, 1, 20},
		{{.rate = 1000, .life_s = INFINITY}, 0.1, 1},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(leaks); i++) {
		size_t leaking = 0;

		for (uint64_t seed = 1; seed <= FAST_SEEDS; seed++) {
			struct run run;

			run_begin(&run, seed);
			run_until(&run, &leaks[i].habit, 1, 1000, leaks[i].length_s,
				  leaks[i].gap_s);
			leaking += judge_site(&run.profiled, 1).verdict == PROFILE_LEAKING;
			run_end(&run);
		}
		print_message("%g blocks/s: %zu of %d leaks called after 1000 s\n",
			      leaks[i].habit.rate, leaking, FAST_SEEDS);
		assert_true(leaking >= FAST_SEEDS - 1);
	}
}

static void blocks_that_die_at_ten_minutes_are_never_called_a_leak(void **state)
{
	static const struct habit habit = {.rate = 20, .life_s = 600, .exact_life = true};

	(void)state;
	for (uint64_t seed = 1; seed <= 4; seed++) {
		struct run run;

		run_begin(&run, seed);
		for (double now_s = 60; now_s <= 1800; now_s += 60) {
			struct site_judgement judgement;

			run_until(&run, &habit, 1, now_s, 0.1, 1);
			judgement = judge_site(&run.profiled, 1);
			assert_int_not_equal(judgement.verdict, PROFILE_LEAKING);
			if (now_s == 660)
				assert_int_equal(judgement.verdict, PROFILE_TOO_EARLY);
			/* 11 min: blocks that are 745 s old in 85 s. */
			if (now_s == 660)
				assert_true(judgement.ready_s > 60 && judgement.ready_s < 400);
		}
		assert_true(judge_site(&run.profiled, 1).growth_bytes_per_s.low == 0);
		run_end(&run);
	}
}

struct adversary {
	const char *name;
	struct habit habit;
	unsigned right; /* bits of enum profile_verdict, after 25 minutes */
};

#define DIES (1u << PROFILE_CHURNING | 1u << PROFILE_RETAINED)

static void adversaries_are_not_called_leaks(void **state)
{
	static const struct adversary adversaries[] = {
		{"falls quiet when all are dead, and their memory stays as it is",
		 {.rate = 200, .rate_until_s = 200, .life_s = 20, .quiet = true},
		 1u << PROFILE_CHURNING | 1u << PROFILE_RETAINED},
		{"the same, where it can be seen that they are free",
		 {.rate = 200, .rate_until_s = 200, .life_s = 20, .quiet = true, .chunked = true},
		 1u << PROFILE_CHURNING},
		{"one of a thousand is never used again",
		 {.rate = 1000, .life_s = 0.5, .quiet_share = 0.001},
		 1u << PROFILE_CHURNING | 1u << PROFILE_RETAINED},
		{"zeros, in others' hands soon",
		 {.rate = 300, .life_s = 20, .zeroed = true},
		 1u << PROFILE_CHURNING | 1u << PROFILE_RETAINED | 1u << PROFILE_TOO_EARLY},
		{"alive, and written to",
		 {.rate = 10, .life_s = INFINITY, .writes_s = 2},
		 1u << PROFILE_RETAINED},
		{"mapped, and unmapped",
		 {.rate = 50, .life_s = 5, .unmapped = true},
		 1u << PROFILE_CHURNING},
		{"no more come",
		 {.rate = 50, .rate_until_s = 120, .life_s = INFINITY},
		 1u << PROFILE_RETAINED},
		{"others of this site, just like them, take their places soon",
		 {.rate = 200, .life_s = 2, .again = true},
		 1u << PROFILE_CHURNING | 1u << PROFILE_RETAINED | 1u << PROFILE_TOO_EARLY},
		{"after seconds", {.rate = 100, .life_s = 20, .again = true}, DIES},
		{"after minutes", {.rate = 50, .life_s = 300, .again = true}, DIES},
		{"all-equal contents in many blocks, which die",
		 {.rate = 100, .life_s = 30, .equal = true},
		 DIES},
		{"all-equal contents in many blocks, which stay",
		 {.rate = 10, .life_s = INFINITY, .equal = true},
		 1u << PROFILE_RETAINED},
		{"swapped out for minutes, and dead when they come back",
		 {.rate = 20, .life_s = 30, .swapped_from_s = 10, .swapped_for_s = 300},
		 DIES},
		{"a session of minutes",
		 {.rate = 20, .life_s = 180},
		 1u << PROFILE_CHURNING | 1u << PROFILE_RETAINED},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(adversaries); i++) {
		for (uint64_t seed = 1; seed <= 4; seed++) {
			struct site_judgement judgement;
			struct run run;

			run_begin(&run, seed);
			run_until(&run, &adversaries[i].habit, 1, 1500, 0.05, 1.5);
			judgement = judge_site(&run.profiled, 1);
			if (!(adversaries[i].right >> judgement.verdict & 1))
				fail_msg("%s: %s, seed %d", adversaries[i].name,
					 profile_verdict_name(judgement.verdict), (int)seed);
			run_end(&run);
		}
	}
}

/* Like a JVM's table of compiled code: a leak only once exact tracking would call it one, too. */
static void what_is_little_is_called_no_leak_however_long_it_stays(void **state)
{
	static const struct habit habits[] = {
		{.rate = 0.1, .life_s = INFINITY},
		{.rate = 500, .life_s = 0.05},
	};
	double little = verdict_limits(SUBJECT_SITE)->leaking;
	struct site_judgement judgement;
	struct run run;

	(void)state;
	run_begin(&run, 1);
	for (double now_s = 600; now_s <= 7200; now_s += 600) {
		run_until(&run, habits, ARRAY_SIZE(habits), now_s, 1, 3);
		judgement = judge_site(&run.profiled, 1);
		assert_int_not_equal(judgement.verdict, PROFILE_LEAKING);
	}
	assert_int_equal(judgement.verdict, PROFILE_TOO_EARLY);
	assert_true(judgement.growth_bytes_per_s.low > 0 && judgement.ready_s > 0);
	/* Until it exceeds 10 B/s, or the assumed value. */
	run_until(&run, habits, ARRAY_SIZE(habits), 3 * little / 10, 1, 3);
	assert_int_equal(judge_site(&run.profiled, 1).verdict, PROFILE_LEAKING);
	run_end(&run);
}

/* Blocks swapped out for minutes are not counted meanwhile, and again afterwards. */
static void a_leak_that_is_swapped_out_for_minutes_is_called_one(void **state)
{
	static const struct habit habit = {
		.rate = 10, .life_s = INFINITY, .swapped_from_s = 20, .swapped_for_s = 300};

	(void)state;
	for (uint64_t seed = 1; seed <= 10; seed++) {
		struct site_judgement leak;
		struct run run;

		run_begin(&run, seed);
		run_until(&run, &habit, 1, 1800, 0.05, 1.5);
		leak = judge_site(&run.profiled, 1);
		assert_int_equal(leak.verdict, PROFILE_LEAKING);
		assert_true(leak.growth_blocks_per_s.low > 0);
		run_end(&run);
	}
}

/* Freed memory stays unchanged and unused: only the allocator's own state reveals it. */
static void what_can_be_seen_to_be_free_does_not_grow(void **state)
{
	(void)state;
	for (int chunked = 0; chunked < 2; chunked++) {
		const struct habit habit = {
			.rate = 20, .life_s = 5, .quiet = true, .chunked = chunked};
		struct site_judgement judgement;
		struct run run;

		run_begin(&run, 1);
		run_until(&run, &habit, 1, 900, 0.05, 1.5);
		judgement = judge_site(&run.profiled, 1);
		assert_int_equal(judgement.growth_blocks_per_s.low > 0, !chunked);
		/* Four in a million live for 64 s. */
		if (chunked)
			assert_true(judgement.survival[PROFILE_AGE_SETTLED - 1].undead.high < 0.05);
		run_end(&run);
	}
}

/* In other memory, a block here and there seems to have a chunk's size before it. */
static void a_size_that_stands_before_few_blocks_is_an_accident(void **state)
{
	static const struct habit habits[] = {
		{.rate = 40, .life_s = INFINITY},
		{.rate = 20, .life_s = 1, .quiet = true, .chunked = true},
	};
	struct run run;

	(void)state;
	run_begin(&run, 1);
	run_until(&run, habits, ARRAY_SIZE(habits), 300, 0.5, 1.5);
	assert_true(run.profiled.chunks > 0 && run.profiled.no_chunks > run.profiled.chunks);
	assert_true(judge_site(&run.profiled, 2).growth_blocks_per_s.low > 0);
	run_end(&run);
}

/* Apparent survivors must not rank among leaks: their lower limit is close to zero. */
static void places_that_are_taken_again_do_not_come_first(void **state)
{
	static const struct habit habits[] = {
		{.rate = 5, .life_s = INFINITY},
		{.rate = 200, .life_s = 30, .again = true},
	};

	(void)state;
	for (uint64_t seed = 1; seed <= 10; seed++) {
		struct run run;

		run_begin(&run, seed);
		run_until(&run, habits, ARRAY_SIZE(habits), 900, 0.05, 1.5);
		assert_true(judge_site(&run.profiled, 1).growth_bytes_per_s.low >
			    judge_site(&run.profiled, 2).growth_bytes_per_s.low);
		run_end(&run);
	}
}

/* -------- the eighteen kinds */

#define TICK_S 5.0
#define TICKS 240

/* Block by block: which tick each one came and went in. */
struct course {
	VEC(struct simulated) blocks; /* ascending by birth */
};

/* Frees `count` live blocks of one tick. */
static void course_kill(struct course *course, size_t from, size_t to, uint32_t count, double at_s,
			uint64_t *random)
{
	for (size_t i = from; i < to && count; i++) {
		struct simulated *block = &course->blocks.items[i];

		if (isfinite(block->dies_s))
			continue;
		block->dies_s = fmax(at_s, block->at_s) + 0.05 * sim_unit(random);
		count--;
	}
}

static void course_make(struct course *course, enum site_behaviour behaviour, uint64_t seed)
{
	struct simulated_site *site = calloc(1, sizeof(*site));
	size_t ends[TICKS] = {0};
	uint64_t random = seed;
	struct site numbers = {0};

	assert_non_null(site);
	simulated_init(site, behaviour, seed);
	for (size_t tick = 0; tick < TICKS; tick++) {
		uint32_t before[TICKS];
		uint64_t allocated = site->allocated;
		double now_s = (double)tick * TICK_S;

		for (size_t i = 0; i < tick; i++)
			before[i] = site->held[i];
		simulated_step(site, (uint64_t)(TICK_S * 1e9), &numbers);
		for (uint64_t i = allocated; i < site->allocated; i++) {
			struct simulated *block = vec_push(&course->blocks);

			*block = (struct simulated){.dies_s = INFINITY, .size = site->size};
			block->at_s = now_s + TICK_S * (double)(i - allocated) /
						      (double)(site->allocated - allocated);
		}
		ends[tick] = course->blocks.count;
		for (size_t i = 0; i < tick; i++)
			course_kill(course, i ? ends[i - 1] : 0, ends[i], before[i] - site->held[i],
				    now_s + TICK_S / 2, &random);
		course_kill(course, tick ? ends[tick - 1] : 0, ends[tick],
			    (uint32_t)(site->allocated - allocated) - site->held[tick], now_s,
			    &random);
	}
	free(site);
}

/* Bytes that stay. */
static double course_kept(const struct course *course)
{
	double bytes = 0;

	for (size_t i = 0; i < course->blocks.count; i++)
		if (!isfinite(course->blocks.items[i].dies_s))
			bytes += (double)course->blocks.items[i].size;
	return bytes;
}

/* A fifth of the time tracked: such programs cost next to nothing. */
static void course_run(const struct course *course, struct run *run)
{
	size_t next = 0;
	double length_s = 0.3;

	while (run->next_s + length_s < TICK_S * TICKS) {
		size_t first = run->program.blocks.count;
		double end_s = run->next_s + length_s;

		looks_until(&run->profiled, &run->program, run->next_s);
		while (next < course->blocks.count && course->blocks.items[next].at_s < run->next_s)
			next++;
		for (; next < course->blocks.count && course->blocks.items[next].at_s < end_s;
		     next++) {
			const struct simulated *from = &course->blocks.items[next];
			struct simulated *block = program_allocate(&run->program, 1, from->at_s);

			block->dies_s = from->dies_s;
			block->size = from->size;
		}
		window_over(&run->profiled, &run->program, first, run->next_s, length_s);
		run->next_s = end_s + sim_exponential(&run->program.random, 1.2);
	}
	looks_until(&run->profiled, &run->program, TICK_S * TICKS);
}

#define KIND_SEEDS 6

static void kinds_of_sites_are_judged_as_well_as_by_exact_tracking(void **state)
{
	size_t matrix[BEHAVIOURS][PROFILE_VERDICT_MAX_] = {0}, false_leaks = 0, sure = 0,
	       called = 0;

	(void)state;
	for (enum site_behaviour kind = 0; kind < BEHAVIOURS; kind++) {
		for (uint64_t seed = 1; seed <= KIND_SEEDS; seed++) {
			struct course course = {0};
			struct site_judgement judgement;
			struct run run;

			course_make(&course, kind, seed);
			run_begin(&run, seed);
			course_run(&course, &run);
			judgement = judge_site(&run.profiled, 1);
			matrix[kind][judgement.verdict]++;
			false_leaks +=
				!behaviours[kind].leaks && judgement.verdict == PROFILE_LEAKING;
			/* Sites that exact tracking is clearly certain of. */
			if (behaviours[kind].right == RIGHT(LEAKING) &&
			    course_kept(&course) > 1.5 * verdict_limits(SUBJECT_SITE)->leaking) {
				sure++;
				called += judgement.verdict == PROFILE_LEAKING;
			}
			run_end(&run);
			vec_free(&course.blocks);
		}
	}
	for (size_t kind = 0; kind < BEHAVIOURS; kind++) {
		print_message("%-20s", behaviours[kind].name);
		for (size_t v = 0; v < PROFILE_VERDICT_MAX_; v++)
			print_message(" %s %2zu", profile_verdict_name((enum profile_verdict)v),
				      matrix[kind][v]);
		print_message("\n");
	}
	print_message("%zu false leaks; %zu of %zu sure leaks called\n", false_leaks, called, sure);
	assert_int_equal(false_leaks, 0);
	assert_true(called * 100 >= sure * 97);
}

/* -------- bounds */

static void samples_stay_bounded_over_a_day(void **state)
{
	static const struct habit habits[] = {
		{.rate = 100, .life_s = INFINITY},
		{.rate = 1000, .life_s = 1},
		{.rate = 100, .life_s = INFINITY, .writes_s = 1},
	};
	size_t most = 0, windows = 0;
	struct run run;

	(void)state;
	run_begin(&run, 5);
	for (double now_s = 600; now_s <= 86400; now_s += 600) {
		run_until(&run, habits, ARRAY_SIZE(habits), now_s, 0.03, 6);
		most = run.profiled.samples > most ? run.profiled.samples : most;
		windows =
			run.profiled.windows.count > windows ? run.profiled.windows.count : windows;
	}
	print_message("at most %zu samples, in %zu windows\n", most, windows);
	assert_true(most <= 1200);
	assert_true(windows <= 400);
	assert_int_equal(judge_site(&run.profiled, 1).verdict, PROFILE_LEAKING);
	assert_int_equal(judge_site(&run.profiled, 2).verdict, PROFILE_CHURNING);
	run_end(&run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(growth_of_a_leak_is_covered_after_five_minutes),
		cmocka_unit_test(growth_of_a_leak_is_covered_where_half_of_it_is_swapped_out),
		cmocka_unit_test(a_leak_is_called_one_after_twenty_minutes),
		cmocka_unit_test(a_fast_leak_is_called_one_as_soon_as_a_slow_one),
		cmocka_unit_test(blocks_that_die_at_ten_minutes_are_never_called_a_leak),
		cmocka_unit_test(adversaries_are_not_called_leaks),
		cmocka_unit_test(what_is_little_is_called_no_leak_however_long_it_stays),
		cmocka_unit_test(a_leak_that_is_swapped_out_for_minutes_is_called_one),
		cmocka_unit_test(what_can_be_seen_to_be_free_does_not_grow),
		cmocka_unit_test(a_size_that_stands_before_few_blocks_is_an_accident),
		cmocka_unit_test(places_that_are_taken_again_do_not_come_first),
		cmocka_unit_test(kinds_of_sites_are_judged_as_well_as_by_exact_tracking),
		cmocka_unit_test(samples_stay_bounded_over_a_day),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
