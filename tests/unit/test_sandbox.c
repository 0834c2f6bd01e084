// SPDX-License-Identifier: GPL-2.0-or-later
/* Remaining rights of a process in the sandbox, tried in children of this test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/sandbox/sandbox.h"

enum { CHILD_SOCKET = 3, CHILD_FILE = 4, ALLOWED = 0, NO_SANDBOX = 100 };

/* Each returns 0 if it was possible, else errno. */
static int do_open(void)
{
	return open("/dev/null", O_RDONLY) < 0 ? errno : 0;
}

static int do_stat(void)
{
	struct stat status;

	return stat("/", &status) ? errno : 0;
}

static int do_socket(void)
{
	return socket(AF_INET, SOCK_STREAM, 0) < 0 ? errno : 0;
}

static int do_fork(void)
{
	return syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) < 0 ? errno : 0;
}

static int do_exec(void)
{
	char *const arguments[] = {NULL};

	execv("/bin/true", arguments);
	return errno;
}

static int do_kill(void)
{
	return kill(getppid(), 0) ? errno : 0;
}

static int do_ptrace(void)
{
	return syscall(SYS_ptrace, 16, getppid(), 0, 0) ? errno : 0;
}

static int do_write_to_a_file(void)
{
	return write(CHILD_FILE, "x", 1) < 0 ? errno : 0;
}

static int do_map_a_file(void)
{
	return mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, CHILD_FILE, 0) == MAP_FAILED ? errno : 0;
}

static int do_map_code(void)
{
	return mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
			       MAP_FAILED
		       ? errno
		       : 0;
}

static int do_raise_memory(void)
{
	struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};

	return setrlimit(RLIMIT_AS, &limit) ? errno : 0;
}

static int do_work(void)
{
	struct stat status;
	char byte;
	void *memory = malloc(1 << 20);

	if (!memory || pread(CHILD_FILE, &byte, 1, 0) != 1 || fstat(CHILD_FILE, &status) ||
	    send(CHILD_SOCKET, &byte, 1, 0) != 1)
		return errno;
	free(memory);
	sandbox_limit_cpu(1);
	return 0;
}

/* Waits for the CPU limit, which ends it. */
static int do_spin(void)
{
	sandbox_limit_cpu(0);
	for (volatile uint64_t i = 0;; i++)
		;
	return 0;
}

static int do_read_names(void)
{
	return open("/etc/hosts", O_RDONLY) < 0 ? errno : 0;
}

static int do_write_below_etc(void)
{
	return open("/etc/hosts", O_WRONLY) < 0 ? errno : 0;
}

static int do_make_a_file(void)
{
	return open("/tmp/leakmon-made", O_RDONLY | O_CREAT, 0600) < 0 ? errno : 0;
}

static int do_read_elsewhere(void)
{
	return open("/proc/self/status", O_RDONLY) < 0 ? errno : 0;
}

static int do_local_socket(void)
{
	return socket(AF_UNIX, SOCK_STREAM, 0) < 0 ? errno : 0;
}

static int enter_parser(void)
{
	return sandbox_enter(CHILD_SOCKET, 1ull << 30);
}

static int enter_pusher(void)
{
	return sandbox_enter_pusher(1ull << 30);
}

/* The exit code, or the signal that ended it, plus 128. */
static int try_in(int (*enter)(void), int (*action)(void))
{
	int ends[2], file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), status;
	pid_t pid;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
	pid = fork();
	if (pid == 0) {
		/* Out of the way first; the other end stays open, or sending would fail. */
		dup2(ends[0], 20);
		dup2(ends[1], 21);
		dup2(file, 22);
		dup2(21, CHILD_SOCKET);
		dup2(22, CHILD_FILE);
		if (enter())
			_exit(NO_SANDBOX);
		_exit(action());
	}
	close(ends[0]);
	close(ends[1]);
	close(file);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int try_in_sandbox(int (*action)(void))
{
	return try_in(enter_parser, action);
}

/* With the sanitizer's needs, a deadly call is refused instead. */
static const int deadly = SANDBOX_SANITIZED ? EPERM : 128 + SIGSYS;

static void nothing_but_parsing_is_possible(void **state)
{
	const struct {
		const char *name;
		int (*action)(void);
		int result;
	} cases[] = {
		{"open", do_open, EACCES},
		{"stat", do_stat, EACCES},
		{"socket", do_socket, deadly},
		{"fork", do_fork, deadly},
		{"exec", do_exec, deadly},
		{"kill", do_kill, deadly},
		{"ptrace", do_ptrace, deadly},
		{"write", do_write_to_a_file, deadly},
		{"map a file", do_map_a_file, deadly},
		{"map code", do_map_code, deadly},
		{"raise the memory limit", do_raise_memory, deadly},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int result = try_in_sandbox(cases[i].action);

		if (result != cases[i].result)
			fail_msg("%s: %d, expected %d", cases[i].name, result, cases[i].result);
	}
}

/*
 * Landlock denies known accesses with EACCES; a kernel without it permits reading of world-readable
 * files.
 */
static void the_pusher_connects_and_reads_names_and_nothing_else(void **state)
{
	static const struct landlock_ruleset_attr *const none;
	bool landlocked =
		syscall(SYS_landlock_create_ruleset, none, 0, LANDLOCK_CREATE_RULESET_VERSION) > 0;
	const struct {
		const char *name;
		int (*action)(void);
		int result;
	} cases[] = {
		{"read names", do_read_names, ALLOWED},
		{"connect", do_socket, ALLOWED},
		{"write", do_write_below_etc, EPERM},
		{"make a file", do_make_a_file, EPERM},
		{"read elsewhere", do_read_elsewhere, landlocked ? EACCES : ALLOWED},
		{"local socket", do_local_socket, EPERM},
		{"fork", do_fork, EPERM},
		{"exec", do_exec, EPERM},
		{"kill", do_kill, EPERM},
		{"ptrace", do_ptrace, EPERM},
		{"map code", do_map_code, EPERM},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int result = try_in(enter_pusher, cases[i].action);

		if (result != cases[i].result)
			fail_msg("%s: %d, expected %d", cases[i].name, result, cases[i].result);
	}
}

static void what_parsing_needs_is_possible(void **state)
{
	(void)state;
	assert_int_equal(try_in_sandbox(do_work), ALLOWED);
}

static void computing_without_end_is_ended(void **state)
{
	(void)state;
	assert_int_equal(try_in_sandbox(do_spin), 128 + SIGXCPU);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_but_parsing_is_possible),
		cmocka_unit_test(the_pusher_connects_and_reads_names_and_nothing_else),
		cmocka_unit_test(what_parsing_needs_is_possible),
		cmocka_unit_test(computing_without_end_is_ended),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
