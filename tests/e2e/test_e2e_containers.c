// SPDX-License-Identifier: GPL-2.0-or-later
/* Containers of runc and crun: exact inside, named outside, selected by all their names. */
#include "containers.h"

#include <signal.h>

#define NAMED "--format", "json", "-o", "0", "3600"

static const char *text_at(json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

static void expect_container(json_t *process, const struct running *container, const char *pod)
{
	json_t *named = json_object_get(process, "container");

	assert_true(json_is_object(named));
	assert_string_equal(text_at(named, "id"), container->id);
	if (pod) {
		assert_string_equal(text_at(named, "namespace"), "shop");
		assert_string_equal(text_at(named, "pod"), pod);
		assert_string_equal(text_at(named, "name"), "app");
	} else {
		assert_true(json_is_null(json_object_get(named, "pod")));
		assert_true(json_is_null(json_object_get(named, "name")));
	}
}

/* What one `go` of the workload leaves. */
static void expect_leaks(json_t *process)
{
	expect_held(process, "leak_a", 10, 1000);
	expect_held(process, "leak_b", 5, 5000);
	expect_held(process, "leak_c", 3, 12288);
	expect_held(process, "balanced", 0, 0);
}

static void every_runtime_and_libc_is_counted_exactly_and_named(void **state)
{
	static const struct container_spec specs[] = {
		{.runtime = "runc", .image = IMAGE_GLIBC, .pod = "web-0"},
		{.runtime = "crun", .image = IMAGE_GLIBC, .pod = "web-1"},
		{.runtime = "runc", .image = IMAGE_STATIC, .pod = "web-2"},
		{.runtime = "crun", .image = IMAGE_MUSL, .pod = "web-3"},
	};
	struct harness *harness = containers_bpf(state);

	for (size_t i = 0; i < sizeof(specs) / sizeof(*specs); i++) {
		struct running *container = container_start(harness, &specs[i]);
		struct child *monitor;
		char pod[64];
		json_t *report;

		snprintf(pod, sizeof(pod), "shop/%s", specs[i].pod);
		monitor = MONITOR_ATTACHED(harness, "--pod", pod, NAMED);
		workload_do(harness, container->child, "go");
		report = monitor_stop(harness, monitor);
		assert_int_equal(json_array_size(json_object_get(report, "processes")), 1);
		expect_balance(report);
		expect_leaks(process_of(report, container->pid));
		expect_container(process_of(report, container->pid), container, specs[i].pod);
	}
}

static void a_container_is_found_by_pid_by_id_by_name_and_by_cgroup(void **state)
{
	struct harness *harness = containers_bpf(state);
	const struct container_spec spec = {
		.runtime = "runc", .image = IMAGE_GLIBC, .pod = "web-0"};
	struct running *container = container_start(harness, &spec);
	char pid[16], id[13];
	const char *const ways[][2] = {{"-p", pid},
				       {"--container", id},
				       {"--container", "app"},
				       {"--cgroup", CONTAINERS_CGROUP "/kubepods"}};

	snprintf(pid, sizeof(pid), "%d", container->pid);
	snprintf(id, sizeof(id), "%.12s", container->id);
	for (size_t i = 0; i < 4; i++) {
		struct child *monitor = MONITOR_ATTACHED(harness, ways[i][0], ways[i][1], NAMED);
		json_t *report;

		workload_do(harness, container->child, "go");
		report = monitor_stop(harness, monitor);
		expect_leaks(process_of(report, container->pid));
		expect_container(process_of(report, container->pid), container, "web-0");
	}
}

/* They map one real inode, while stat shows two. */
static void two_containers_over_one_layer_are_counted_once_each(void **state)
{
	struct harness *harness = containers_bpf(state);
	char lower[64];
	struct container_spec spec = {.runtime = "runc", .pod = "web-0", .lower = lower};
	struct running *one, *other;
	struct child *monitor;
	json_t *report;

	snprintf(lower, sizeof(lower), "%s/image", harness->directory);
	image_make(lower, IMAGE_GLIBC);
	one = container_start(harness, &spec);
	spec.pod = "web-1";
	other = container_start(harness, &spec);
	monitor = MONITOR(harness, "--cgroup", CONTAINERS_CGROUP, NAMED);
	monitor_wait_attached(harness, monitor, one->pid);
	monitor_wait_attached(harness, monitor, other->pid);
	workload_do(harness, one->child, "go");
	workload_do(harness, other->child, "go");
	report = monitor_stop(harness, monitor);
	expect_balance(report);
	expect_leaks(process_of(report, one->pid));
	expect_leaks(process_of(report, other->pid));
	expect_container(process_of(report, one->pid), one, "web-0");
	expect_container(process_of(report, other->pid), other, "web-1");
}

static void a_pod_that_is_not_there_lists_those_that_are(void **state)
{
	struct harness *harness = containers_bpf(state);
	const struct container_spec spec = {
		.runtime = "runc", .image = IMAGE_STATIC, .pod = "web-0"};

	container_start(harness, &spec);
	monitor_expect_error(harness, MONITOR(harness, "--pod", "shop/web-9", NAMED), 1,
			     "no process runs in a pod of that name; pods here: shop/web-0");
}

/* crun's state says only where the bundle is. */
static void an_unreadable_bundle_leaves_the_id(void **state)
{
	struct harness *harness = containers_bpf(state);
	const struct container_spec spec = {
		.runtime = "crun", .image = IMAGE_GLIBC, .pod = "web-0"};
	struct running *container = container_start(harness, &spec);
	char path[256], pid[16];
	struct child *monitor;
	json_t *report;
	FILE *config;

	snprintf(path, sizeof(path), "%s/config.json", container->bundle);
	config = fopen(path, "w");
	assert_non_null(config);
	fputs("{\"annotations\": [[[[", config);
	fclose(config);
	snprintf(pid, sizeof(pid), "%d", container->pid);
	monitor = MONITOR_ATTACHED(harness, "-p", pid, NAMED);
	workload_do(harness, container->child, "go");
	report = monitor_stop(harness, monitor);
	expect_leaks(process_of(report, container->pid));
	expect_container(process_of(report, container->pid), container, NULL);
}

#define DOCKER_RECORDS "/var/lib/docker/containers"

/* Docker keeps it where only root can write, by the id. */
static void docker_record_write(const struct running *container)
{
	char path[256];
	FILE *record;

	snprintf(path, sizeof(path), "mkdir -p " DOCKER_RECORDS "/%s", container->id);
	assert_int_equal(system(path), 0);
	snprintf(path, sizeof(path), DOCKER_RECORDS "/%s/config.v2.json", container->id);
	record = fopen(path, "we");
	assert_non_null(record);
	fprintf(record, "{\"ID\":\"%s\",\"Config\":{\"Labels\":{}},\"Name\":\"/web\"}",
		container->id);
	fclose(record);
}

static void docker_record_remove(const struct running *container)
{
	char command[256];

	snprintf(command, sizeof(command),
		 "rm -r " DOCKER_RECORDS "/%s; rmdir " DOCKER_RECORDS " /var/lib/docker "
		 "2>/dev/null || true",
		 container->id);
	assert_int_equal(system(command), 0);
}

static void docker_names_a_container_that_no_annotation_names(void **state)
{
	struct harness *harness = containers_bpf(state);
	const struct container_spec spec = {.runtime = "runc", .image = IMAGE_STATIC};
	struct running *container = container_start(harness, &spec);
	struct child *monitor;
	json_t *report, *named;
	char pid[16];

	snprintf(pid, sizeof(pid), "%d", container->pid);
	docker_record_write(container);
	monitor = MONITOR_ATTACHED(harness, "-p", pid, NAMED);
	report = monitor_stop(harness, monitor);
	docker_record_remove(container);
	named = json_object_get(process_of(report, container->pid), "container");
	assert_string_equal(text_at(named, "id"), container->id);
	assert_string_equal(text_at(named, "name"), "web");
	assert_true(json_is_null(json_object_get(named, "pod")));
}

/* The kernel holds what is mapped: nothing is looked for by its name. */
static void a_root_that_is_read_only_or_gone_changes_nothing(void **state)
{
	static const struct container_spec specs[] = {
		{.runtime = "runc", .image = IMAGE_GLIBC, .pod = "web-0", .read_only = true},
		{.runtime = "crun", .image = IMAGE_MUSL, .pod = "web-0"},
	};
	struct harness *harness = containers_bpf(state);

	for (size_t i = 0; i < sizeof(specs) / sizeof(*specs); i++) {
		struct running *container = container_start(harness, &specs[i]);
		char pid[16], command[256];
		struct child *monitor;
		json_t *report;

		snprintf(command, sizeof(command), "rm -rf %s", container->bundle);
		if (!specs[i].read_only)
			assert_int_equal(system(command), 0);
		snprintf(pid, sizeof(pid), "%d", container->pid);
		monitor = MONITOR_ATTACHED(harness, "-p", pid, NAMED);
		workload_do(harness, container->child, "go");
		report = monitor_stop(harness, monitor);
		expect_balance(report);
		expect_leaks(process_of(report, container->pid));
		expect_container(process_of(report, container->pid), container,
				 specs[i].read_only ? "web-0" : NULL);
	}
}

/* Its last report still says what it was. */
static void a_container_that_dies_keeps_its_name(void **state)
{
	struct harness *harness = containers_bpf(state);
	const struct container_spec spec = {
		.runtime = "runc", .image = IMAGE_GLIBC, .pod = "web-0"};
	struct running *container = container_start(harness, &spec);
	struct child *monitor;
	json_t *report;
	char pid[16];

	snprintf(pid, sizeof(pid), "%d", container->pid);
	monitor = MONITOR_ATTACHED(harness, "-p", pid, NAMED);
	workload_do(harness, container->child, "go");
	child_signal(monitor, SIGUSR1);
	monitor_report(harness, monitor);
	container_kill(container);
	report = monitor_report(harness, monitor);
	assert_int_equal(child_end(harness, monitor), 0);
	expect_leaks(process_of(report, container->pid));
	expect_container(process_of(report, container->pid), container, "web-0");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		container_test(every_runtime_and_libc_is_counted_exactly_and_named),
		container_test(a_container_is_found_by_pid_by_id_by_name_and_by_cgroup),
		container_test(two_containers_over_one_layer_are_counted_once_each),
		container_test(a_pod_that_is_not_there_lists_those_that_are),
		container_test(an_unreadable_bundle_leaves_the_id),
		container_test(docker_names_a_container_that_no_annotation_names),
		container_test(a_root_that_is_read_only_or_gone_changes_nothing),
		container_test(a_container_that_dies_keeps_its_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
