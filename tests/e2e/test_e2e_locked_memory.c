// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A process whose memory stays locked: a probe would make every fork of the machine wait for it. No
 * other test may set one meanwhile.
 */
#include "harness.h"

#include <signal.h>

#include "served.h"

static void no_probe_is_set_while_a_processs_memory_stays_locked(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *other = WORKLOAD(harness, "leak");
	struct served locked = serve(harness, "locker");
	struct child *refused, *triage;

	assert_int_equal(kill(locked.server, SIGUSR1), 0);
	workload_do(harness, locked.workload, "wait");
	refused = MONITOR(harness, "-p", other->pid_text, "1", "1");
	triage = MONITOR(harness, "triage", "--no-stacks", "--format", "json", "1", "3");
	child_end(harness, refused);
	child_end(harness, triage);
	/* The fault fails, and its process ends. */
	assert_int_equal(kill(locked.server, SIGKILL), 0);
	assert_int_equal(child_end(harness, locked.workload), 128 + SIGBUS);

	assert_int_equal(refused->code, 1);
	assert_non_null(strstr(refused->err.text, locked.workload->pid_text));
	assert_non_null(strstr(refused->err.text, "no probe is set until it ends or continues"));
	assert_int_equal(triage->code, 0);

	/* Waiting processes have continued. */
	assert_int_equal(child_end(harness, MONITOR(harness, "-p", other->pid_text, "1", "1")), 0);
	workload_send(other, "quit");
	assert_int_equal(child_end(harness, other), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		e2e_test(no_probe_is_set_while_a_processs_memory_stays_locked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
