// SPDX-License-Identifier: GPL-2.0-or-later
/* What happens inside a call of the allocator, and calls whose return cannot be followed. */
#include "harness.h"

#include <signal.h>

static void set_preload(void)
{
	const char *directory = getenv("LEAKMON_WORKLOADS");
	char path[512];

	snprintf(path, sizeof(path), "%s/evictor.so", directory ? directory : "build/workloads");
	setenv("LD_PRELOAD", realpath(path, NULL), 1);
}

static struct child *cacher_start(struct harness *harness)
{
	const char *directory = getenv("LEAKMON_WORKLOADS");
	struct child *workload;
	char path[512], *line;

	snprintf(path, sizeof(path), "%s/cacher", directory ? directory : "build/workloads");
	workload = child_start(harness, path, ARGUMENTS("cacher"), set_preload);
	line = child_line(harness, workload, &workload->out);
	assert_int_equal(strncmp(line, "ready ", 6), 0);
	free(line);
	return workload;
}

/* After each command; with every way to attach that has programs of its own. */
static void what_happens_inside_a_call_is_counted_exactly(void **state)
{
	static const char *const methods[] = {"auto", "multi"};
	static const char *const commands[] = {"fill", "inner", "evict", "grow"};
	struct harness *harness = harness_bpf(state);

	for (size_t i = 0; i < 2; i++) {
		struct child *workload = cacher_start(harness);
		struct child *monitor =
			MONITOR_ATTACHED(harness, "-p", workload->pid_text, "-o", "0", "--format",
					 "json", "--attach", methods[i], "3600");

		for (size_t j = 0; j < 4; j++) {
			print_message("  %s, %s\n", methods[i], commands[j]);
			workload_do(harness, workload, commands[j]);
			child_signal(monitor, SIGUSR1);
			expect_truth(monitor_report(harness, monitor),
				     workload_ask(harness, workload, "ledger"));
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		e2e_test(what_happens_inside_a_call_is_counted_exactly),
	};

	return cmocka_run_group_tests_name("e2e_in_flight", tests, NULL, NULL);
}
