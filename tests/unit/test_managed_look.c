// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "triage/managed_look.h"

/* A triage passes over its own children: this one is a child's, and ends with it. */
static pid_t start_another(pid_t *parent)
{
	pid_t *child = mmap(NULL, sizeof(*child), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t started;

	assert_ptr_not_equal(child, MAP_FAILED);
	*parent = fork();
	if (!*parent) {
		started = fork();
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (started)
			__atomic_store_n(child, started, __ATOMIC_RELEASE);
		for (;;)
			pause();
	}
	while (!(started = __atomic_load_n(child, __ATOMIC_ACQUIRE)))
		usleep(1000);
	munmap(child, sizeof(*child));
	return started;
}

/* A first look decides whether call stacks are sampled; further ones leave their share alone. */
static void reads_of_managed_heaps_leave_the_share_of_call_stacks(void **state)
{
	struct triage_entry entry = {.growth = {.kind = QUANTITY_HEAP, .verdict = TREND_LEAKING}};
	struct triage_report report = {.processes = {&entry, 1, 1}};
	struct member *member;
	struct triage triage;
	pid_t parent;

	(void)state;
	entry.pid = start_another(&parent);
	assert_int_equal(triage_open(&triage, 5, 1), 0);
	assert_int_equal(triage_poll(&triage), 0);
	triage.stacks_reserve_s = budget_stacks_reserve_s();
	triage.budget.last_cost.escalation_s = 0;
	member = population_find(&triage.population, entry.pid);
	assert_non_null(member);
	triage.budget.credit_s = 0;
	managed_look(&triage, &report);
	assert_true(member->managed.last_s == 0);
	triage.budget.credit_s = budget_stacks_reserve_s();
	managed_look(&triage, &report);
	assert_true(member->managed.last_s > 0);
	member->managed.last_s = -3600;
	managed_look(&triage, &report);
	assert_true(member->managed.last_s == -3600);
	triage.budget.credit_s = 2 * budget_stacks_reserve_s();
	managed_look(&triage, &report);
	assert_true(member->managed.last_s > 0);
	triage_close(&triage);
	kill(parent, SIGKILL);
	waitpid(parent, NULL, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_of_managed_heaps_leave_the_share_of_call_stacks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
