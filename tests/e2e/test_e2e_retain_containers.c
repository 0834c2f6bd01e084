// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * `leakmon retain` on a process of a real container: in separate mount and PID namespaces, with its
 * program at a path where this machine has another file.
 */
#include "containers.h"
#include "retain_holder.h"

static const struct container_spec specs[] = {
	{.runtime = "runc", .image = IMAGE_GLIBC, .pod = "web-0", .program = "holder"},
	{.runtime = "crun", .image = IMAGE_GLIBC, .pod = "web-1", .program = "holder"},
};

/* The program inside; outside, its path has one without its variables. */
static struct running *start(struct harness *harness, const struct container_spec *wanted,
			     json_t **truth)
{
	struct container_spec spec = *wanted;
	const char *workloads = getenv("LEAKMON_WORKLOADS");
	struct running *container;
	char path[128], command[512];

	snprintf(path, sizeof(path), "%s/program", harness->directory);
	snprintf(command, sizeof(command), "cp %s/busy %s",
		 workloads ? workloads : "build/workloads", path);
	assert_int_equal(system(command), 0);
	spec.path = path;
	container = container_start(harness, &spec);
	workload_do(harness, container->child, "go");
	*truth = workload_ask(harness, container->child, "truth");
	return container;
}

static void expect_own_files(struct harness *harness, json_t *report, json_t *truth)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/program", harness->directory);
	expect_holder(report, truth);
	assert_string_equal(text_at(json_array_get(json_object_get(report, "roots"), 0), "module"),
			    path);
	assert_int_equal(total_at(report, "untracked", "blocks"), 0);
}

static void a_process_of_a_container_is_known_to_the_byte_by_each_of_its_names(void **state)
{
	struct harness *harness = containers_any(state);

	for (size_t i = 0; i < sizeof(specs) / sizeof(*specs); i++) {
		json_t *truth;
		struct running *container = start(harness, &specs[i], &truth);
		char pid[16], pod[32];
		const char *const ways[][2] = {
			{"-p", pid}, {"--container", container->id}, {"--pod", pod}};

		snprintf(pid, sizeof(pid), "%d", container->pid);
		snprintf(pod, sizeof(pod), "shop/%s", specs[i].pod);
		for (size_t j = 0; j < sizeof(ways) / sizeof(*ways); j++) {
			struct child *monitor = MONITOR(harness, "retain", "--census", ways[j][0],
							ways[j][1], "--format", "json");
			json_t *report = report_of(harness, monitor);

			expect_own_files(harness, report, truth);
			assert_int_equal(number_at(report, "pid"), container->pid);
		}
	}
}

static void watched_by_its_containers_name_the_verdicts_are_the_same(void **state)
{
	struct harness *harness = containers_bpf(state);
	json_t *truth;
	struct child *monitor;

	start(harness, &specs[0], &truth);
	monitor = MONITOR(harness, "retain", "--container", "app", "--format", "json", "1", "1");
	expect_own_files(harness, report_of(harness, monitor), truth);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		container_test(a_process_of_a_container_is_known_to_the_byte_by_each_of_its_names),
		container_test(watched_by_its_containers_name_the_verdicts_are_the_same),
	};

	return cmocka_run_group_tests_name("e2e_retain_containers", tests, NULL, NULL);
}
