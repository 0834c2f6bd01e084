// SPDX-License-Identifier: GPL-2.0-or-later
#include "harness.h"

#include <linux/bpf.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>

static const char *setting(const char *name, const char *otherwise)
{
	const char *value = getenv(name);

	return value && *value ? value : otherwise;
}

static volatile sig_atomic_t interrupted;

static void interrupt(int signal)
{
	(void)signal;
	interrupted = 1;
}

bool harness_interrupted(void)
{
	static bool reported;
	bool first = interrupted && !reported;

	reported |= first;
	return first;
}

int harness_setup(void **state)
{
	struct harness *harness = calloc(1, sizeof(*harness));

	if (!harness || interrupted)
		return -1;
	signal(SIGINT, interrupt);
	signal(SIGTERM, interrupt);
	/* A child may close its end while we write to it. */
	signal(SIGPIPE, SIG_IGN);
	harness->documents = json_array();
	harness->limit_ms = atol(setting("LEAKMON_TEST_LIMIT", "240")) * 1000;
	strcpy(harness->directory, "/tmp/leakmon-e2e-XXXXXX");
	*state = harness;
	return mkdtemp(harness->directory) ? 0 : -1;
}

static void directory_remove(const char *directory)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -rf %s", directory);
	if (system(command) != 0)
		print_error("%s failed\n", command);
}

int harness_teardown(void **state)
{
	struct harness *harness = *state;

	for (size_t i = 0; i < harness->count; i++)
		child_kill(&harness->children[i]);
	json_decref(harness->documents);
	directory_remove(harness->directory);
	free(harness);
	return 0;
}

/* Why no test can run here, or NULL. */
static const char *obstacle(void)
{
	union bpf_attr attr = {
		.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 4, .max_entries = 1};
	int fd;

	if (geteuid() != 0)
		return "not root";
	if (access("/sys/kernel/btf/vmlinux", R_OK))
		return "this kernel has no BTF";
	fd = (int)syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr));
	if (fd < 0)
		return "the bpf system call is refused here";
	close(fd);
	return NULL;
}

struct harness *harness_any(void **state)
{
	if (access(setting("LEAKMON_PROGRAM", "build/leakmon"), X_OK))
		fail_msg("%s is not there: run `make`",
			 setting("LEAKMON_PROGRAM", "build/leakmon"));
	return *state;
}

struct harness *harness_bpf(void **state)
{
	const char *reason = obstacle();

	if (reason) {
		fprintf(stderr, "SKIPPED, nothing was tested: %s\n", reason);
		skip();
	}
	return harness_any(state);
}

static json_t *document_parse(struct harness *harness, struct child *child)
{
	char *line = child_line(harness, child, &child->out);
	json_error_t error;
	json_t *document = json_loads(line, 0, &error);

	if (!document)
		print_error("not JSON (%s): %.500s\n", error.text, line);
	free(line);
	assert_non_null(document);
	json_array_append_new(harness->documents, document);
	return document;
}

struct child *workload_start(struct harness *harness, const char *name, const char *const *argv)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", setting("LEAKMON_WORKLOADS", "build/workloads"),
		 name);
	return workload_start_at(harness, path, argv);
}

struct child *workload_start_at(struct harness *harness, const char *path, const char *const *argv)
{
	struct child *workload = child_start(harness, path, argv, NULL);
	char *line = child_line(harness, workload, &workload->out);

	assert_int_equal(strncmp(line, "ready ", 6), 0);
	free(line);
	return workload;
}

void workload_send(const struct child *workload, const char *command)
{
	assert_true(dprintf(workload->in, "%s\n", command) > 0);
}

void workload_do(struct harness *harness, struct child *workload, const char *command)
{
	char *answer;

	workload_send(workload, command);
	answer = child_line(harness, workload, &workload->out);
	assert_string_equal(answer, "done");
	free(answer);
}

json_t *workload_ask(struct harness *harness, struct child *workload, const char *command)
{
	workload_send(workload, command);
	return document_parse(harness, workload);
}

struct child *monitor_start(struct harness *harness, const char *const *argv, before_exec prepare)
{
	return child_start(harness, setting("LEAKMON_PROGRAM", "build/leakmon"), argv, prepare);
}

struct child *monitor_attached(struct harness *harness, struct child *monitor)
{
	child_wait_text(harness, monitor, &monitor->err, "leakmon: attached to PID ");
	return monitor;
}

void monitor_wait_attached(struct harness *harness, struct child *monitor, pid_t pid)
{
	char text[64];

	snprintf(text, sizeof(text), "attached to PID %d:", pid);
	child_wait_text(harness, monitor, &monitor->err, text);
}

json_t *monitor_report(struct harness *harness, struct child *monitor)
{
	return document_parse(harness, monitor);
}

json_t *monitor_stop(struct harness *harness, struct child *monitor)
{
	json_t *last = NULL;
	int code;

	child_signal(monitor, SIGINT);
	code = child_end(harness, monitor);
	if (code)
		child_fail(monitor, "leakmon exited with %d", code);
	while (monitor->out.taken < monitor->out.size)
		last = monitor_report(harness, monitor);
	assert_non_null(last);
	return last;
}

void monitor_expect_error(struct harness *harness, struct child *monitor, int code,
			  const char *words)
{
	int got = child_end(harness, monitor);

	if (got != code)
		child_fail(monitor, "exit code %d, must be %d", got, code);
	if (!monitor->err.text || !strstr(monitor->err.text, words))
		child_fail(monitor, "stderr does not say `%s`", words);
}

json_t *watch(struct harness *harness, struct child *workload, const char *command,
	      const char *const *argv)
{
	struct child *monitor = monitor_attached(harness, monitor_start(harness, argv, NULL));

	workload_do(harness, workload, command);
	return monitor_stop(harness, monitor);
}

json_t *monitor_snapshot(struct harness *harness, struct child *monitor)
{
	child_signal(monitor, SIGUSR1);
	return monitor_report(harness, monitor);
}

pid_t workload_child(struct harness *harness, struct child *workload)
{
	return (pid_t)number_at(workload_ask(harness, workload, "child"), "pid");
}

void memory_group_make(const struct child *target, char *path, size_t size)
{
	static const char *const mounts[] = {"/sys/fs/cgroup/memory", "/sys/fs/cgroup"};

	for (size_t i = 0; i < sizeof(mounts) / sizeof(mounts[0]); i++) {
		char name[160];
		FILE *file;

		snprintf(path, size, "%s/leakmon-memory-%s", mounts[i], target->pid_text);
		if (mkdir(path, 0755))
			continue;
		snprintf(name, sizeof(name), "%s/cgroup.procs", path);
		file = fopen(name, "w");
		assert_non_null(file);
		fprintf(file, "%s\n", target->pid_text);
		assert_int_equal(fclose(file), 0);
		snprintf(name, sizeof(name), "%s/memory.stat", path);
		if (!access(name, R_OK))
			return;
		rmdir(path);
	}
	print_message("SKIPPED: no group with a memory controller can be made here\n");
	skip();
}
