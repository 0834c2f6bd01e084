// SPDX-License-Identifier: GPL-2.0-or-later
/* Containers of runc and crun: exact inside, named outside, selected by all their names. */
#include "containers.h"
#include "shell.h"

#include <signal.h>
#include <sys/stat.h>

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

/* Blocks left by one `go` of the workload. */
static void expect_leaks(json_t *process)
{
	expect_held(process, "leak_a", 10, 1000);
	expect_held(process, "leak_b", 5, 5000);
	expect_held(process, "leak_c", 3, 12288);
	expect_held(process, "balanced", 0, 0);
}

/* One report: standard output whole. */
static void expect_output(struct harness *harness, const char *pid, const char *format,
			  const char *words, const char *never)
{
	struct child *monitor =
		MONITOR(harness, "-p", pid, "-o", "0", "--format", format, "0.1", "1");

	assert_int_equal(child_end(harness, monitor), 0);
	if (words && !strstr(monitor->out.text, words))
		child_fail(monitor, "stdout does not say `%s`: %s", words, monitor->out.text);
	if (never && strstr(monitor->out.text, never))
		child_fail(monitor, "stdout says `%s`", never);
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

static void a_program_that_samples_itself_is_followed_inside(void **state)
{
	static const char *const runtimes[] = {"runc", "crun"};
	struct harness *harness = containers_bpf(state);

	for (size_t i = 0; i < sizeof(runtimes) / sizeof(*runtimes); i++) {
		const struct container_spec spec = {.runtime = runtimes[i],
						    .image = IMAGE_GLIBC,
						    .pod = "web-0",
						    .program = "usdt",
						    .path = "/bin/usdt",
						    .argument = "1"};
		struct running *container = container_start(harness, &spec);
		struct child *monitor;
		json_t *report, *samples, *process;
		char pid[16];

		snprintf(pid, sizeof(pid), "%d", container->pid);
		monitor = MONITOR_ATTACHED(harness, "-p", pid, NAMED);
		workload_do(harness, container->child, "go");
		samples = workload_ask(harness, container->child, "samples");
		report = monitor_stop(harness, monitor);
		expect_balance(report);
		assert_int_equal(ledger_at(report, "allocations"),
				 number_at(samples, "allocations"));
		assert_int_equal(ledger_at(report, "frees"), number_at(samples, "frees"));
		process = process_of(report, container->pid);
		assert_true(is_inexact_by(process, "sampled"));
		expect_container(process, container, "web-0");
		container_kill(container);
		container_end(container);
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

/* Nothing in the path of the cgroup shows the id: only the runtime's state does. */
static void a_container_with_a_chosen_id_is_found_by_that(void **state)
{
	static const char *const runtimes[] = {"runc", "crun"};
	struct harness *harness = containers_bpf(state);

	for (size_t i = 0; i < sizeof(runtimes) / sizeof(*runtimes); i++) {
		char id[32], listed[64], pid[16];
		const struct container_spec spec = {
			.runtime = runtimes[i], .image = IMAGE_STATIC, .id = id};
		struct running *container;
		struct child *monitor;
		json_t *report, *named;

		snprintf(id, sizeof(id), "web-%d-%zu", (int)getpid(), i);
		container = container_start(harness, &spec);
		monitor = MONITOR_ATTACHED(harness, "--container", id, NAMED);
		workload_do(harness, container->child, "go");
		report = monitor_stop(harness, monitor);
		expect_leaks(process_of(report, container->pid));
		named = json_object_get(process_of(report, container->pid), "container");
		assert_string_equal(text_at(named, "id"), id);
		assert_string_equal(text_at(named, "name"), id);
		snprintf(listed, sizeof(listed), "container %s\n", id);
		snprintf(pid, sizeof(pid), "%d", container->pid);
		expect_output(harness, pid, "text", listed, NULL);
		/* Its beginning is another name. */
		monitor_expect_error(harness, MONITOR(harness, "--container", "web-", NAMED), 1,
				     id);
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

/* crun's state has only the path of the bundle. */
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

/* A daemon of the test's own, which has its data where the test has its own: "up", or why it is
 * not. */
static const char docker_daemon[] =
	"cd $1; command -v dockerd containerd docker >out || { echo 'no Docker (docker.io)'; exit; "
	"}\n"
	"dockerd --iptables=false --ip6tables=false --bridge=none --storage-driver=vfs --data-root "
	"$1/data --exec-root $1/exec --pidfile $1/pid -H unix://$1/sock >log 2>&1 &\n"
	"until docker -H unix://$1/sock info >out 2>&1; do\n"
	"  kill -0 $! || { echo \"dockerd does not start here: $(tail -n 1 log)\"; exit; }\n"
	"  sleep 0.1\n"
	"done\n"
	"echo up; wait\n";

/* The image is the directory. */
static const char docker_run[] =
	"tar -C $1/image -c . | docker -H unix://$1/sock import - leakmon-test >/dev/null &&\n"
	"exec docker -H unix://$1/sock run -i --name $2 --network none leakmon-test /bin/leak";

static void docker_daemon_start(struct harness *harness)
{
	struct child *daemon =
		child_start(harness, "/bin/sh",
			    ARGUMENTS("sh", "-c", docker_daemon, "sh", harness->directory), NULL);
	char *line = child_line(harness, daemon, &daemon->out);
	bool up = !strncmp(line, "up", 2);

	if (!up)
		print_message("SKIPPED: %s\n", line);
	free(line);
	if (!up)
		skip();
}

static int docker_teardown(void **state)
{
	const struct harness *harness = *state;
	char command[512];

	snprintf(command, sizeof(command),
		 "cd %s && { timeout 30 docker -H unix://$PWD/sock ps -aq | timeout 30 xargs -r "
		 "docker -H unix://$PWD/sock rm -f; kill $(cat pid); while test -e pid; do sleep "
		 "0.1; done; grep -o \"$PWD/[^ ]*\" /proc/mounts | xargs -r umount -l; } "
		 ">/dev/null 2>&1",
		 harness->directory);
	assert_true(system(command) >= 0);
	return containers_teardown(state);
}

static void docker_names_its_containers_by_name_and_by_id(void **state)
{
	struct harness *harness = containers_bpf(state);
	char path[128], name[32];
	char *ready, *inspected;
	struct running container = {0};
	struct child *monitor;
	json_t *report, *named;

	snprintf(name, sizeof(name), "web-%d", (int)getpid());
	snprintf(path, sizeof(path), "%s/image", harness->directory);
	docker_daemon_start(harness);
	image_make(path, IMAGE_STATIC);
	container.child = child_start(
		harness, "/bin/sh",
		ARGUMENTS("sh", "-c", docker_run, "sh", harness->directory, name), NULL);
	ready = child_line(harness, container.child, &container.child->out);
	assert_int_equal(strncmp(ready, "ready", 5), 0);
	free(ready);
	inspected =
		shell(harness, 0, "docker -H unix://%s/sock inspect -f '{{.State.Pid}} {{.Id}}' %s",
		      harness->directory, name);
	assert_int_equal(sscanf(inspected, "%d %64s", &container.pid, container.id), 2);
	free(inspected);
	for (int by_id = 0; by_id < 2; by_id++) {
		char id[13];

		snprintf(id, sizeof(id), "%.12s", container.id);
		monitor = MONITOR(harness, "--container", by_id ? id : name, NAMED);
		monitor_wait_attached(harness, monitor, container.pid);
		workload_do(harness, container.child, "go");
		report = monitor_stop(harness, monitor);
		expect_leaks(process_of(report, container.pid));
		named = json_object_get(process_of(report, container.pid), "container");
		assert_string_equal(text_at(named, "id"), container.id);
		assert_string_equal(text_at(named, "name"), name);
		assert_null(json_object_get(named, "proven"));
	}
	monitor_expect_error(harness, MONITOR(harness, "--container", "web-", NAMED), 1, name);
}

/* The kernel holds mapped files: nothing is opened by its name. */
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

/* Its last report still has its identity. */
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

#define SOME_ID "feedfacefeedfacefeedfacefeedfacefeedfacefeedfacefeedfacefeedface"
#define NOBODY 65534

/*
 * A user 65534 with a delegated cgroup can give a group below it the name of a container, and
 * pretend to be a runtime with a bundle.
 */
static const char impostor[] =
	"set -e\n"
	"group=$1/leakmon-test/user id=$2 place=$3 delegated=$4\n"
	"scope=$group/cri-containerd-$id.scope\n"
	"mkdir -p $group $place\n"
	"cp $5 $place/leak\n"
	"test $delegated = yes || mkdir $scope\n"
	"test $delegated = no || chown -R 65534 $group\n"
	"chown 65534 $place\n"
	"cd $place\n"
	"test $delegated = no || echo $$ > $group/cgroup.procs\n"
	"cat > config.json <<END\n"
	"{\"linux\": {\"cgroupsPath\": \"/$id\"}, \"annotations\": {\n"
	"\"io.kubernetes.cri.sandbox-name\": \"web-0\",\n"
	"\"io.kubernetes.cri.sandbox-namespace\": \"shop\",\n"
	"\"io.kubernetes.cri.container-name\": \"app\"}}\n"
	"END\n"
	"chown 65534 config.json\n"
	/* Root starts it, in a directory of the user's. */
	"if test $delegated = no; then\n"
	"  sh -c 'echo $$ > '$scope'/cgroup.procs; exec ./leak'\n"
	"  exit\n"
	"fi\n"
	"exec setpriv --reuid 65534 --clear-groups sh -c \"mkdir $scope; sh -c 'echo \\$\\$ > "
	"$scope/cgroup.procs; exec ./leak'; true\"\n";

static const char *cgroup_mount(bool unified)
{
	if (unified)
		return access("/sys/fs/cgroup/cgroup.procs", F_OK) ? "/sys/fs/cgroup/unified"
								   : "/sys/fs/cgroup";
	return "/sys/fs/cgroup/freezer";
}

struct forged {
	struct child *child;
	pid_t pid;
	char pid_text[16];
};

static struct forged impostor_start(struct harness *harness, const char *mount, const char *id,
				    const char *delegated)
{
	const char *workloads = getenv("LEAKMON_WORKLOADS");
	struct forged forged = {0};
	char place[64], workload[512];
	char *line;

	assert_int_equal(chmod(harness->directory, 0711), 0);
	snprintf(place, sizeof(place), "%s/%s-%.8s", harness->directory, delegated, id);
	snprintf(workload, sizeof(workload), "%s/leak", workloads ? workloads : "build/workloads");
	forged.child = child_start(
		harness, "/bin/sh",
		ARGUMENTS("sh", "-c", impostor, "sh", mount, id, place, delegated, workload), NULL);
	line = child_line(harness, forged.child, &forged.child->out);
	assert_int_equal(sscanf(line, "ready %d", &forged.pid), 1);
	free(line);
	snprintf(forged.pid_text, sizeof(forged.pid_text), "%d", forged.pid);
	return forged;
}

static void expect_claims(json_t *process)
{
	json_t *named = json_object_get(process, "container");
	json_t *claims = json_object_get(named, "claims");

	assert_true(json_is_false(json_object_get(named, "proven")));
	assert_true(json_is_null(json_object_get(named, "namespace")));
	assert_true(json_is_null(json_object_get(named, "pod")));
	assert_true(json_is_null(json_object_get(named, "name")));
	assert_string_equal(text_at(claims, "namespace"), "shop");
	assert_string_equal(text_at(claims, "pod"), "web-0");
	assert_string_equal(text_at(claims, "name"), "app");
}

static void a_claim_to_be_a_pod_is_not_believed(void **state)
{
	struct harness *harness = containers_bpf(state);

	for (int unified = 0; unified < 2; unified++) {
		char id[65];
		struct forged forged;
		struct child *monitor;

		if (access(cgroup_mount(unified), W_OK))
			continue;
		snprintf(id, sizeof(id), "%d%s", unified, SOME_ID + 1);
		forged = impostor_start(harness, cgroup_mount(unified), id, "yes");
		monitor_expect_error(harness, MONITOR(harness, "--pod", "shop/web-0", NAMED), 1,
				     "claims that name, and it is unproven: others than root can "
				     "make its control group");
		monitor_expect_error(harness, MONITOR(harness, "--container", "app", NAMED), 1,
				     "claims that name, and it is unproven");
		monitor = MONITOR_ATTACHED(harness, "-p", forged.pid_text, NAMED);
		workload_do(harness, forged.child, "go");
		expect_claims(process_of(monitor_stop(harness, monitor), forged.pid));
		expect_output(harness, forged.pid_text, "text", "container app (pod shop/web-0) ",
			      NULL);
		expect_output(harness, forged.pid_text, "text", " (unproven)\n", NULL);
		expect_output(harness, forged.pid_text, "prom", "comm=\"leak\"", "container=");
		expect_output(harness, forged.pid_text, "prom", NULL, "web-0");
		kill(forged.pid, SIGKILL);
	}
}

/* The cgroup has the victim's id, and every file names its owner, root. */
static void a_copied_container_id_is_not_believed(void **state)
{
	struct harness *harness = containers_bpf(state);
	const struct container_spec spec = {
		.runtime = "runc", .image = IMAGE_GLIBC, .pod = "web-0"};
	struct running *container = container_start(harness, &spec);
	bool unified = !access(cgroup_mount(true), W_OK);
	struct forged forged = impostor_start(harness, cgroup_mount(unified), container->id, "yes");
	struct child *monitor = MONITOR_ATTACHED(harness, "--pod", "shop/web-0", NAMED);
	json_t *report;

	workload_do(harness, container->child, "go");
	workload_do(harness, forged.child, "go");
	report = monitor_stop(harness, monitor);
	assert_int_equal(json_array_size(json_object_get(report, "processes")), 1);
	expect_leaks(process_of(report, container->pid));
	expect_container(process_of(report, container->pid), container, "web-0");
	monitor = MONITOR_ATTACHED(harness, "-p", forged.pid_text, NAMED);
	expect_claims(process_of(monitor_stop(harness, monitor), forged.pid));
	kill(forged.pid, SIGKILL);
}

/* Root created the cgroup and started the program; the user only wrote files. */
static void names_that_a_user_wrote_are_no_names(void **state)
{
	struct harness *harness = containers_bpf(state);
	bool unified = !access(cgroup_mount(true), W_OK);
	struct forged forged = impostor_start(harness, cgroup_mount(unified), SOME_ID, "no");
	struct child *monitor;
	json_t *process;

	monitor_expect_error(harness, MONITOR(harness, "--pod", "web-0", NAMED), 1,
			     "it is unproven: its names are only in files, or from a runtime, that "
			     "others than root can change");
	monitor = MONITOR_ATTACHED(harness, "--container", SOME_ID, NAMED);
	process = process_of(monitor_stop(harness, monitor), forged.pid);
	expect_claims(process);
	assert_string_equal(text_at(json_object_get(process, "container"), "id"), SOME_ID);
	expect_output(harness, forged.pid_text, "prom", "container=\"" SOME_ID "\"", "web-0");
	kill(forged.pid, SIGKILL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		container_test(every_runtime_and_libc_is_counted_exactly_and_named),
		container_test(a_program_that_samples_itself_is_followed_inside),
		container_test(a_container_is_found_by_pid_by_id_by_name_and_by_cgroup),
		container_test(a_container_with_a_chosen_id_is_found_by_that),
		container_test(a_claim_to_be_a_pod_is_not_believed),
		container_test(a_copied_container_id_is_not_believed),
		container_test(names_that_a_user_wrote_are_no_names),
		container_test(two_containers_over_one_layer_are_counted_once_each),
		container_test(a_pod_that_is_not_there_lists_those_that_are),
		container_test(an_unreadable_bundle_leaves_the_id),
		container_test(docker_names_a_container_that_no_annotation_names),
		cmocka_unit_test_setup_teardown(docker_names_its_containers_by_name_and_by_id,
						containers_setup, docker_teardown),
		container_test(a_root_that_is_read_only_or_gone_changes_nothing),
		container_test(a_container_that_dies_keeps_its_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
