// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Windows on a simulated clock: the budget of one process, the order of many, and the processes
 * that have a slot.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "app/profile/window_scheduler.h"
#include "base/cleanup.h"

#define TICK_S 0.1
#define SEEDS 20

/* A process that uses `share` of a core, for `on_s` out of every `period_s`; it allocates `rate`
 * times a second of its CPU time, which costs `pair_s` each under probes. */
struct program {
	double share, on_s, period_s, rate, pair_s;
};

static double cpu_at(const struct program *program, double now_s)
{
	double periods = floor(now_s / program->period_s);
	double on_s = fmin(now_s - periods * program->period_s, program->on_s);

	return program->share * (periods * program->on_s + on_s);
}

/* A window with all hits while births counted, of a process that works all the time. */
static void spend(struct window_budget *budget, double attach_s, double hits_s, double births_s,
		  double births)
{
	window_budget_spend(budget, &(struct window_cost){.attach_s = attach_s,
							  .hits_s = hits_s,
							  .used_s = births_s,
							  .open_s = births_s,
							  .births_s = births_s,
							  .births_hits_s = hits_s,
							  .births = births});
}

struct outcome {
	double spent, tracked_s, busy; /* share of windows that opened while it was busy */
	unsigned windows;
};

static struct outcome run(const struct program *program, double limit, double attach_s,
			  double end_s, uint64_t seed)
{
	struct outcome outcome = {0};
	struct window_budget budget;

	window_budget_init(&budget, limit, attach_s, seed);
	for (double now_s = 0; now_s < end_s; now_s += TICK_S) {
		double length_s, open_s, cpu_s, births, hits_s;

		if (!window_budget_step(&budget, now_s, cpu_at(program, now_s)))
			continue;
		length_s = window_budget_length_s(&budget);
		assert_true(length_s >= PROFILE_WINDOW_MIN_S && length_s <= PROFILE_WINDOW_MAX_S);
		cpu_s = cpu_at(program, now_s + length_s) - cpu_at(program, now_s);
		births = cpu_s * program->rate;
		/* Closed early when it is too dear. */
		if (attach_s + births * program->pair_s > window_budget_allowance_s(&budget))
			births = (window_budget_allowance_s(&budget) - attach_s) / program->pair_s;
		hits_s = births * program->pair_s;
		/* Also while probes are set, and in the grace before and after births. */
		open_s = length_s + 2 * window_grace_s(length_s) + 0.01;
		window_budget_spend(&budget,
				    &(struct window_cost){.attach_s = attach_s,
							  .hits_s = hits_s * open_s / length_s,
							  .used_s = cpu_s + hits_s,
							  .open_s = open_s,
							  .births_s = length_s,
							  .births_hits_s = hits_s,
							  .births = births});
		outcome.tracked_s += length_s;
		outcome.busy += cpu_s > 0;
		outcome.windows++;
	}
	outcome.spent = window_budget_spent_share(&budget);
	outcome.busy /= outcome.windows ? outcome.windows : 1;
	return outcome;
}

/* The real cost of windows was seen to be 1.5 times the counted cost. */
static void what_is_spent_leaves_a_third_of_the_limit_to_what_cannot_be_counted(void **state)
{
	static const struct program programs[] = {
		{1, 1, 1, 400000, 3e-6}, /* nothing but malloc and free */
		{1, 1, 1, 10000, 2e-6},	  {2, 1, 1, 100000, 2e-6},    {0.2, 1, 1, 100000, 2e-6},
		{1, 3, 10, 100000, 2e-6}, {1, 30, 600, 100000, 2e-6},
	};
	static const double limits[] = {0.01, 0.002, 0.05};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(programs); i++) {
		for (size_t j = 0; j < ARRAY_SIZE(limits); j++) {
			for (uint64_t seed = 1; seed <= SEEDS; seed++) {
				struct outcome outcome =
					run(&programs[i], limits[j], 0.003, 3600, seed);
				double used_s = cpu_at(&programs[i], 3600);

				assert_true(1.5 * outcome.spent < limits[j] * 1.05);
				/* Attaching costs little while it idles. */
				assert_true(1.5 * outcome.spent > limits[j] * 0.45 - 0.17 / used_s);
			}
		}
	}
}

static void an_idle_process_has_no_windows(void **state)
{
	static const struct program idle = {0, 1, 1, 0, 0};

	(void)state;
	assert_int_equal(run(&idle, 0.01, 0.003, 86400, 1).windows, 0);
}

/* Somebody waits for it: it counts as using a twentieth of a core, and loses no more of that. */
static void one_that_idles_has_windows_out_of_its_floor(void **state)
{
	double first_s[2] = {0};
	unsigned windows[2] = {0};

	(void)state;
	for (size_t has_floor = 0; has_floor < 2; has_floor++) {
		struct window_budget budget;

		window_budget_init(&budget, 0.01, 0.003, 1);
		budget.floor = has_floor ? 0.05 : 0;
		for (double now_s = 0; now_s <= 3600; now_s += TICK_S) {
			if (!window_budget_step(&budget, now_s, now_s / 1000))
				continue;
			spend(&budget, 0.003, 1e-6, 0.01, 0);
			if (!windows[has_floor]++)
				first_s[has_floor] = now_s;
			assert_true(budget.spent_s <=
				    0.01 * (has_floor ? 0.05 * now_s : budget.used_s));
		}
	}
	print_message("idle: %u windows in an hour, or %u; the first after %.0f s\n", windows[0],
		      windows[1], first_s[1]);
	assert_true(first_s[0] < 30 && first_s[1] < 5);
	assert_true(windows[1] > 20 * windows[0]);
}

/*
 * Whatever a process does under probes, and however late these are detached, its loss never exceeds
 * the limit of its own CPU time, from its first window on.
 */
static void no_window_costs_more_than_is_earned_by_then(void **state)
{
	static const struct {
		double share, on_s, period_s, slower; /* CPU time under probes, by that without */
	} programs[] = {
		{1, 1, 1, 1},	  {1, 1, 1, 0.01}, {0.1, 1, 1, 3},  {0.01, 1, 1, 3},
		{0.001, 1, 1, 3}, {1, 0.3, 10, 1}, {4, 1, 1, 0.25}, {0.5, 1, 1, 2},
	};
	static const double attaches_s[] = {0.0005, 0.004, 0.02};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(programs) * ARRAY_SIZE(attaches_s) * SEEDS; i++) {
		const struct program program = {programs[i % ARRAY_SIZE(programs)].share,
						programs[i % ARRAY_SIZE(programs)].on_s,
						programs[i % ARRAY_SIZE(programs)].period_s, 0, 0};
		double attach_s = attaches_s[i / ARRAY_SIZE(programs) % ARRAY_SIZE(attaches_s)];
		struct window_budget budget;
		unsigned windows = 0;

		window_budget_init(&budget, 0.01, attach_s, i + 1);
		for (double now_s = 0; now_s < 600; now_s += TICK_S) {
			double loss =
				fmin(programs[i % ARRAY_SIZE(programs)].slower * program.share, 1);
			double length_s, bound_s, hits_s;

			if (!window_budget_step(&budget, now_s, cpu_at(&program, now_s)))
				continue;
			length_s = window_budget_length_s(&budget);
			length_s += 2 * window_grace_s(length_s);
			bound_s = window_budget_bound_s(&budget) -
				  window_budget_attach_loss_s(&budget, attach_s);
			/* It ends at its bound, and the probes are out 4 ms later. */
			hits_s = fmin(loss * length_s, bound_s + 0.004 * loss);
			spend(&budget, attach_s, hits_s, length_s, 100);
			windows++;
			assert_true(budget.spent_s <= 0.01 * budget.used_s + 1e-9);
		}
		assert_true(windows > 0);
	}
}

/* Otherwise rates would only represent busy times. */
static void windows_open_as_often_in_busy_times_as_these_are(void **state)
{
	static const struct program turns = {1, 5, 20, 100000, 2e-6};
	double busy = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++)
		busy += run(&turns, 0.01, 0.003, 3600, seed).busy / SEEDS;
	print_message("busy a quarter of the time, in %.3f of the windows\n", busy);
	assert_true(busy > 0.2 && busy < 0.32);
}

static void windows_are_as_long_as_their_births_and_their_attach_ask(void **state)
{
	struct window_budget budget;

	(void)state;
	window_budget_init(&budget, 0.01, 0.003, 1);
	budget.share = 1;
	assert_true(window_budget_length_s(&budget) ==
		    PROFILE_WINDOW_MIN_S); /* nothing is known yet */
	spend(&budget, 0.003, 0.0001, 0.01, 1);
	assert_true(window_budget_length_s(&budget) == PROFILE_WINDOW_MAX_S);
	window_budget_init(&budget, 0.01, 0.003, 1);
	budget.share = 1;
	spend(&budget, 0.003, 0.008, 0.01, 4000);
	assert_true(window_budget_length_s(&budget) == PROFILE_WINDOW_MIN_S);
	window_budget_init(&budget, 0.01, 0.003, 1);
	budget.share = 1;
	spend(&budget, 0.003, 0.001, 0.01, 1000); /* 100,000 a second, a tenth of its time */
	assert_true(fabs(window_budget_length_s(&budget) - 0.06) < 1e-9);
}

/*
 * Otherwise a program that allocates in phases would wait until a second of it is earned, and a
 * program that only frees would, too.
 */
static void a_burst_beside_the_births_makes_no_window_dear(void **state)
{
	static const struct window_cost beside = {.attach_s = 0.002,
						  .hits_s = 0.002,
						  .used_s = 0.01,
						  .births_s = 0.01},
					frees = {.attach_s = 0.002,
						 .hits_s = 0.006,
						 .used_s = 0.01,
						 .births_s = 0.01,
						 .births_hits_s = 0.005};
	struct window_budget budget;
	unsigned windows = 0;

	(void)state;
	window_budget_init(&budget, 0.01, 0.002, 1);
	budget.share = 1;
	window_budget_spend(&budget, &beside);
	assert_true(budget.spent_s == beside.attach_s + beside.hits_s);
	assert_true(window_budget_length_s(&budget) == PROFILE_WINDOW_MAX_S);
	for (double now_s = 0; now_s < 30; now_s += TICK_S)
		windows += window_budget_step(&budget, now_s, now_s);
	assert_true(windows > 0);
	window_budget_init(&budget, 0.01, 0.002, 1);
	budget.share = 1;
	window_budget_spend(&budget, &frees);
	assert_true(fabs(window_budget_length_s(&budget) - 0.04) < 1e-9);
}

/* On a busy machine it may be read too late: the next one must not last a second for that. */
static void a_window_without_result_is_paid_and_adds_no_births(void **state)
{
	struct window_budget budget;

	(void)state;
	window_budget_init(&budget, 0.01, 0.003, 1);
	budget.share = 1;
	spend(&budget, 0.003, 0.01, 0.01, -1);
	assert_true(window_budget_length_s(&budget) == PROFILE_WINDOW_MIN_S);
	assert_true(budget.spent_s == 0.003 + 0.01);
	spend(&budget, 0.003, 0.001, 0.01, 1000);
	spend(&budget, 0.003, 0.001, 0.01, -1);
	assert_true(fabs(window_budget_length_s(&budget) - 0.06) < 1e-9);
}

/* A report may come as the last probe is set: hits so far must not be divided by zero time. */
static void one_that_ends_as_it_opens_makes_the_next_ones_no_dearer(void **state)
{
	static const struct window_cost given_up = {
		.attach_s = 0.002, .hits_s = 0.013, .used_s = 0.013, .open_s = 1e-5};
	struct window_budget budget;
	unsigned windows = 0;

	(void)state;
	window_budget_init(&budget, 0.2, 0.002, 1);
	budget.share = 0.3;
	spend(&budget, 0.002, 0.004, 0.01, 1000);
	window_budget_spend(&budget, &given_up);
	for (double now_s = 0; now_s < 10; now_s += TICK_S)
		windows += window_budget_step(&budget, now_s, 0.3 * now_s);
	assert_true(windows > 0);
}

/* -------- many processes under one limit */

#define PROCESSES 50
#define LIMIT 0.01

struct simulated_process {
	double share;  /* share of a core that it uses */
	double growth; /* found by its windows, from the first one on */
	struct window_budget budget;
	struct window_candidate candidate;
};

struct machine {
	struct simulated_process processes[PROCESSES];
	struct window_scheduler scheduler;
	double window_cost_s; /* CPU time of leakmon for a window and its checks */
	double report_cost_s; /* and of a report */
	double windows_s, total_s, now_s;
};

static void machine_begin(struct machine *machine, uint64_t seed)
{
	*machine = (struct machine){.window_cost_s = 0.01, .report_cost_s = 0.02};
	for (size_t i = 0; i < PROCESSES; i++) {
		machine->processes[i].share = i % 5 ? 0.5 : 0; /* ten of them sleep */
		window_budget_init(&machine->processes[i].budget, LIMIT, 0.002,
				   seed * PROCESSES + i);
	}
	window_scheduler_init(&machine->scheduler, LIMIT, 0);
}

static void open_window(struct machine *machine, struct simulated_process *process)
{
	double length_s = window_budget_length_s(&process->budget),
	       births = length_s * process->share * 1e5;

	/* Closed early when it is too dear. */
	if (0.002 + births * 2e-6 > window_budget_allowance_s(&process->budget))
		births = (window_budget_allowance_s(&process->budget) - 0.002) / 2e-6;
	window_budget_spend(&process->budget,
			    &(struct window_cost){.attach_s = 0.002,
						  .hits_s = births * 2e-6,
						  .used_s = length_s * process->share,
						  .births_s = length_s,
						  .births_hits_s = births * 2e-6,
						  .births = births});
	process->candidate.is_due = false;
	process->candidate.since_s = machine->now_s;
	process->candidate.windows++;
	process->candidate.growth = process->growth;
	machine->windows_s += machine->window_cost_s;
	machine->total_s += machine->window_cost_s;
}

static void machine_run(struct machine *machine, double end_s)
{
	struct window_candidate candidates[PROCESSES];
	double report_s = machine->now_s;

	for (; machine->now_s < end_s; machine->now_s += TICK_S) {
		size_t next;

		if (machine->now_s >= report_s) {
			machine->total_s += machine->report_cost_s;
			report_s += 10;
		}
		for (size_t i = 0; i < PROCESSES; i++) {
			struct simulated_process *process = &machine->processes[i];

			process->candidate.is_due |= window_budget_step(
				&process->budget, machine->now_s, process->share * machine->now_s);
			candidates[i] = process->candidate;
		}
		if (!window_scheduler_has_credit(&machine->scheduler, machine->now_s,
						 machine->total_s, machine->windows_s))
			continue;
		next = window_scheduler_next(&machine->scheduler, candidates, PROCESSES);
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

static void two_windows_that_met_the_process_at_work_show_its_rate(void **state)
{
	struct window_budget budget;

	(void)state;
	window_budget_init(&budget, 0.01, 0.003, 1);
	assert_true(isinf(window_budget_hits_per_s(&budget)));
	spend(&budget, 0.003, 0.0002, 0.1, 100);
	assert_true(isinf(window_budget_hits_per_s(&budget)));
	spend(&budget, 0.003, 0.0002, 0.1, 100);
	assert_float_equal(window_budget_hits_per_s(&budget), 0.002, 1e-9);
}

/* It sleeps through all windows. */
static void a_second_of_windows_shows_the_rate_of_one_that_hardly_works(void **state)
{
	static const struct window_cost sleeps = {
		.attach_s = 0.003, .open_s = 0.4, .births_s = 0.4};
	struct window_budget budget;

	(void)state;
	window_budget_init(&budget, 0.01, 0.003, 1);
	for (int i = 0; i < 2; i++)
		window_budget_spend(&budget, &sleeps);
	assert_true(isinf(window_budget_hits_per_s(&budget)));
	window_budget_spend(&budget, &sleeps);
	assert_true(window_budget_hits_per_s(&budget) == 0);
}

static void the_densest_burst_is_feared_until_the_rate_is_known(void **state)
{
	struct window_budget budget;

	(void)state;
	window_budget_init(&budget, 0.01, 0.003, 1);
	window_budget_step(&budget, 0, 0);
	window_budget_step(&budget, 1, 0.02);
	assert_float_equal(window_budget_burst_s(&budget), 5 * 0.02 * 0.056, 1e-9);
	window_budget_step(&budget, 1.02, 0.04);
	assert_float_equal(window_budget_burst_s(&budget), 0.056, 1e-9);
	spend(&budget, 0.003, 0.0002, 0.1, 100);
	assert_true(window_budget_burst_s(&budget) == 0);
}

static void nobody_loses_more_than_the_limit_and_leakmon_uses_no_more(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct machine machine;

		machine_begin(&machine, seed);
		machine.processes[7].growth = 1000;
		machine_run(&machine, 3600);
		assert_true(machine.total_s <= LIMIT * 3600 + WINDOW_CREDIT_S + 0.02);
		/* Nearly all of the limit is used, since forty processes could use it. */
		assert_true(machine.total_s > LIMIT * 3600 * 0.95);
		for (size_t i = 0; i < PROCESSES; i++) {
			const struct window_budget *budget = &machine.processes[i].budget;

			assert_true(budget->spent_s <= LIMIT * budget->used_s + 0.07);
		}
	}
}

static void growing_processes_get_most_windows_sleeping_ones_none_and_others_turns(void **state)
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
	machine.scheduler.limit = 1;
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
		struct window_candidate candidates[4];
		size_t first, second; /* in the states after the first turn */
	} cases[] = {
		{{{true, 9, 5, 1}, {true, 2, 0, 9}, {true, 1, 0, 9}, {false, 0, 9, 0}}, 2, 2},
		{{{true, 3, 5, 7}, {true, 9, 0, 3}, {true, 9, 8, 9}, {false, 9, 9, 0}}, 1, 2},
		{{{true, 3, 0, 7}, {true, 9, 0, 3}, {true, 9, -1, 9}, {false, 9, 9, 0}}, 1, 1},
		{{{false, 0, 0, 0}, {false, 9, 0, 3}, {false, 9, 8, 9}, {false, 9, 9, 0}}, 4, 4},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct window_scheduler scheduler;

		window_scheduler_init(&scheduler, 0.01, 0);
		assert_int_equal(window_scheduler_next(&scheduler, cases[i].candidates, 4),
				 cases[i].first);
		assert_int_equal(window_scheduler_next(&scheduler, cases[i].candidates, 4),
				 cases[i].second);
	}
}

/* -------- exactly: costs and clocks are powers of two, and a busy process always wants a window */

#define EXACT_LIMIT (1.0 / 64)
#define EXACT_COST_S (1.0 / 64)
#define EXACT_TICK_S (1.0 / 8)
#define EXACT_TIME_S 1024 /* hence 1024 windows, and 32 of WINDOW_CREDIT_S */
#define EXACT_MOST 16

struct busy {
	bool is_busy;
	double growth;
	unsigned windows; /* expected number */
};

static void run_exactly(const struct busy *processes, size_t count, unsigned windows[EXACT_MOST])
{
	struct window_candidate candidates[EXACT_MOST] = {0};
	struct window_scheduler scheduler;
	double used_s = 0;

	window_scheduler_init(&scheduler, EXACT_LIMIT, 0);
	for (double now_s = 0; now_s < EXACT_TIME_S; now_s += EXACT_TICK_S) {
		size_t next;

		for (size_t i = 0; i < count; i++)
			candidates[i].is_due = processes[i].is_busy;
		if (!window_scheduler_has_credit(&scheduler, now_s, used_s, used_s))
			continue;
		next = window_scheduler_next(&scheduler, candidates, count);
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
 * Three windows each, then every other one for the fastest, and the rest for the process that has
 * waited longest. With n busy ones it thus gets 3 + (1056 - 3 n) / 2 of 1056, and one more for
 * being the first with its third; the others share the rest. Windows not taken by idle ones are not
 * lost.
 */
static void what_idle_processes_leave_goes_to_the_busy_ones_by_growth(void **state)
{
	static const struct {
		size_t count;
		struct busy processes[EXACT_MOST];
	} cases[] = {
		{1, {{true, 0, 1056}}},
		{4, {{true, 9, 526}, {true, 5, 177}, {true, 0, 177}, {true, 0, 176}}},
		/* Two idle: their share goes to the other, and the fastest has its half. */
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

/* Reports cost more than the limit: windows keep half of it. */
static void dear_reports_leave_half_of_the_limit_to_windows(void **state)
{
	struct machine machine;

	(void)state;
	machine_begin(&machine, 1);
	machine.report_cost_s = 1;
	machine_run(&machine, 3600);
	assert_true(machine.windows_s <= LIMIT / 2 * 3600 + WINDOW_CREDIT_S + 0.01);
	assert_true(machine.windows_s > LIMIT / 2 * 3600 * 0.9);
}

/* -------- slots */

/* A suspect at that time: joins if there is room, and reports it. */
static bool suspect(struct profile_slots *slots, pid_t pid, double now_s, pid_t busy)
{
	struct profile_slot *slot = profile_slots_find(slots, pid, 5), *evicted;

	if (slot) {
		slot->suspect_s = now_s;
		return true;
	}
	if (!profile_slots_has_room(slots, now_s, busy, false, &evicted))
		return false;
	if (evicted)
		profile_slots_release(slots, evicted);
	assert_non_null(profile_slots_add(
		slots, &(struct profile_slot){.pid = pid, .start_ticks = 5, .suspect_s = now_s}));
	return true;
}

static void fill(struct profile_slots *slots, double now_s)
{
	for (pid_t pid = 1; pid <= PROFILE_SLOTS; pid++)
		assert_true(suspect(slots, pid, now_s, 0));
}

static void free_slots(struct profile_slots *slots)
{
	vec_free(&slots->list);
}
#define _cleanup_slots_ __attribute__((cleanup(free_slots)))

static void sixteen_have_places_and_no_more(void **state)
{
	_cleanup_slots_ struct profile_slots slots = {.limit = PROFILE_SLOTS};

	(void)state;
	fill(&slots, 0);
	assert_int_equal(slots.list.count, 16);
	assert_false(suspect(&slots, 17, 0, 0));
	assert_false(suspect(&slots, 17, PROFILE_SLOT_STAY_S, 0));
	/* Processes with slots keep them. */
	assert_true(suspect(&slots, 3, 0, 0));
	assert_int_equal(slots.list.count, 16);
}

static void a_process_that_was_no_suspect_for_a_quarter_of_an_hour_gives_way(void **state)
{
	_cleanup_slots_ struct profile_slots slots = {.limit = PROFILE_SLOTS};

	(void)state;
	fill(&slots, 0);
	for (pid_t pid = 1; pid <= PROFILE_SLOTS; pid++)
		suspect(&slots, pid, pid == 9 ? 50 : pid == 4 ? 100 : 1000, 0);
	assert_false(suspect(&slots, 17, 950, 0));
	/* The process with the longest wait gives way, unless its window is open. */
	assert_false(suspect(&slots, 17, 951, 9));
	assert_true(suspect(&slots, 17, 951, 0));
	assert_null(profile_slots_find(&slots, 9, 5));
	assert_non_null(profile_slots_find(&slots, 4, 5));
	assert_true(suspect(&slots, 18, 1001, 0));
	assert_null(profile_slots_find(&slots, 4, 5));
	assert_false(suspect(&slots, 19, 1001, 0));
	assert_int_equal(slots.list.count, 16);
}

/* Without a waiting process, none leaves. */
static void a_former_suspect_stays_while_there_is_room(void **state)
{
	_cleanup_slots_ struct profile_slots slots = {.limit = PROFILE_SLOTS};
	struct profile_slot *evicted;

	(void)state;
	assert_true(suspect(&slots, 1, 0, 0));
	assert_true(profile_slots_has_room(&slots, 100000, 0, false, &evicted));
	assert_null(evicted);
	assert_true(suspect(&slots, 2, 100000, 0));
	assert_non_null(profile_slots_find(&slots, 1, 5));
}

/* It evicts the slowest growth that is not near a limit itself. */
static void to_a_process_near_its_memory_limit_another_one_gives_way(void **state)
{
	_cleanup_slots_ struct profile_slots slots = {.limit = PROFILE_SLOTS};
	struct profile_slot *evicted;

	(void)state;
	fill(&slots, 0);
	for (pid_t pid = 1; pid <= PROFILE_SLOTS; pid++) {
		profile_slots_find(&slots, pid, 5)->per_s = 100 + pid;
		profile_slots_find(&slots, pid, 5)->near_limit = pid != 7 && pid != 9;
	}
	assert_false(profile_slots_has_room(&slots, 0, 0, false, &evicted));
	assert_true(profile_slots_has_room(&slots, 0, 0, true, &evicted));
	assert_int_equal(evicted->pid, 7);
	assert_true(profile_slots_has_room(&slots, 0, 7, true, &evicted));
	assert_int_equal(evicted->pid, 9);
	profile_slots_find(&slots, 7, 5)->near_limit =
		profile_slots_find(&slots, 9, 5)->near_limit = true;
	assert_false(profile_slots_has_room(&slots, 0, 0, true, &evicted));
}

static bool is_even(const struct profile_slot *slot, void *context)
{
	(*(int *)context)++;
	return slot->pid % 2 == 0;
}

static void an_ended_process_is_forgotten_and_another_with_its_pid_is_another(void **state)
{
	_cleanup_slots_ struct profile_slots slots = {.limit = PROFILE_SLOTS};
	int asked = 0;

	(void)state;
	fill(&slots, 0);
	assert_null(profile_slots_find(&slots, 2, 6));
	profile_slots_expire(&slots, 1, is_even, &asked);
	assert_int_equal(asked, 16);
	assert_int_equal(slots.list.count, 8);
	for (pid_t pid = 1; pid <= PROFILE_SLOTS; pid++)
		assert_int_equal(profile_slots_find(&slots, pid, 5) != NULL, pid % 2 == 0);
}

static void a_refused_process_keeps_no_place_and_is_tried_again_later(void **state)
{
	_cleanup_slots_ struct profile_slots slots = {.limit = PROFILE_SLOTS};
	int asked = 0;

	(void)state;
	fill(&slots, 0);
	profile_slots_find(&slots, 6, 5)->refused = true;
	assert_true(suspect(&slots, 17, 0, 0));
	assert_false(suspect(&slots, 18, 0, 0));
	assert_int_equal(slots.list.count, 17);
	for (pid_t pid = 17; pid >= 1; pid--)
		profile_slots_find(&slots, pid, 5)->pid = 2 * pid;
	profile_slots_expire(&slots, PROFILE_SLOT_REFUSED_S, is_even, &asked);
	assert_non_null(profile_slots_find(&slots, 12, 5));
	profile_slots_expire(&slots, PROFILE_SLOT_REFUSED_S + 1, is_even, &asked);
	assert_null(profile_slots_find(&slots, 12, 5));
	assert_int_equal(slots.list.count, 16);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			what_is_spent_leaves_a_third_of_the_limit_to_what_cannot_be_counted),
		cmocka_unit_test(an_idle_process_has_no_windows),
		cmocka_unit_test(one_that_idles_has_windows_out_of_its_floor),
		cmocka_unit_test(no_window_costs_more_than_is_earned_by_then),
		cmocka_unit_test(windows_open_as_often_in_busy_times_as_these_are),
		cmocka_unit_test(windows_are_as_long_as_their_births_and_their_attach_ask),
		cmocka_unit_test(a_burst_beside_the_births_makes_no_window_dear),
		cmocka_unit_test(a_window_without_result_is_paid_and_adds_no_births),
		cmocka_unit_test(one_that_ends_as_it_opens_makes_the_next_ones_no_dearer),
		cmocka_unit_test(two_windows_that_met_the_process_at_work_show_its_rate),
		cmocka_unit_test(a_second_of_windows_shows_the_rate_of_one_that_hardly_works),
		cmocka_unit_test(the_densest_burst_is_feared_until_the_rate_is_known),
		cmocka_unit_test(nobody_loses_more_than_the_limit_and_leakmon_uses_no_more),
		cmocka_unit_test(
			growing_processes_get_most_windows_sleeping_ones_none_and_others_turns),
		cmocka_unit_test(everybody_is_looked_at_before_growth_decides),
		cmocka_unit_test(whoever_waits_and_has_fewest_windows_is_first),
		cmocka_unit_test(what_idle_processes_leave_goes_to_the_busy_ones_by_growth),
		cmocka_unit_test(dear_reports_leave_half_of_the_limit_to_windows),
		cmocka_unit_test(sixteen_have_places_and_no_more),
		cmocka_unit_test(a_process_that_was_no_suspect_for_a_quarter_of_an_hour_gives_way),
		cmocka_unit_test(a_former_suspect_stays_while_there_is_room),
		cmocka_unit_test(to_a_process_near_its_memory_limit_another_one_gives_way),
		cmocka_unit_test(an_ended_process_is_forgotten_and_another_with_its_pid_is_another),
		cmocka_unit_test(a_refused_process_keeps_no_place_and_is_tried_again_later),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
