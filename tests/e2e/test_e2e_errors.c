// SPDX-License-Identifier: GPL-2.0-or-later
/* Bad input: cause and fix on standard error, the right exit code, the target untouched. */
#include "harness.h"

#include <elf.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

struct usage_case {
	const char *words; /* on stderr */
	const char *argv[8];
};

/* Exit code 2, before anything is attached; no root needed. */
static void a_usage_error_exits_with_2_and_names_its_cause(void **state)
{
	static const struct usage_case cases[] = {
		{"abc", {"leakmon", "-p", "abc"}},
		{"1,,2", {"leakmon", "-p", "1,,2"}},
		{"--pid", {"leakmon", "-p", ""}},
		{"-1", {"leakmon", "-p", "-1"}},
		{"--pid", {"leakmon", "-p", "99999999999999999999"}},
		{"12x", {"leakmon", "-p", "12x"}},
		{"COUNT", {"leakmon", "-p", "1", "5", "0"}},
		{"COUNT", {"leakmon", "-p", "1", "5", "x"}},
		{"INTERVAL", {"leakmon", "-p", "1", "0"}},
		{"`-5`", {"leakmon", "-p", "1", "-5"}},
		{"one word too many", {"leakmon", "-p", "1", "5", "2", "7"}},
		{"--min-size", {"leakmon", "-p", "1", "-z", "100", "-Z", "99"}},
		{"--older", {"leakmon", "-p", "1", "-o", "soon"}},
		{"--format", {"leakmon", "-p", "1", "--format", "xml"}},
		{"--sort", {"leakmon", "-p", "1", "--sort", "colour"}},
		{"--max-blocks", {"leakmon", "-p", "1", "--max-blocks", "0"}},
		{"--no-such-option", {"leakmon", "-p", "1", "--no-such-option"}},
		{"no target", {"leakmon", "--trace"}},
		{"--command", {"leakmon", "-c", "'unclosed"}},
		{"`--`", {"leakmon", "--"}},
		{"did you mean `--help`?", {"leakmon", "retain", "--hlep"}},
		{"did you mean `record`?", {"leakmon", "help", "recrod"}},
		{"not supported by `leakmon kernel`", {"leakmon", "kernel", "-p", "1"}},
	};
	struct harness *harness = harness_any(state);

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct child *monitor = monitor_start(harness, cases[i].argv, NULL);

		monitor_expect_error(harness, monitor, 2, cases[i].words);
		assert_int_equal(monitor->out.size, 0);
	}
}

static void help_and_version_go_to_stdout(void **state)
{
	struct harness *harness = harness_any(state);
	struct child *help = MONITOR(harness, "--help"), *version = MONITOR(harness, "--version");

	assert_int_equal(child_end(harness, help), 0);
	assert_non_null(strstr(help->out.text, "--pid"));
	assert_int_equal(help->err.size, 0);
	assert_int_equal(child_end(harness, version), 0);
	assert_int_equal(strncmp(version->out.text, "leakmon", 7), 0);
}

static void help_of_a_command_is_the_same_both_ways(void **state)
{
	static const char *const names[] = {"triage", "watch",	"record",  "report",
					    "diff",   "retain", "threads", "top",
					    "kernel", "doctor", "help"};
	struct harness *harness = harness_any(state);

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct child *one = MONITOR(harness, "help", names[i]);
		struct child *other = MONITOR(harness, names[i], "--help");

		assert_int_equal(child_end(harness, one), 0);
		assert_int_equal(child_end(harness, other), 0);
		assert_non_null(strstr(one->out.text, names[i]));
		assert_string_equal(one->out.text, other->out.text);
	}
	monitor_expect_error(harness, MONITOR(harness, "recrod", "-o", "x"), 2,
			     "did you mean `record`?");
}

static void a_pid_that_is_not_there_is_named(void **state)
{
	struct harness *harness = harness_bpf(state);

	/* Above the largest pid_max there is. */
	monitor_expect_error(harness, MONITOR(harness, "-p", "4194304"), 1, "4194304");
}

static void a_kernel_thread_is_refused(void **state)
{
	struct harness *harness = harness_bpf(state);

	if (access("/proc/2/exe", F_OK) == 0) {
		fprintf(stderr, "SKIPPED, nothing was tested: PID 2 is no kernel thread here\n");
		skip();
	}
	monitor_expect_error(harness, MONITOR(harness, "-p", "2"), 1, "kernel thread");
}

static void a_zombie_is_refused(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "leak");
	siginfo_t info;

	workload_send(workload, "quit");
	assert_int_equal(waitid(P_PID, workload->pid, &info, WEXITED | WNOWAIT), 0);
	monitor_expect_error(harness, MONITOR(harness, "-p", workload->pid_text), 1,
			     workload->pid_text);
}

/* Tries every command that would probe it, stop it or read its heap. */
static void a_32_bit_program_is_named_and_left_alone(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload;
	const char *pid, *words = "runs a 32-bit program";

	if (system("timeout 0.5 build/workloads/narrow > /dev/null 2>&1") == W_EXITCODE(77, 0)) {
		fprintf(stderr,
			"SKIPPED, nothing was tested: this kernel runs no 32-bit program\n");
		skip();
	}
	workload = WORKLOAD(harness, "narrow");
	pid = workload->pid_text;
	monitor_expect_error(harness, MONITOR(harness, "-p", pid), 1, words);
	monitor_expect_error(harness, MONITOR(harness, "threads", "-p", pid), 1, words);
	monitor_expect_error(harness, MONITOR(harness, "retain", "-p", pid), 1, words);
	monitor_expect_error(harness, MONITOR(harness, "retain", "--census", "-p", pid), 1, words);
	assert_int_equal(waitpid(workload->pid, NULL, WNOHANG), 0);
	child_kill(workload);
}

static void a_traced_process_is_left_alone(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "leak");

	assert_int_equal(ptrace(PTRACE_SEIZE, workload->pid, 0, 0), 0);
	monitor_expect_error(harness, MONITOR(harness, "-p", workload->pid_text), 1, "traced");
	assert_int_equal(ptrace(PTRACE_INTERRUPT, workload->pid, 0, 0), 0);
	assert_int_equal(waitpid(workload->pid, NULL, 0), workload->pid);
	assert_int_equal(ptrace(PTRACE_DETACH, workload->pid, 0, 0), 0);
	workload_do(harness, workload, "go");
}

/* Writes a static program of two system calls: `for (;;) pause();`, without any symbol. */
static void program_write(const char *path)
{
	static const unsigned char code[] = {
		0xb8, 34,   0, 0, 0, /* mov $SYS_pause, %eax */
		0x0f, 0x05,	     /* syscall */
		0xeb, 0xf7,	     /* jmp to the start */
	};
	const Elf64_Addr base = 0x400000;
	const size_t headers = sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr);
	const Elf64_Ehdr header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
					       ELFDATA2LSB, EV_CURRENT},
				   .e_type = ET_EXEC,
				   .e_machine = EM_X86_64,
				   .e_version = EV_CURRENT,
				   .e_entry = base + headers,
				   .e_phoff = sizeof(Elf64_Ehdr),
				   .e_ehsize = sizeof(Elf64_Ehdr),
				   .e_phentsize = sizeof(Elf64_Phdr),
				   .e_phnum = 1};
	const Elf64_Phdr segment = {.p_type = PT_LOAD,
				    .p_flags = PF_R | PF_X,
				    .p_vaddr = base,
				    .p_paddr = base,
				    .p_filesz = headers + sizeof(code),
				    .p_memsz = headers + sizeof(code),
				    .p_align = 4096};
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, &header, sizeof(header)), sizeof(header));
	assert_int_equal(write(fd, &segment, sizeof(segment)), sizeof(segment));
	assert_int_equal(write(fd, code, sizeof(code)), sizeof(code));
	assert_int_equal(close(fd), 0);
}

static void a_target_without_an_allocator_is_named_with_its_files(void **state)
{
	struct harness *harness = harness_bpf(state);
	char path[64], comm[64];
	struct child *target;
	int fd;

	snprintf(path, sizeof(path), "%s/bare", harness->directory);
	program_write(path);
	target = child_start(harness, path, ARGUMENTS("bare"), NULL);
	/* Its standard output closes at exec only: wait for the new name. */
	snprintf(comm, sizeof(comm), "/proc/%s/exe", target->pid_text);
	do {
		char link[128] = {0};

		fd = (int)readlink(comm, link, sizeof(link) - 1);
		if (fd > 0 && strcmp(link, path) == 0)
			break;
	} while (kill(target->pid, 0) == 0);
	monitor_expect_error(harness, MONITOR(harness, "-p", target->pid_text), 1, path);
	child_signal(target, SIGTERM);
	assert_int_equal(child_end(harness, target), 128 + SIGTERM);
}

static void a_prefix_that_no_function_has_is_refused(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "leak");

	monitor_expect_error(harness, MONITOR(harness, "-p", workload->pid_text, "-S", "zz_"), 1,
			     "zz_malloc");
	monitor_expect_error(harness,
			     MONITOR(harness, "-p", workload->pid_text, "-O", "/nonexistent.so"), 1,
			     "/nonexistent.so");
}

static void an_output_that_cannot_be_written_is_named(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "leak");

	monitor_expect_error(
		harness,
		MONITOR(harness, "-p", workload->pid_text, "--output", "/nonexistent/report"), 1,
		"/nonexistent/report");
	monitor_expect_error(harness, MONITOR(harness, "-p", workload->pid_text, "--output", "/"),
			     1, "cannot write to /");
}

static void a_full_disk_is_an_error(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "leak");

	monitor_expect_error(
		harness,
		MONITOR(harness, "-p", workload->pid_text, "--output", "/dev/full", "0.05", "3"), 1,
		"No space left on device");
	workload_do(harness, workload, "go");
}

/* Uses a private copy of the null device: the machine's own would be lost for everybody. */
static void a_device_that_reports_go_to_stays_a_device(void **state)
{
	static const char *const formats[] = {"text", "json", "folded", "pprof", "prom", "html"};
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "leak");
	char device[64];

	snprintf(device, sizeof(device), "%s/null", harness->directory);
	assert_int_equal(mknod(device, S_IFCHR | 0666, makedev(1, 3)), 0);
	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++) {
		struct child *monitor = MONITOR(harness, "-p", workload->pid_text, "--format",
						formats[i], "--output", device, "0.05", "2");
		struct stat status;

		assert_int_equal(child_end(harness, monitor), 0);
		assert_int_equal(lstat(device, &status), 0);
		assert_true(S_ISCHR(status.st_mode));
		assert_int_equal(status.st_rdev, makedev(1, 3));
	}
	workload_do(harness, workload, "go");
}

/* A private copy of the link /dev/stdout, for the same reason. */
static void a_report_goes_on_where_standard_output_stands(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "leak"), *monitor;
	char own[64], *line;

	snprintf(own, sizeof(own), "%s/stdout", harness->directory);
	assert_int_equal(symlink("/proc/self/fd/1", own), 0);
	monitor = MONITOR_ATTACHED(harness, "-p", workload->pid_text, "-o", "0", "--format",
				   "folded", "--output", own, "3600");
	workload_do(harness, workload, "go");
	child_signal(monitor, SIGINT);
	line = child_line(harness, monitor, &monitor->out);
	assert_non_null(strstr(line, "leak_"));
	free(line);
	assert_int_equal(child_end(harness, monitor), 0);
}

/* A disk that is full for this directory only. */
static void small_disk(void)
{
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", "/mnt", "tmpfs", 0, "size=4k"))
		_exit(99);
}

static void a_full_disk_below_textfile_dir_is_reported(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "leak");
	struct child *monitor =
		monitor_start(harness,
			      ARGUMENTS("leakmon", "-p", workload->pid_text, "--format", "prom",
					"--textfile-dir", "/mnt", "0.05", "3"),
			      small_disk);

	monitor_expect_error(harness, monitor, 1,
			     "cannot replace /mnt/leakmon.prom: No space left on device (free "
			     "space on its file system");
	workload_do(harness, workload, "go");
}

static void small_files(void)
{
	const struct rlimit limit = {.rlim_cur = 1024, .rlim_max = 1024};

	if (setrlimit(RLIMIT_FSIZE, &limit))
		_exit(99);
}

static void a_limit_on_file_sizes_is_reported(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "leak");
	struct child *monitor =
		monitor_start(harness,
			      ARGUMENTS("leakmon", "-p", workload->pid_text, "--format", "prom",
					"--textfile-dir", harness->directory, "0.05"),
			      small_files);

	monitor_expect_error(harness, monitor, 1, "File too large (files of this process may not");
	workload_do(harness, workload, "go");
}

/* Another user with write access to the directory must not choose the file that root writes. */
static void a_link_below_textfile_dir_is_refused(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "leak");
	char link[64], victim[64];

	snprintf(link, sizeof(link), "%s/leakmon.prom", harness->directory);
	snprintf(victim, sizeof(victim), "%s/victim", harness->directory);
	assert_int_equal(symlink("victim", link), 0);
	monitor_expect_error(harness,
			     MONITOR(harness, "-p", workload->pid_text, "--format", "prom",
				     "--textfile-dir", harness->directory, "0.05"),
			     1, "File exists (only a regular file is replaced here");
	assert_int_equal(access(victim, F_OK), -1);
	workload_do(harness, workload, "go");
}

/* `leakmon … | head -n 1`: an error and not a death by SIGPIPE, since probes must be taken out. */
static void a_closed_pipe_ends_the_monitor(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "leak");
	struct child *monitor =
		MONITOR_ATTACHED(harness, "-p", workload->pid_text, "-o", "0", "3600");

	close(monitor->out.fd);
	monitor->out.fd = -1;
	child_signal(monitor, SIGUSR1);
	assert_int_equal(child_end(harness, monitor), 0);
	workload_do(harness, workload, "go");
}

static void close_stdout(void)
{
	close(STDOUT_FILENO);
}

/* Descriptor 1 must not become a map that the report is then written to. */
static void a_stdout_that_was_never_open_is_an_error(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "leak");
	struct child *monitor = monitor_start(
		harness, ARGUMENTS("leakmon", "-p", workload->pid_text, "0.05"), close_stdout);

	monitor_expect_error(harness, monitor, 1, "cannot write the report: Bad file descriptor");
	workload_do(harness, workload, "go");
}

static void close_standard_files(void)
{
	close(STDIN_FILENO);
	close(STDOUT_FILENO);
	close(STDERR_FILENO);
}

/* Otherwise messages would end up in the file, or in a socket. */
static void a_file_takes_no_number_of_a_standard_one_that_was_never_open(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "leak"), *monitor;
	char path[64];
	json_t *report;

	snprintf(path, sizeof(path), "%s/report.json", harness->directory);
	monitor = monitor_start(harness,
				ARGUMENTS("leakmon", "-v", "-p", workload->pid_text, "--format",
					  "json", "--output", path, "0.05", "1"),
				close_standard_files);
	assert_int_equal(child_end(harness, monitor), 0);
	report = json_load_file(path, 0, NULL);
	assert_non_null(report);
	json_decref(report);
	workload_do(harness, workload, "go");
}

static void drop_capabilities(void)
{
	for (int capability = 0; prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; capability++)
		prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
}

static void become_nobody(void)
{
	if (setgid(65534) || setuid(65534))
		_exit(126);
}

static void a_missing_capability_is_named(void **state)
{
	static const before_exec ways[] = {drop_capabilities, become_nobody};
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "leak");

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		struct child *monitor = monitor_start(
			harness, ARGUMENTS("leakmon", "-p", workload->pid_text), ways[i]);

		monitor_expect_error(harness, monitor, 1, "CAP_BPF");
	}
}

/*
 * An unreadable program makes a process that is not dumpable, as setuid and PR_SET_DUMPABLE do: its
 * own user gets a message, and root sees all of it.
 */
static void a_process_that_is_not_dumpable_is_read_by_root_alone(void **state)
{
	struct harness *harness = harness_bpf(state);
	const char *workloads = getenv("LEAKMON_WORKLOADS");
	struct child *workload;
	char path[64], text[512], *line;
	json_t *report;

	snprintf(path, sizeof(path), "%s/unreadable", harness->directory);
	snprintf(text, sizeof(text), "chmod 755 %s && cp %s/leak %s && chmod 111 %s",
		 harness->directory, workloads ? workloads : "build/workloads", path, path);
	assert_int_equal(system(text), 0);
	workload = child_start(harness, path, ARGUMENTS("unreadable"), become_nobody);
	line = child_line(harness, workload, &workload->out);
	assert_int_equal(strncmp(line, "ready ", 6), 0);
	free(line);
	monitor_expect_error(
		harness,
		monitor_start(harness,
			      ARGUMENTS("leakmon", "retain", "--census", "-p", workload->pid_text),
			      become_nobody),
		1, "not dumpable); run leakmon as root");
	report = WATCH(harness, workload, "go");
	expect_truth(report, workload_ask(harness, workload, "ledger"));
	assert_int_equal(child_end(harness, MONITOR(harness, "retain", "--census", "-p",
						    workload->pid_text)),
			 0);
}

/* Process 1 is one, if leakmon runs beside it in a sandbox. */
static void maps_that_root_may_not_read_are_not_blamed_on_lockdown(void **state)
{
	struct harness *harness = harness_bpf(state);
	FILE *maps = fopen("/proc/1/maps", "re");

	if (maps && fgetc(maps) != EOF) {
		fclose(maps);
		print_message("SKIPPED: root may read the maps of process 1 here\n");
		skip();
	}
	if (maps)
		fclose(maps);
	monitor_expect_error(harness, MONITOR(harness, "-p", "1", "1", "1"), 1,
			     "the process is in another user namespace, or a security module or "
			     "sandbox protects it");
}

static void a_size_that_the_kernel_refuses_is_reported(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "leak");
	struct child *monitor =
		MONITOR(harness, "-p", workload->pid_text, "--max-blocks", "1073741824");

	monitor_expect_error(harness, monitor, 1, "MiB");
	workload_do(harness, workload, "go");
}

#define SMALL_CGROUP "/sys/fs/cgroup/memory/leakmon-test-errors"

static void write_text(const char *path, const char *text)
{
	FILE *file = fopen(path, "we");

	if (!file || fputs(text, file) == EOF || fclose(file))
		_exit(98);
}

static void enter_small_cgroup(void)
{
	write_text(SMALL_CGROUP "/cgroup.procs", "0");
}

/* The kernel kills silently: impossible targets are refused before. */
static void a_memory_cgroup_that_is_too_small_is_named(void **state)
{
	static const char *const sizes[] = {"4194304", "8388608", "29360128"};
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "leak");
	char recording[64];
	const char *const *const commands[] = {
		ARGUMENTS("leakmon", "-p", workload->pid_text, "0.05"),
		ARGUMENTS("leakmon", "threads", "-p", workload->pid_text, "0.05", "1"),
		ARGUMENTS("leakmon", "retain", "-p", workload->pid_text),
		ARGUMENTS("leakmon", "record", "-p", workload->pid_text, "-o", recording, "0.05"),
		ARGUMENTS("leakmon", "doctor"), /* the last: 28 MB are enough for it */
	};

	snprintf(recording, sizeof(recording), "%s/r.lkm", harness->directory);
	if (mkdir(SMALL_CGROUP, 0755)) {
		print_message("SKIPPED: no memory controller of cgroup v1 is mounted\n");
		skip();
	}
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		write_text(SMALL_CGROUP "/memory.limit_in_bytes", sizes[i]);
		for (size_t j = 0; j < sizeof(commands) / sizeof(*commands) - (i == 2); j++)
			monitor_expect_error(
				harness, monitor_start(harness, commands[j], enter_small_cgroup), 1,
				"MB, and the memory cgroup " SMALL_CGROUP);
	}
	assert_int_equal(rmdir(SMALL_CGROUP), 0);
	workload_do(harness, workload, "go");
}

/* An empty directory in place of /sys/kernel/btf, for this process alone. */
static void hide_btf(void)
{
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", "/sys/kernel/btf", "tmpfs", 0, NULL))
		_exit(99);
}

static void a_kernel_without_type_information_is_distinguished(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "leak");
	struct child *monitor = monitor_start(
		harness, ARGUMENTS("leakmon", "-p", workload->pid_text, "1"), hide_btf);

	monitor_expect_error(harness, monitor, 1, "CONFIG_DEBUG_INFO_BTF=y");
	workload_do(harness, workload, "go");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		e2e_test(a_usage_error_exits_with_2_and_names_its_cause),
		e2e_test(help_and_version_go_to_stdout),
		e2e_test(help_of_a_command_is_the_same_both_ways),
		e2e_test(a_pid_that_is_not_there_is_named),
		e2e_test(a_kernel_thread_is_refused),
		e2e_test(a_zombie_is_refused),
		e2e_test(a_traced_process_is_left_alone),
		e2e_test(a_32_bit_program_is_named_and_left_alone),
		e2e_test(a_target_without_an_allocator_is_named_with_its_files),
		e2e_test(a_prefix_that_no_function_has_is_refused),
		e2e_test(an_output_that_cannot_be_written_is_named),
		e2e_test(a_full_disk_is_an_error),
		e2e_test(a_device_that_reports_go_to_stays_a_device),
		e2e_test(a_report_goes_on_where_standard_output_stands),
		e2e_test(a_full_disk_below_textfile_dir_is_reported),
		e2e_test(a_limit_on_file_sizes_is_reported),
		e2e_test(a_link_below_textfile_dir_is_refused),
		e2e_test(a_closed_pipe_ends_the_monitor),
		e2e_test(a_stdout_that_was_never_open_is_an_error),
		e2e_test(a_file_takes_no_number_of_a_standard_one_that_was_never_open),
		e2e_test(a_missing_capability_is_named),
		e2e_test(a_process_that_is_not_dumpable_is_read_by_root_alone),
		e2e_test(maps_that_root_may_not_read_are_not_blamed_on_lockdown),
		e2e_test(a_size_that_the_kernel_refuses_is_reported),
		e2e_test(a_memory_cgroup_that_is_too_small_is_named),
		e2e_test(a_kernel_without_type_information_is_distinguished),
	};

	return cmocka_run_group_tests_name("e2e_errors", tests, NULL, NULL);
}
