// SPDX-License-Identifier: GPL-2.0-or-later
/* Unusual hosts: unwatchable processes are reported, all the rest is exact. */
#include "harness.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define NOBODY 65534

static int shell(const char *format, ...) __attribute__((format(printf, 1, 2)));
static int shell(const char *format, ...)
{
	char command[1024];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(command, sizeof(command), format, arguments);
	va_end(arguments);
	return system(command);
}

static const char *workloads(void)
{
	const char *directory = getenv("LEAKMON_WORKLOADS");

	return directory ? directory : "build/workloads";
}

/* A unique process name. */
static const char *unique_name(void)
{
	static char name[16];

	snprintf(name, sizeof(name), "odd-%d", getpid());
	return name;
}

/* Copies `leak` as `file` into the test's directory, with the C library. */
static void copy_program(struct harness *harness, const char *file)
{
	assert_int_equal(shell("cp %s/leak %s/%s && cp -L $(ldd %s/leak | grep -o '/.*libc.so.6') "
			       "%s/libc.so.6.new && mv %s/libc.so.6.new %s/libc.so.6",
			       workloads(), harness->directory, file, workloads(),
			       harness->directory, harness->directory, harness->directory),
			 0);
}

static struct child *copy_start(struct harness *harness)
{
	char program[64], library_path[64];
	struct child *child;
	char *line;

	snprintf(program, sizeof(program), "%s/%s", harness->directory, unique_name());
	snprintf(library_path, sizeof(library_path), "LD_LIBRARY_PATH=%s", harness->directory);
	child = child_start(harness, "/usr/bin/env", ARGUMENTS("env", library_path, program), NULL);
	line = child_line(harness, child, &child->out);
	assert_int_equal(strncmp(line, "ready ", 6), 0);
	free(line);
	return child;
}

/* Blocks left by one `go` of the workload. */
static void expect_leaks(json_t *report, pid_t pid)
{
	expect_held(process_of(report, pid), "leak_a", 10, 1000);
	expect_held(process_of(report, pid), "leak_b", 5, 5000);
	expect_held(process_of(report, pid), "leak_c", 3, 12288);
}

static void enter_pid_namespace(void)
{
	int status;
	pid_t pid;

	if (unshare(CLONE_NEWPID))
		_exit(99);
	pid = fork();
	if (pid == 0)
		return;
	waitpid(pid, &status, 0);
	_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 98);
}

static void a_pid_namespace_of_its_own_is_refused(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "leak");

	monitor_expect_error(harness,
			     monitor_start(harness, ARGUMENTS("leakmon", "-p", workload->pid_text),
					   enter_pid_namespace),
			     1, "--pid=host");
	monitor_expect_error(
		harness,
		monitor_start(harness, ARGUMENTS("leakmon", "threads", "-p", workload->pid_text),
			      enter_pid_namespace),
		1, "--pid=host");
	workload_do(harness, workload, "go");
}

/* Another user, and a /proc that shows everyone their own processes only. */
static void hide_others(void)
{
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("proc", "/proc", "proc", 0, "hidepid=2") || setgid(NOBODY) || setuid(NOBODY))
		_exit(99);
}

static void a_process_that_proc_hides_is_distinguished_from_one_that_is_not_there(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "leak");

	monitor_expect_error(
		harness,
		monitor_start(harness, ARGUMENTS("leakmon", "-p", workload->pid_text), hide_others),
		1, "hidepid");
	monitor_expect_error(
		harness, monitor_start(harness, ARGUMENTS("leakmon", "-p", "4194304"), hide_others),
		1, "there is no process");
}

static void a_triage_reports_that_processes_are_hidden(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *monitor =
		monitor_start(harness, ARGUMENTS("leakmon", "0.1", "2"), hide_others);

	monitor_expect_error(harness, monitor, 0, "hidepid");
	assert_non_null(strstr(monitor->out.text, "hidden (hidepid)"));
}

static void enter_user_namespace(void)
{
	if (unshare(CLONE_NEWUSER))
		_exit(99);
}

#define NOBODY 65534

/*
 * Becomes a plain user in a separate user namespace, as with unshare -r and in rootless containers.
 */
static void enter_user_namespace_as_nobody(void)
{
	if (setgid(NOBODY) || setuid(NOBODY) || unshare(CLONE_NEWUSER))
		_exit(99);
}

/* Adds a seccomp filter that permits everything, as containers have one. */
static void be_nobody(void)
{
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog program = {.len = 1, .filter = &allow};

	if (setgid(NOBODY) || setuid(NOBODY) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		_exit(99);
}

/* Its own process is open to it, the kernel is not. */
static void what_capabilities_do_not_permit_is_said(void **state)
{
	static const struct {
		before_exec prepare;
		const char *words;
	} cases[] = {
		{enter_user_namespace_as_nobody,
		 "not permitted: capabilities outside this user namespace missing; run leakmon as "
		 "root outside of it"},
		{be_nobody,
		 "not permitted: CAP_BPF, CAP_PERFMON, CAP_SYS_PTRACE missing; run as root"},
	};
	struct harness *harness = harness_bpf(state);

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct child *own = child_start(harness, "/bin/sleep", ARGUMENTS("sleep", "60"),
						cases[i].prepare);
		struct child *monitor = monitor_start(
			harness, ARGUMENTS("leakmon", "-p", own->pid_text), cases[i].prepare);

		monitor_expect_error(harness, monitor, 1, cases[i].words);
		/* A probe that was not tried must not be reported as deadly. */
		monitor =
			monitor_start(harness, ARGUMENTS("leakmon", "doctor", "-p", own->pid_text),
				      cases[i].prepare);
		assert_int_equal(child_end(harness, monitor), 1);
		assert_non_null(strstr(monitor->out.text, "not tried: capabilities are missing"));
		if (monitor->err.text && strstr(monitor->err.text, "on this kernel"))
			child_fail(monitor, "accuses the kernel: %s", monitor->err.text);
		kill(own->pid, SIGKILL);
	}
}

static void limit_files_for_a_few(void);

/* Obstacles are reported on stdout, with the remedy, and by the exit code. */
static void doctor_reports_what_the_host_lacks(void **state)
{
	static const struct {
		before_exec prepare;
		int code;
		const char *words;
	} cases[] = {
		{NULL, 0, "  PID namespace            the host's\n  /proc shows              all"},
		{enter_pid_namespace, 1, "(docker: --pid=host, Kubernetes: hostPID: true)"},
		{enter_user_namespace, 1, "  user namespace           MISSING is the host's"},
		{hide_others, 1, "only processes of this user (hidepid): run as root"},
		{limit_files_for_a_few, 0, "  file descriptors         140, for about 14 "},
	};
	struct harness *harness = harness_bpf(state);

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct child *doctor =
			monitor_start(harness, ARGUMENTS("leakmon", "doctor"), cases[i].prepare);

		assert_int_equal(child_end(harness, doctor), cases[i].code);
		assert_null(doctor->err.text);
		if (!strstr(doctor->out.text, cases[i].words))
			child_fail(doctor, "`%s` is not in:\n%s", cases[i].words, doctor->out.text);
	}
}

/* Keeps the capabilities of a triage and no others. */
static void keep_triage_capabilities(void)
{
	for (int capability = 0; capability <= CAP_LAST_CAP; capability++) {
		if (capability != CAP_SYS_PTRACE && capability != CAP_DAC_READ_SEARCH &&
		    prctl(PR_CAPBSET_READ, capability, 0, 0, 0) == 1 &&
		    prctl(PR_CAPBSET_DROP, capability, 0, 0, 0))
			_exit(99);
	}
}

static void keep_three_capabilities(void)
{
	for (int capability = 0; capability <= CAP_LAST_CAP; capability++) {
		if (capability != CAP_BPF && capability != CAP_PERFMON &&
		    capability != CAP_SYS_PTRACE &&
		    prctl(PR_CAPBSET_READ, capability, 0, 0, 0) == 1 &&
		    prctl(PR_CAPBSET_DROP, capability, 0, 0, 0))
			_exit(99);
	}
}

/* As on all kernels before uprobe_multi. */
static void perf_asks_for_a_capability_by_name(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "leak");
	struct child *doctor =
		monitor_start(harness, ARGUMENTS("leakmon", "doctor", "--attach", "perf"),
			      keep_three_capabilities);

	monitor_expect_error(
		harness,
		monitor_start(harness,
			      ARGUMENTS("leakmon", "-p", workload->pid_text, "--attach", "perf"),
			      keep_three_capabilities),
		1, "need CAP_SYS_ADMIN");
	child_end(harness, doctor);
	assert_non_null(strstr(doctor->out.text, "perf; probes through perf"));
	workload_do(harness, workload, "go");
}

static void a_quiet_doctor_reports_by_its_exit_code(void **state)
{
	static const struct {
		before_exec prepare;
		const char *purpose;
		int code;
	} cases[] = {
		{NULL, "watch", 0},
		{NULL, "triage", 0},
		{keep_triage_capabilities, "triage", 0},
		{keep_triage_capabilities, "watch", 1},
		{enter_pid_namespace, "triage", 1},
	};
	struct harness *harness = harness_bpf(state);

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct child *doctor = monitor_start(
			harness, ARGUMENTS("leakmon", "doctor", "-q", "--for", cases[i].purpose),
			cases[i].prepare);

		assert_int_equal(child_end(harness, doctor), cases[i].code);
		assert_true(!doctor->out.text || !doctor->out.text[0]);
	}
}

static void limit_files(rlim_t files)
{
	const struct rlimit limit = {files, files};

	if (setrlimit(RLIMIT_NOFILE, &limit))
		_exit(99);
}

static void limit_files_too_low(void)
{
	limit_files(64);
}

static void limit_files_for_a_few(void)
{
	limit_files(140);
}

static void without_descriptors_to_start_with_the_limit_is_named(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "leak");

	monitor_expect_error(harness,
			     monitor_start(harness, ARGUMENTS("leakmon", "-p", workload->pid_text),
					   limit_files_too_low),
			     1, "out of file descriptors: this process may have 64");
	workload_do(harness, workload, "go");
}

static bool says(const struct child *monitor, const char *before, const char *pid,
		 const char *after)
{
	char text[64];

	snprintf(text, sizeof(text), "%s%s%s", before, pid, after);
	return monitor->err.text && strstr(monitor->err.text, text);
}

/* Some of twelve are watched, exactly; the others are named; none is disturbed. */
static void without_descriptors_the_untraced_processes_are_named(void **state)
{
	enum { PROCESSES = 12 };
	struct harness *harness = harness_bpf(state);
	struct child *processes[PROCESSES], *monitor;
	size_t traced = 0;
	json_t *report;

	copy_program(harness, unique_name());
	for (size_t i = 0; i < PROCESSES; i++)
		processes[i] = copy_start(harness);
	monitor = monitor_start(
		harness,
		ARGUMENTS("leakmon", "-n", unique_name(), "-o", "0", "--format", "json", "3600"),
		limit_files_for_a_few);
	/* Chosen by ascending PID, but PIDs may wrap: every one is mentioned in one way. */
	for (size_t i = 0; i < PROCESSES; i++)
		child_wait_text(harness, monitor, &monitor->err, processes[i]->pid_text);
	for (size_t i = 0; i < PROCESSES; i++)
		workload_do(harness, processes[i], "go");
	report = monitor_stop(harness, monitor);
	for (size_t i = 0; i < PROCESSES; i++) {
		if (says(monitor, "attached to PID ", processes[i]->pid_text, ":")) {
			expect_leaks(report, processes[i]->pid);
			traced++;
		} else {
			assert_true(says(monitor, "process ", processes[i]->pid_text, " ("));
		}
	}
	assert_in_range(traced, 1, PROCESSES - 1);
	assert_int_equal(json_array_size(json_object_get(report, "processes")), traced);
	assert_non_null(strstr(monitor->err.text, "is not traced: out of file descriptors"));
	expect_balance(report);
}

/* The same names denote other files by now: the mapped file counts, not its name. */
static void replaced_and_removed_files_are_traced_as_they_are_mapped(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *old, *new, *late, *monitor;
	json_t *report;

	copy_program(harness, unique_name());
	old = copy_start(harness);
	assert_int_equal(shell("rm %s/%s", harness->directory, unique_name()), 0);
	copy_program(harness, unique_name());
	new = copy_start(harness);
	assert_int_equal(shell("rm %s/%s %s/libc.so.6", harness->directory, unique_name(),
			       harness->directory),
			 0);
	monitor = MONITOR(harness, "-n", unique_name(), "-o", "0", "--format", "json", "3600");
	monitor_wait_attached(harness, monitor, old->pid);
	monitor_wait_attached(harness, monitor, new->pid);
	copy_program(harness, unique_name());
	late = copy_start(harness);
	monitor_wait_attached(harness, monitor, late->pid);
	workload_do(harness, old, "go");
	workload_do(harness, new, "go");
	workload_do(harness, late, "go");
	report = monitor_stop(harness, monitor);
	expect_balance(report);
	assert_int_equal(dropped_sum(report), 0);
	expect_leaks(report, old->pid);
	expect_leaks(report, new->pid);
	expect_leaks(report, late->pid);
}

static void preload_killer(void)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/killer.so", workloads());
	setenv("LD_PRELOAD", path, 1);
}

static void a_process_that_ends_between_choice_and_attach_is_passed_over(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *stays, *goes, *monitor;
	json_t *report;

	copy_program(harness, unique_name());
	goes = copy_start(harness);
	stays = copy_start(harness);
	setenv("KILLER_PID", goes->pid_text, 1);
	monitor = monitor_start(
		harness,
		ARGUMENTS("leakmon", "-n", unique_name(), "-o", "0", "--format", "json", "3600"),
		preload_killer);
	monitor_wait_attached(harness, monitor, stays->pid);
	assert_int_equal(child_end(harness, goes), 128 + SIGKILL);
	workload_do(harness, stays, "go");
	report = monitor_stop(harness, monitor);
	expect_balance(report);
	expect_leaks(report, stays->pid);
	assert_int_equal(json_array_size(json_object_get(report, "processes")), 1);

	/* It was the only target, given by number: nothing is left to do. */
	setenv("KILLER_PID", stays->pid_text, 1);
	monitor_expect_error(
		harness,
		monitor_start(harness, ARGUMENTS("leakmon", "-p", stays->pid_text), preload_killer),
		1, "ended while leakmon was attaching");
	unsetenv("KILLER_PID");
}

/* Directories of 250 bytes each, one in the other, until no path name reaches the last. */
static void deep_cgroup_enter(void)
{
	const char *root = access("/sys/fs/cgroup/memory/cgroup.procs", W_OK)
				   ? "/sys/fs/cgroup"
				   : "/sys/fs/cgroup/memory";
	char name[251], digits[16];
	int length, procs;

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	memcpy(name, "leakmon-deep", 12);
	length = snprintf(digits, sizeof(digits), "%d", getpid());
	if (chdir(root))
		_exit(99);
	for (int i = 0; i < 17; i++) {
		if (mkdir(name, 0755) || chdir(name))
			_exit(99);
	}
	procs = open("cgroup.procs", O_WRONLY | O_CLOEXEC);
	if (procs < 0 || write(procs, digits, length) != length)
		_exit(99);
}

static void deep_cgroup_remove(void)
{
	shell("for i in 1 2 3 4 5; do sleep 0.1; find /sys/fs/cgroup -depth -name "
	      "'leakmon-deep*' -type d -execdir rmdir {} ';' 2>/dev/null && break; done");
}

/* The kernel cuts such a path, and shows the rest or nothing. */
static void a_cgroup_path_longer_than_4096_bytes_hides_nothing_else(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload, *monitor;
	char path[256];
	json_t *report;

	snprintf(path, sizeof(path), "%s/leak", workloads());
	workload = child_start(harness, path, ARGUMENTS("leak"), deep_cgroup_enter);
	child_wait_text(harness, workload, &workload->out, "ready ");
	free(child_line(harness, workload, &workload->out));
	monitor = MONITOR_ATTACHED(harness, "-p", workload->pid_text, "-o", "0", "--format", "json",
				   "3600");
	workload_do(harness, workload, "go");
	report = monitor_stop(harness, monitor);
	expect_leaks(report, workload->pid);
	expect_balance(report);
	assert_true(json_is_null(json_object_get(process_of(report, workload->pid), "container")));
	workload_send(workload, "quit");
	assert_int_equal(child_end(harness, workload), 0);
	deep_cgroup_remove();
}

static void one_among_ten_thousand_is_found(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *crowd = WORKLOAD(harness, "brood", "10000"), *one, *monitor;
	json_t *report;

	workload_do(harness, crowd, "crowd");
	copy_program(harness, unique_name());
	one = copy_start(harness);
	monitor = MONITOR(harness, "-n", unique_name(), "-o", "0", "--format", "json", "3600");
	monitor_wait_attached(harness, monitor, one->pid);
	workload_do(harness, one, "go");
	report = monitor_stop(harness, monitor);
	expect_balance(report);
	expect_leaks(report, one->pid);
	assert_int_equal(json_array_size(json_object_get(report, "processes")), 1);

	/* The triage counts all, including those postponed to the next poll by its budget. */
	monitor = MONITOR(harness, "--budget", "100%", "--format", "json", "1", "1");
	report = monitor_report(harness, monitor);
	assert_int_equal(child_end(harness, monitor), 0);
	assert_true(number_at(report, "processes_total") +
			    number_at(json_object_get(report, "budget"), "waiting") >
		    10000);
	workload_send(crowd, "quit");
	assert_int_equal(child_end(harness, crowd), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		e2e_test(a_pid_namespace_of_its_own_is_refused),
		e2e_test(a_process_that_proc_hides_is_distinguished_from_one_that_is_not_there),
		e2e_test(a_triage_reports_that_processes_are_hidden),
		e2e_test(what_capabilities_do_not_permit_is_said),
		e2e_test(doctor_reports_what_the_host_lacks),
		e2e_test(perf_asks_for_a_capability_by_name),
		e2e_test(a_quiet_doctor_reports_by_its_exit_code),
		e2e_test(without_descriptors_to_start_with_the_limit_is_named),
		e2e_test(without_descriptors_the_untraced_processes_are_named),
		e2e_test(replaced_and_removed_files_are_traced_as_they_are_mapped),
		e2e_test(a_process_that_ends_between_choice_and_attach_is_passed_over),
		e2e_test(a_cgroup_path_longer_than_4096_bytes_hides_nothing_else),
		e2e_test(one_among_ten_thousand_is_found),
	};

	return cmocka_run_group_tests_name("e2e_hosts", tests, NULL, NULL);
}
