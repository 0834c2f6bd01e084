// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Processes that have changed the mount namespace before they map more: a path there leads to
 * another file than here. New mappings there are found, probed and named.
 */
#include "harness.h"

#include <signal.h>
#include <sys/stat.h>

#define MIMALLOC "/usr/lib/x86_64-linux-gnu/libmimalloc.so.2.0"

struct scene {
	char library[64]; /* here it is something else */
	char source[256];
};

static void scene_set(struct harness *harness, struct scene *scene, const char *source)
{
	const char *directory = getenv("LEAKMON_WORKLOADS");
	FILE *decoy;

	snprintf(scene->library, sizeof(scene->library), "%s/library.so", harness->directory);
	if (*source == '/')
		snprintf(scene->source, sizeof(scene->source), "%s", source);
	else
		snprintf(scene->source, sizeof(scene->source), "%s/%s",
			 directory ? directory : "build/workloads", source);
	decoy = fopen(scene->library, "we");
	assert_non_null(decoy);
	fputs("This is no library.\n", decoy);
	fclose(decoy);
}

/* After the attach it goes there, loads the library and allocates through it. */
static void expect_found(struct harness *harness, struct child *workload, const char *command,
			 const char *function)
{
	struct child *monitor = MONITOR_ATTACHED(harness, "-p", workload->pid_text, "-o", "0",
						 "--format", "json", "3600");
	json_t *process;

	workload_do(harness, workload, command);
	workload_do(harness, workload, "load");
	child_signal(monitor, SIGUSR1);
	monitor_report(harness, monitor);
	workload_do(harness, workload, "go");
	process = process_of(monitor_stop(harness, monitor), workload->pid);
	expect_held(process, function, 50, 2550);
	assert_true(json_is_true(json_object_get(process, "exact")));
}

/* One makes the namespace, another one joins it. */
static void what_is_mapped_elsewhere_is_found(void **state)
{
	static const struct {
		const char *source, *function;
	} cases[] = {{MIMALLOC, "late_blocks"}, {"maker.so", "make_block"}};
	struct harness *harness = harness_bpf(state);

	for (size_t i = 0; i < 2; i++) {
		struct child *first, *second;
		struct scene scene;

		scene_set(harness, &scene, cases[i].source);
		first = WORKLOAD(harness, "late", scene.library, scene.source);
		expect_found(harness, first, "away", cases[i].function);
		second = WORKLOAD(harness, "late", scene.library, first->pid_text);
		expect_found(harness, second, "join", cases[i].function);
		workload_send(first, "quit");
		assert_int_equal(child_end(harness, first), 0);
		workload_send(second, "quit");
		assert_int_equal(child_end(harness, second), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {e2e_test(what_is_mapped_elsewhere_is_found)};

	return cmocka_run_group_tests_name("e2e_namespaces", tests, NULL, NULL);
}
