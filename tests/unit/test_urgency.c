// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdbool.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/urgency.h"

/* Without permission, nothing changes. */
static void a_thread_goes_first_and_is_what_it_was_again(void **state)
{
	int policy = sched_getscheduler(0), nice = getpriority(PRIO_PROCESS, 0);
	struct sched_param none = {0};
	bool may = !setpriority(PRIO_PROCESS, 0, -20);
	bool may_rr = !sched_setscheduler(0, SCHED_RR, &(struct sched_param){.sched_priority = 1});
	struct urgency before;

	(void)state;
	assert_int_equal(sched_setscheduler(0, policy, &none), 0);
	assert_int_equal(setpriority(PRIO_PROCESS, 0, nice), 0);
	urgency_begin(&before);
	assert_int_equal(sched_getscheduler(0), may_rr ? SCHED_RR : policy);
	assert_int_equal(getpriority(PRIO_PROCESS, 0), may ? -20 : nice);
	urgency_end(&before);
	assert_int_equal(sched_getscheduler(0), policy);
	assert_int_equal(getpriority(PRIO_PROCESS, 0), nice);
}

/* Separate helpers set and close probes. */
static void what_it_starts_goes_first_too(void **state)
{
	struct urgency before;
	int policy, status;
	pid_t child;

	(void)state;
	urgency_begin(&before);
	policy = sched_getscheduler(0);
	child = fork();
	if (!child)
		_exit(sched_getscheduler(0));
	urgency_end(&before);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), policy);
}

/* A parser that must be started in a window parses a target's files for seconds. */
static void longer_work_of_what_it_starts_goes_first_no_more(void **state)
{
	struct urgency before;
	int status;
	pid_t child;

	(void)state;
	urgency_begin(&before);
	child = fork();
	if (!child) {
		urgency_renounce();
		_exit(sched_getscheduler(0) == SCHED_RR || getpriority(PRIO_PROCESS, 0) < 0);
	}
	urgency_end(&before);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_thread_goes_first_and_is_what_it_was_again),
		cmocka_unit_test(what_it_starts_goes_first_too),
		cmocka_unit_test(longer_work_of_what_it_starts_goes_first_no_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
