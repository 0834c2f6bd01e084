// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Many processes under one budget, on a simulated clock: whose window is next, what everybody
 * loses, what leakmon uses, and what memory is for.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "profile_fixture.h"

#include "profile/pace.h"
#include "profile/turns.h"

#define TICK_S 0.1
#define PROCESSES 50
#define LIMIT 0.01

struct simulated_process {
	double share;  /* of a core that it uses */
	double growth; /* that its windows find, once it has had one */
	struct pace pace;
	struct turn_candidate candidate;
};

struct machine {
	struct simulated_process processes[PROCESSES];
	struct turns turns;
	double window_cost_s; /* CPU time of leakmon for a window and its looks */
	double report_cost_s; /* and for a report */
	double windows_s, total_s, now_s;
};

static void machine_begin(struct machine *machine, uint64_t seed)
{
	*machine = (struct machine){.window_cost_s = 0.01, .report_cost_s = 0.02};
	for (size_t i = 0; i < PROCESSES; i++) {
		machine->processes[i].share = i % 5 ? 0.5 : 0; /* ten of them sleep */
		pace_begin(&machine->processes[i].pace, LIMIT, 0.002, seed * PROCESSES + i);
	}
	turns_begin(&machine->turns, LIMIT, 0);
}

static void open_window(struct machine *machine, struct simulated_process *process)
{
	double length_s = pace_length_s(&process->pace), births = length_s * process->share * 1e5;

	/* Closed early when it is too dear. */
	if (0.002 + births * 2e-6 > pace_allowance_s(&process->pace))
		births = (pace_allowance_s(&process->pace) - 0.002) / 2e-6;
	pace_spend(&process->pace, &(struct pace_window){.attach_s = 0.002,
							 .hits_s = births * 2e-6,
							 .births_s = length_s,
							 .births_hits_s = births * 2e-6,
							 .births = births});
	process->candidate.wants = false;
	process->candidate.since_s = machine->now_s;
	process->candidate.windows++;
	process->candidate.growth = process->growth;
	machine->windows_s += machine->window_cost_s;
	machine->total_s += machine->window_cost_s;
}

static void machine_run(struct machine *machine, double end_s)
{
	struct turn_candidate candidates[PROCESSES];
	double report_s = machine->now_s;

	for (; machine->now_s < end_s; machine->now_s += TICK_S) {
		size_t next;

		if (machine->now_s >= report_s) {
			machine->total_s += machine->report_cost_s;
			report_s += 10;
		}
		for (size_t i = 0; i < PROCESSES; i++) {
			struct simulated_process *process = &machine->processes[i];

			process->candidate.wants |= pace_step(&process->pace, machine->now_s,
							      process->share * machine->now_s);
			candidates[i] = process->candidate;
		}
		if (!turns_afford(&machine->turns, machine->now_s, machine->total_s,
				  machine->windows_s))
			continue;
		next = turns_next(&machine->turns, candidates, PROCESSES);
		if (next < PROCESSES)
			open_window(machine, &machine->processes[next]);
	}
}

static unsigned windows_of_all(const struct machine *machine)
{
	unsigned windows = 0;

	for (size_t i = 0; i < PROCESSES; i++)
		windows += machine->processes[i].candidate.windows;
	return windows;
}

static void nobody_loses_more_than_the_limit_and_leakmon_uses_no_more(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct machine machine;

		machine_begin(&machine, seed);
		machine.processes[7].growth = 1000;
		machine_run(&machine, 3600);
		assert_true(machine.total_s <= LIMIT * 3600 + TURNS_CREDIT_S + 0.02);
		/* Nearly all of it is used, since forty processes would like to. */
		assert_true(machine.total_s > LIMIT * 3600 * 0.95);
		for (size_t i = 0; i < PROCESSES; i++) {
			const struct pace *pace = &machine.processes[i].pace;

			assert_true(pace->spent_s <= LIMIT * pace->used_s + 0.07);
		}
	}
}

static void who_grows_has_most_windows_who_sleeps_none_and_others_their_turns(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct machine machine;
		unsigned leaking;

		machine_begin(&machine, seed);
		machine.processes[7].growth = 1000;
		machine.processes[8].growth = 10;
		machine_run(&machine, 3600);
		leaking = machine.processes[7].candidate.windows;
		for (size_t i = 0; i < PROCESSES; i++) {
			unsigned windows = machine.processes[i].candidate.windows;

			if (!machine.processes[i].share) {
				assert_int_equal(windows, 0);
			} else if (i != 7) {
				assert_true(windows >= 10);
				assert_true(windows < leaking);
			}
		}
		assert_true(leaking > 3 * machine.processes[9].candidate.windows);
	}
}

static void everybody_is_looked_at_before_growth_decides(void **state)
{
	struct machine machine;

	(void)state;
	machine_begin(&machine, 3);
	machine.turns.limit = 1;
	machine.processes[1].growth = 1e9;
	machine.now_s = 0;
	/* Forty processes, three windows each, at one a tick at most. */
	while (windows_of_all(&machine) < 120) {
		machine_run(&machine, machine.now_s + TICK_S);
		for (size_t i = 0; i < PROCESSES && windows_of_all(&machine) <= 80; i++)
			assert_true(machine.processes[i].candidate.windows <= 40);
	}
	machine_run(&machine, 600);
	for (size_t i = 0; i < PROCESSES; i++)
		assert_true(!machine.processes[i].share ||
			    machine.processes[i].candidate.windows >= 3);
}

static void whoever_waits_and_has_fewest_windows_is_first(void **state)
{
	static const struct {
		struct turn_candidate candidates[4];
		size_t first, second; /* with the state that the first turn leaves */
	} cases[] = {
		{{{true, 9, 5, 1}, {true, 2, 0, 9}, {true, 1, 0, 9}, {false, 0, 9, 0}}, 2, 2},
		{{{true, 3, 5, 7}, {true, 9, 0, 3}, {true, 9, 8, 9}, {false, 9, 9, 0}}, 1, 2},
		{{{true, 3, 0, 7}, {true, 9, 0, 3}, {true, 9, -1, 9}, {false, 9, 9, 0}}, 1, 1},
		{{{false, 0, 0, 0}, {false, 9, 0, 3}, {false, 9, 8, 9}, {false, 9, 9, 0}}, 4, 4},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct turns turns;

		turns_begin(&turns, 0.01, 0);
		assert_int_equal(turns_next(&turns, cases[i].candidates, 4), cases[i].first);
		assert_int_equal(turns_next(&turns, cases[i].candidates, 4), cases[i].second);
	}
}

/* -------- exactly: costs and clocks are powers of two, and whoever is busy always wants a window
 */

#define EXACT_LIMIT (1.0 / 64)
#define EXACT_COST_S (1.0 / 64)
#define EXACT_TICK_S (1.0 / 8)
#define EXACT_TIME_S 1024 /* so 1024 windows, and 32 of TURNS_CREDIT_S */
#define EXACT_MOST 16

struct busy {
	bool is_busy;
	double growth;
	unsigned windows; /* that it is to have */
};

static void run_exactly(const struct busy *processes, size_t count, unsigned windows[EXACT_MOST])
{
	struct turn_candidate candidates[EXACT_MOST] = {0};
	struct turns turns;
	double used_s = 0;

	turns_begin(&turns, EXACT_LIMIT, 0);
	for (double now_s = 0; now_s < EXACT_TIME_S; now_s += EXACT_TICK_S) {
		size_t next;

		for (size_t i = 0; i < count; i++)
			candidates[i].wants = processes[i].is_busy;
		if (!turns_afford(&turns, now_s, used_s, used_s))
			continue;
		next = turns_next(&turns, candidates, count);
		if (next == count)
			continue;
		candidates[next].windows++;
		candidates[next].since_s = now_s;
		candidates[next].growth = processes[next].growth;
		used_s += EXACT_COST_S;
	}
	for (size_t i = 0; i < count; i++)
		windows[i] = candidates[i].windows;
}

/*
 * Three windows each, then every other one for the fastest, and those between for whoever has
 * waited longest. So of 1056 it has 3 + (1056 - 3 n) / 2 where n are busy, and one more for having
 * been the first to have its third; the others share what is left. What those that idle do not take
 * is lost to nobody.
 */
static void what_idle_processes_leave_goes_to_the_busy_ones_by_growth(void **state)
{
	static const struct {
		size_t count;
		struct busy processes[EXACT_MOST];
	} cases[] = {
		{1, {{true, 0, 1056}}},
		{4, {{true, 9, 526}, {true, 5, 177}, {true, 0, 177}, {true, 0, 176}}},
		/* Two idle: what they had goes to the other, and the fastest has its half. */
		{4, {{true, 9, 529}, {true, 5, 527}, {false, 0, 0}, {false, 0, 0}}},
		/* The fastest idles: the second is it. */
		{4, {{false, 9, 0}, {true, 5, 527}, {true, 0, 265}, {true, 0, 264}}},
		{4, {{false, 9, 0}, {false, 5, 0}, {true, 0, 528}, {true, 0, 528}}},
		{4, {{false, 9, 0}, {false, 5, 0}, {false, 0, 0}, {true, 0, 1056}}},
		{4, {{false, 9, 0}, {false, 5, 0}, {false, 0, 0}, {false, 0, 0}}},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		unsigned windows[EXACT_MOST];

		run_exactly(cases[i].processes, cases[i].count, windows);
		for (size_t j = 0; j < cases[i].count; j++)
			assert_int_equal(windows[j], cases[i].processes[j].windows);
	}
}

/* Reports that cost more than the limit: what is left for windows is half of it. */
static void dear_reports_leave_half_of_the_limit_to_windows(void **state)
{
	struct machine machine;

	(void)state;
	machine_begin(&machine, 1);
	machine.report_cost_s = 1;
	machine_run(&machine, 3600);
	assert_true(machine.windows_s <= LIMIT / 2 * 3600 + TURNS_CREDIT_S + 0.01);
	assert_true(machine.windows_s > LIMIT / 2 * 3600 * 0.9);
}

/* -------- memory */

#define ROOM 600
#define SITES 40

/* A tenth of what a site allocates stays; the rest dies at once. */
static size_t allocate(struct program *program, double at_s, double length_s)
{
	size_t first = program->blocks.count;

	for (uint32_t site = 1; site <= SITES; site++) {
		for (size_t i = 0; i < 30; i++) {
			struct simulated *block =
				program_allocate(program, site, at_s + length_s * 0.5);

			block->dies_s = i % 10 ? at_s + length_s + 0.1 : INFINITY;
		}
	}
	return first;
}

/*
 * A window every ten seconds, of blocks of which three a site and window stay: 30 a second of a
 * tracked tenth of a second. Half are let go whenever there are too many.
 */
static void halved_samples_stay_below_a_bound_and_keep_the_figures_right(void **state)
{
	size_t covered = 0, all = 0;
	double mean = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct program program = {.random = seed, .room = ROOM};
		struct profiled profiled;
		unsigned halved = 0;

		profiled_init(&profiled, seed);
		for (double now_s = 0; now_s < 1800; now_s += 10) {
			looks_until(&profiled, &program, now_s);
			window_over(&profiled, &program, allocate(&program, now_s, 0.1), now_s,
				    0.1);
			for (; profiled.samples > ROOM; halved++)
				profiled_halve(&profiled);
		}
		assert_true(halved > 3);
		for (uint32_t site = 1; site <= SITES; site++) {
			struct site_judgement judgement = judge_site(&profiled, site);
			const struct interval *growth = &judgement.growth_blocks_per_s;

			mean += growth->estimate / SITES / 20;
			covered += growth->low <= 30 && 30 <= growth->high;
			all++;
		}
		profiled_free(&profiled);
		program_free(&program);
	}
	print_message("30 blocks a second: %.2f, covered in %.3f\n", mean,
		      (double)covered / (double)all);
	assert_true(mean > 28 && mean < 32);
	assert_true((double)covered > 0.9 * (double)all);
}

/* Once a site was left out, no other is let in: it would seem to begin there. */
static void sites_beyond_the_room_are_counted_and_not_followed(void **state)
{
	struct window_births births[] = {{1, 10, 1000}, {2, 20, 2000}, {3, 30, 3000}};
	struct window_block blocks[] = {{0x1000, 8, 1, 1}, {0x2000, 8, 1, 2}, {0x3000, 8, 1, 3}};
	struct window_taken taken = {.at_s = 1,
				     .length_s = 1,
				     .wall_s = 1,
				     .end_s = 1.5,
				     .births = births,
				     .birth_count = 3,
				     .blocks = blocks,
				     .block_count = 3,
				     .room = 100,
				     .site_room = 2};
	struct profiled profiled;

	(void)state;
	profiled_init(&profiled, 1);
	assert_int_equal(profiled_take(&profiled, &taken), 0);
	assert_int_equal(profiled.sites.count, 2);
	assert_int_equal(profiled.samples, 2);
	assert_int_equal(profiled.unfollowed, 30);
	taken.site_room = 100;
	assert_int_equal(profiled_take(&profiled, &taken), 0);
	assert_int_equal(profiled.sites.count, 2);
	assert_int_equal(profiled.samples, 4);
	assert_int_equal(profiled.unfollowed, 60);
	profiled_free(&profiled);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nobody_loses_more_than_the_limit_and_leakmon_uses_no_more),
		cmocka_unit_test(who_grows_has_most_windows_who_sleeps_none_and_others_their_turns),
		cmocka_unit_test(everybody_is_looked_at_before_growth_decides),
		cmocka_unit_test(whoever_waits_and_has_fewest_windows_is_first),
		cmocka_unit_test(what_idle_processes_leave_goes_to_the_busy_ones_by_growth),
		cmocka_unit_test(dear_reports_leave_half_of_the_limit_to_windows),
		cmocka_unit_test(halved_samples_stay_below_a_bound_and_keep_the_figures_right),
		cmocka_unit_test(sites_beyond_the_room_are_counted_and_not_followed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
