// SPDX-License-Identifier: GPL-2.0-or-later
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "app/triage/budget.h"
#include "app/triage/triage.h"

#define NEAR 1e-9

/* A machine with a cost per poll, reduced by each step. */
struct loaded_machine {
	struct budget budget;
	struct budget_cost cost;
	double wall_s, full_cost_s;
};

static double cost_of_poll(const struct loaded_machine *machine)
{
	double cost = machine->full_cost_s;

	if (!budget_counts_mappings(&machine->budget))
		cost *= 0.7;
	if (!budget_counts_files(&machine->budget))
		cost *= 0.8;
	return cost;
}

static void run(struct loaded_machine *machine, unsigned polls)
{
	for (unsigned i = 0; i < polls; i++) {
		machine->wall_s += budget_pause_s(&machine->budget);
		machine->cost.polling_s += cost_of_poll(machine);
		budget_account(&machine->budget, machine->wall_s, &machine->cost);
	}
}

static void what_fits_is_not_shed(void **state)
{
	struct loaded_machine machine = {
		.budget.limit = 0.01, .budget.pause_s = 5, .full_cost_s = 0.049};

	(void)state;
	run(&machine, 1000);
	assert_int_equal(machine.budget.step, 0);
	assert_float_equal(machine.budget.used, 0.0098, NEAR);
	assert_float_equal(machine.budget.worst, 0.0098, NEAR);
}

/* In order: mappings, files, then fewer polls; and no further than needed. */
static void what_does_not_fit_is_shed_step_by_step(void **state)
{
	static const struct {
		double cost_s;
		unsigned step, stretch;
	} cases[] = {{0.06, 1, 1}, {0.08, 2, 1}, {0.16, 3, 2}, {0.3, 4, 4}, {0.6, 5, 8}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct loaded_machine machine = {
			.budget.limit = 0.01, .budget.pause_s = 5, .full_cost_s = cases[i].cost_s};

		run(&machine, 400);
		assert_int_equal(machine.budget.step, cases[i].step);
		assert_int_equal(budget_stretch(&machine.budget), cases[i].stretch);
		assert_true(machine.budget.used <= 0.01);
		assert_int_equal(budget_counts_mappings(&machine.budget), 0);
		assert_int_equal(budget_counts_files(&machine.budget), cases[i].step < 2);
	}
}

static void there_is_a_last_step(void **state)
{
	struct loaded_machine machine = {
		.budget.limit = 0.0001, .budget.pause_s = 1, .full_cost_s = 10};

	(void)state;
	run(&machine, 1000);
	assert_int_equal(machine.budget.step, BUDGET_STEPS);
	assert_int_equal(budget_stretch(&machine.budget), 64);
}

/* A burst is over: all steps are taken back for good. */
static void what_was_shed_comes_back(void **state)
{
	struct loaded_machine machine = {
		.budget.limit = 0.01, .budget.pause_s = 5, .full_cost_s = 0.5};

	(void)state;
	run(&machine, 200);
	assert_true(machine.budget.step > 3);
	machine.full_cost_s = 0.01;
	run(&machine, 200);
	assert_int_equal(machine.budget.step, 0);
}

/* Attaching is paid from savings; polls are not punished for it. */
static void escalation_is_paid_from_what_was_saved(void **state)
{
	struct loaded_machine machine = {
		.budget.limit = 0.01, .budget.pause_s = 5, .full_cost_s = 0.01};

	(void)state;
	run(&machine, 40); /* 200 s */
	assert_float_equal(machine.budget.credit_s, 200 * 0.01 - 40 * 0.01, NEAR);
	machine.cost.escalation_s += 2;
	run(&machine, 4);
	assert_int_equal(machine.budget.step, 0);
	assert_float_equal(machine.budget.used, (2 + 0.04) / 20, NEAR);
	assert_float_equal(machine.budget.credit_s, 220 * 0.01 - 44 * 0.01 - 2, NEAR);
	run(&machine, 10000);
	assert_float_equal(machine.budget.credit_s, 0.01 * BUDGET_CREDIT_SPAN_S, NEAR);
}

/* On a busy machine a screen's polls came every 128 s instead of every 2, for good. */
static void what_is_watched_keeps_its_rate(void **state)
{
	struct loaded_machine machine = {.budget = {.limit = 0.05, .pause_s = 2, .pause_max_s = 8},
					 .full_cost_s = 1.5};

	(void)state;
	run(&machine, 400);
	assert_int_equal(budget_stretch(&machine.budget), 4);
	assert_float_equal(budget_pause_s(&machine.budget), 8, NEAR);
	/* And owes nothing after its end. */
	machine.full_cost_s = 0.002;
	run(&machine, 2);
	assert_true(budget_pause_s(&machine.budget) <= 8);
	run(&machine, 60);
	assert_float_equal(budget_pause_s(&machine.budget), 2, NEAR);
}

static void a_higher_limit_takes_up_at_once_what_was_shed(void **state)
{
	struct loaded_machine machine = {.budget = {.limit = 0.01, .pause_s = 2},
					 .full_cost_s = 0.06};

	(void)state;
	run(&machine, 100);
	assert_true(machine.budget.step > 2);
	budget_set_limit(&machine.budget, 0.05);
	assert_int_equal(machine.budget.step, 0);
	assert_true(budget_counts_mappings(&machine.budget));
	run(&machine, 100);
	assert_float_equal(budget_pause_s(&machine.budget), 2, NEAR);
	budget_set_limit(&machine.budget, 0.01);
	run(&machine, 100);
	assert_true(machine.budget.used <= 0.01);
}

/* And it takes no step: polls are already cheap. */
static void what_starting_costs_is_earned_before_the_next_poll(void **state)
{
	struct loaded_machine machine = {.budget = {.limit = 0.01, .pause_s = 5},
					 .cost.polling_s = 0.2,
					 .full_cost_s = 0.01};

	(void)state;
	budget_begin(&machine.budget, 0, &machine.cost);
	machine.cost.polling_s += machine.full_cost_s;
	budget_account(&machine.budget, 0, &machine.cost);
	assert_float_equal(budget_pause_s(&machine.budget), 21, NEAR);
	run(&machine, 1);
	assert_float_equal(machine.wall_s, 21, NEAR);
	assert_float_equal(budget_pause_s(&machine.budget), 5, NEAR);
	run(&machine, 40);
	assert_int_equal(machine.budget.step, 0);
	assert_float_equal(machine.budget.worst, 0.002, NEAR);
}

static void what_is_far_too_dear_is_shed_at_once(void **state)
{
	static const struct {
		double cost_s;
		unsigned polls, step;
	} cases[] = {{0.09, 1, 0}, {0.09, 4, 1}, {0.11, 1, 2}, {0.26, 1, 3}, {0.41, 1, 4}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct loaded_machine machine = {.budget = {.limit = 0.01, .pause_s = 5},
						 .full_cost_s = cases[i].cost_s};

		run(&machine, cases[i].polls);
		assert_int_equal(machine.budget.step, cases[i].step);
	}
}

/*
 * A node of 10,000 processes. Measured: 1 us for each to be listed, 2 to be read again, 1 each for
 * its mappings and files, 60 to be taken in; 20 ms to start.
 */
static void ten_thousand_processes_fit_from_the_start(void **state)
{
	struct loaded_machine machine = {.budget = {.limit = 0.01, .pause_s = 5},
					 .cost.polling_s = 0.02};
	const struct budget *budget = &machine.budget;
	double known = 0, waiting = 10000, taken_in_s = 0;

	(void)state;
	budget_begin(&machine.budget, 0, &machine.cost);
	while (machine.wall_s < 3600) {
		double admitted = budget_admission_s(budget) / 60e-6, each_s = 2e-6;

		admitted = admitted < waiting ? admitted : waiting;
		each_s += budget_counts_mappings(budget) * 1e-6;
		each_s += budget_counts_files(budget) * 1e-6;
		machine.cost.polling_s += 1e-6 * (known + waiting) + each_s * known;
		machine.cost.polling_s += 60e-6 * admitted;
		known += admitted;
		waiting -= admitted;
		budget_account(&machine.budget, machine.wall_s, &machine.cost);
		if (waiting == 0 && taken_in_s == 0)
			taken_in_s = machine.wall_s;
		machine.wall_s += budget_pause_s(budget);
		assert_true(machine.cost.polling_s <= 0.01 * machine.wall_s + NEAR);
	}
	assert_true(taken_in_s > 0 && taken_in_s < 240);
	/* 30 ms of 50 a poll, without mappings and files; with them all 50. */
	assert_int_equal(budget->step, 2);
}

/* Time spent between two polls is not spent twice, and the reserve for stacks by nothing else. */
static void the_share_of_call_stacks_is_spent_by_nothing_else(void **state)
{
	struct triage triage = {.stacks_reserve_s = 0.35};

	(void)state;
	assert_true(triage_spare_s(&triage) <= 0);
	triage.budget.credit_s = 0.3;
	assert_true(triage_credit_s(&triage) > 0.29);
	assert_true(triage_spare_s(&triage) <= 0);
	triage.budget.credit_s = 1;
	assert_true(fabs(triage_spare_s(&triage) - 0.65) < 1e-9);
	triage.budget.last_cost.escalation_s = 2;
	triage.escalation_cpu_s = 2.5;
	assert_true(fabs(triage_credit_s(&triage) - 0.5) < 1e-9);
	assert_true(fabs(triage_spare_s(&triage) - 0.15) < 1e-9);
	triage.sampling_s = 1;
	assert_true(triage_credit_s(&triage) <= 0);
}

/* A new suspect can begin beside one that has call stacks, whatever that one costs. */
static void a_new_suspect_comes_before_one_that_has_call_stacks(void **state)
{
	(void)state;
	for (int loaded = 0; loaded < 2; loaded++) {
		double new_s = budget_stacks_cost_s(loaded, false);
		double resumed_s = budget_stacks_cost_s(loaded, true);

		assert_true(new_s > 0);
		assert_true(resumed_s - new_s >= budget_stacks_cost_s(true, false));
	}
	assert_true(budget_stacks_reserve_s() >= budget_stacks_cost_s(false, false));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_share_of_call_stacks_is_spent_by_nothing_else),
		cmocka_unit_test(a_new_suspect_comes_before_one_that_has_call_stacks),
		cmocka_unit_test(what_fits_is_not_shed),
		cmocka_unit_test(what_does_not_fit_is_shed_step_by_step),
		cmocka_unit_test(there_is_a_last_step),
		cmocka_unit_test(what_was_shed_comes_back),
		cmocka_unit_test(escalation_is_paid_from_what_was_saved),
		cmocka_unit_test(what_is_watched_keeps_its_rate),
		cmocka_unit_test(a_higher_limit_takes_up_at_once_what_was_shed),
		cmocka_unit_test(what_starting_costs_is_earned_before_the_next_poll),
		cmocka_unit_test(what_is_far_too_dear_is_shed_at_once),
		cmocka_unit_test(ten_thousand_processes_fit_from_the_start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
