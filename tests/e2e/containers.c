// SPDX-License-Identifier: GPL-2.0-or-later
#include "containers.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>

#define MAX_CONTAINERS 8

/*
 * cmocka passes the harness to a test; the teardown must find data elsewhere. Entries without a
 * runtime are free.
 */
static struct running containers[MAX_CONTAINERS];
static unsigned containers_started;

static int shell(const char *format, ...) __attribute__((format(printf, 1, 2)));
static int shell(const char *format, ...)
{
	char command[4096];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(command, sizeof(command), format, arguments);
	va_end(arguments);
	return system(command);
}

int containers_setup(void **state)
{
	memset(containers, 0, sizeof(containers));
	containers_started = 0;
	return harness_setup(state);
}

static void runtime_forget(const struct running *container)
{
	container_kill(container);
	shell("timeout 20 %s delete --force %s >/dev/null 2>&1", container->runtime, container->id);
}

int containers_teardown(void **state)
{
	for (size_t i = 0; i < MAX_CONTAINERS; i++) {
		if (*containers[i].runtime)
			runtime_forget(&containers[i]);
	}
	/* The kernel releases an emptied cgroup slightly later. */
	for (int i = 0; i < 20 && shell("! find /sys/fs/cgroup -maxdepth 2 -name '%s' 2>/dev/null |"
					" grep -q .",
					CONTAINERS_CGROUP + 1);
	     i++) {
		shell("find /sys/fs/cgroup -depth -path '*%s*' -type d -exec rmdir {} + "
		      "2>/dev/null; sleep 0.1",
		      CONTAINERS_CGROUP);
	}
	return harness_teardown(state);
}

static void need_containers(void)
{
	if (shell("command -v runc crun busybox musl-gcc >/dev/null") ||
	    shell("test -w /sys/fs/cgroup/cgroup.procs || test -w "
		  "/sys/fs/cgroup/memory/cgroup.procs")) {
		print_message("SKIPPED: containers need runc, crun, busybox-static, musl-tools and "
			      "writable cgroups\n");
		skip();
	}
}

struct harness *containers_any(void **state)
{
	need_containers();
	return harness_any(state);
}

struct harness *containers_bpf(void **state)
{
	struct harness *harness = harness_bpf(state);

	need_containers();
	return harness;
}

static const char *workloads_directory(void)
{
	const char *workloads = getenv("LEAKMON_WORKLOADS");

	return workloads ? workloads : "build/workloads";
}

void image_make(const char *path, enum image image)
{
	static const char musl_flags[] = "-O2 -g -fno-omit-frame-pointer -fno-builtin -pthread";
	const char *workloads = workloads_directory();
	int failed = shell("mkdir -p %s/bin %s/proc %s/lib %s/dev", path, path, path, path);

	if (!failed && image == IMAGE_GLIBC)
		failed = shell("cp %s/leak %s/bin/ && for l in $(ldd %s/leak | grep -o '/[^ ]*'); "
			       "do mkdir -p %s/$(dirname $l) && cp -L $l %s/$l || exit; done",
			       workloads, path, workloads, path, path);
	else if (!failed)
		failed = shell("cp $(command -v busybox) %s/bin/ && musl-gcc %s %s "
			       "tests/workloads/leak.c -o %s/bin/leak",
			       path, musl_flags, image == IMAGE_STATIC ? "-static" : "", path);
	if (!failed && image == IMAGE_MUSL)
		failed = shell("cp -L /lib/ld-musl-*.so.1 %s/lib/", path);
	assert_int_equal(failed, 0);
}

static json_t *annotations_of(const char *pod)
{
	if (!pod)
		return json_object();
	return json_pack("{s:s, s:s, s:s, s:s}", "io.kubernetes.cri.container-name", "app",
			 "io.kubernetes.cri.sandbox-name", pod,
			 "io.kubernetes.cri.sandbox-namespace", "shop",
			 "io.kubernetes.cri.sandbox-uid", "0aa1b2c3-d4e5-4f60-8123-456789abcdef");
}

/* config.json, OCI runtime specification 1.0. */
static void config_write(const struct running *container, const struct container_spec *spec)
{
	char cgroup[256], path[256];
	json_t *config;

	if (spec->id)
		snprintf(cgroup, sizeof(cgroup), CONTAINERS_CGROUP "/chosen-%u",
			 containers_started);
	else
		snprintf(cgroup, sizeof(cgroup), "%s/kubepods/burstable/pod%s/%s",
			 CONTAINERS_CGROUP, "0aa1b2c3-d4e5-4f60-8123-456789abcdef", container->id);
	config = json_pack("{s:s, s:{s:b, s:{s:i, s:i}, s:[s], s:[s], s:s}, s:{s:s, s:b}, s:s,"
			   " s:[{s:s, s:s, s:s}], s:o, s:{s:s, s:[{s:s}, {s:s}, {s:s}, {s:s}]}}",
			   "ociVersion", "1.0.0", "process", "terminal", 0, "user", "uid", 0, "gid",
			   0, "args", spec->path ? spec->path : "/bin/leak", "env", "PATH=/bin",
			   "cwd", "/", "root", "path", "rootfs", "readonly", spec->read_only,
			   "hostname", "leakmon-test", "mounts", "destination", "/proc", "type",
			   "proc", "source", "proc", "annotations", annotations_of(spec->pod),
			   "linux", "cgroupsPath", cgroup, "namespaces", "type", "pid", "type",
			   "mount", "type", "ipc", "type", "uts");
	assert_non_null(config);
	if (spec->argument)
		json_array_append_new(json_object_get(json_object_get(config, "process"), "args"),
				      json_string(spec->argument));
	if (spec->variable)
		json_array_append_new(json_object_get(json_object_get(config, "process"), "env"),
				      json_string(spec->variable));
	if (spec->memory_max)
		json_object_set_new(
			json_object_get(config, "linux"), "resources",
			json_pack("{s:{s:I}}", "memory", "limit", (json_int_t)spec->memory_max));
	snprintf(path, sizeof(path), "%s/config.json", container->bundle);
	assert_int_equal(json_dump_file(config, path, 0), 0);
	json_decref(config);
}

/* The runtime's state of its container. */
static pid_t host_pid(const struct running *container)
{
	const struct timespec pause = {.tv_nsec = 20000000};
	bool runc = !strcmp(container->runtime, "runc");
	char path[256];
	json_t *state;
	pid_t pid;

	snprintf(path, sizeof(path), "/run/%s/%s/%s", container->runtime, container->id,
		 runc ? "state.json" : "status");
	/* The runtime may write it slightly after the workload began. */
	for (int tries = 0; !(state = json_load_file(path, 0, NULL)) && tries < 500; tries++)
		nanosleep(&pause, NULL);
	assert_non_null(state);
	pid = (pid_t)json_integer_value(json_object_get(state, runc ? "init_process_pid" : "pid"));
	json_decref(state);
	assert_true(pid > 1);
	return pid;
}

static void bundle_make(struct harness *harness, struct running *container,
			const struct container_spec *spec)
{
	char rootfs[192];

	snprintf(container->bundle, sizeof(container->bundle), "%s/bundle-%u", harness->directory,
		 containers_started);
	snprintf(rootfs, sizeof(rootfs), "%s/rootfs", container->bundle);
	assert_int_equal(
		shell("mkdir -p %s %s/upper %s/work", rootfs, container->bundle, container->bundle),
		0);
	if (!spec->lower)
		image_make(rootfs, spec->image);
	if (spec->program)
		assert_int_equal(shell("mkdir -p $(dirname %s%s) && cp %s/%s %s%s", rootfs,
				       spec->path, workloads_directory(), spec->program, rootfs,
				       spec->path),
				 0);
	config_write(container, spec);
}

static struct running *container_new(const struct container_spec *spec)
{
	size_t i = 0;

	while (i < MAX_CONTAINERS && *containers[i].runtime)
		i++;
	assert_true(i < MAX_CONTAINERS);
	containers[i] = (struct running){0};
	snprintf(containers[i].runtime, sizeof(containers[i].runtime), "%s", spec->runtime);
	containers_started++;
	if (spec->id)
		snprintf(containers[i].id, sizeof(containers[i].id), "%s", spec->id);
	else
		snprintf(containers[i].id, sizeof(containers[i].id), "%08x%056x",
			 (unsigned)getpid(), containers_started);
	return &containers[i];
}

struct running *container_start(struct harness *harness, const struct container_spec *spec)
{
	struct running *container = container_new(spec);
	char script[1024], overlay[512] = "";
	char *line;

	bundle_make(harness, container, spec);
	if (spec->lower)
		snprintf(
			overlay, sizeof(overlay),
			"mount -t overlay overlay -o lowerdir=%s,upperdir=%s/upper,workdir=%s/work "
			"%s/rootfs || exit;",
			spec->lower, container->bundle, container->bundle, container->bundle);
	snprintf(script, sizeof(script), "%s %s exec %s run --bundle %s %s",
		 strcmp(spec->runtime, "crun") ? ""
					       : "umount -l /sys/fs/cgroup/unified 2>/dev/null;",
		 overlay, strcmp(spec->runtime, "crun") ? "runc" : "crun --cgroup-manager=cgroupfs",
		 container->bundle, container->id);
	container->child = child_start(harness, "/usr/bin/unshare",
				       ARGUMENTS("unshare", "--mount", "sh", "-c", script), NULL);
	line = child_line(harness, container->child, &container->child->out);
	assert_int_equal(strncmp(line, "ready", 5), 0);
	free(line);
	container->pid = host_pid(container);
	return container;
}

void container_kill(const struct running *container)
{
	if (container->pid > 1)
		kill(container->pid, SIGKILL);
}

void container_end(struct running *container)
{
	child_kill(container->child);
	runtime_forget(container);
	shell("rm -rf --one-file-system %s", container->bundle);
	*container->runtime = '\0';
}
