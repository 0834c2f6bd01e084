// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "triage/budget.h"

#define NEAR 1e-9

/* A machine where a poll costs what it does, and less when something is shed. */
struct machine {
	struct budget budget;
	struct budget_cost cost;
	double wall_s, poll_s, full_cost_s;
};

static double cost_of_poll(const struct machine *machine)
{
	double cost = machine->full_cost_s;

	if (!budget_counts_mappings(&machine->budget))
		cost *= 0.7;
	if (!budget_counts_files(&machine->budget))
		cost *= 0.8;
	return cost;
}

static void run(struct machine *machine, unsigned polls)
{
	for (unsigned i = 0; i < polls; i++) {
		machine->wall_s += machine->poll_s * budget_stretch(&machine->budget);
		machine->cost.polling_s += cost_of_poll(machine);
		budget_account(&machine->budget, machine->wall_s, &machine->cost);
	}
}

static void what_fits_is_not_shed(void **state)
{
	struct machine machine = {.budget.limit = 0.01, .poll_s = 5, .full_cost_s = 0.049};

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
		struct machine machine = {
			.budget.limit = 0.01, .poll_s = 5, .full_cost_s = cases[i].cost_s};

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
	struct machine machine = {.budget.limit = 0.0001, .poll_s = 1, .full_cost_s = 10};

	(void)state;
	run(&machine, 1000);
	assert_int_equal(machine.budget.step, BUDGET_STEPS);
	assert_int_equal(budget_stretch(&machine.budget), 64);
}

/* A burst is over: all comes back, and stays. */
static void what_was_shed_comes_back(void **state)
{
	struct machine machine = {.budget.limit = 0.01, .poll_s = 5, .full_cost_s = 0.5};

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
	struct machine machine = {.budget.limit = 0.01, .poll_s = 5, .full_cost_s = 0.01};

	(void)state;
	run(&machine, 41); /* 1 begins, 40 count: 200 s */
	assert_float_equal(machine.budget.credit_s, 200 * 0.01 - 40 * 0.01, NEAR);
	machine.cost.escalation_s += 2;
	run(&machine, 4);
	assert_int_equal(machine.budget.step, 0);
	assert_float_equal(machine.budget.used, (2 + 0.04) / 20, NEAR);
	assert_float_equal(machine.budget.credit_s, 220 * 0.01 - 44 * 0.01 - 2, NEAR);
	run(&machine, 10000);
	assert_float_equal(machine.budget.credit_s, 0.01 * BUDGET_CREDIT_SPAN_S, NEAR);
}

/* What starting costs is paid once. */
static void the_first_poll_is_not_counted(void **state)
{
	struct machine machine = {.budget.limit = 0.01, .poll_s = 5, .full_cost_s = 30};

	(void)state;
	run(&machine, 1);
	machine.full_cost_s = 0.01;
	run(&machine, 40);
	assert_int_equal(machine.budget.step, 0);
	assert_float_equal(machine.budget.worst, 0.002, NEAR);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_fits_is_not_shed),
		cmocka_unit_test(what_does_not_fit_is_shed_step_by_step),
		cmocka_unit_test(there_is_a_last_step),
		cmocka_unit_test(what_was_shed_comes_back),
		cmocka_unit_test(escalation_is_paid_from_what_was_saved),
		cmocka_unit_test(the_first_poll_is_not_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
