// SPDX-License-Identifier: GPL-2.0-or-later
/* No signal ends leakmon silently: one line, then the signal acts as ever. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fatal_signal.h"

#define LOG_SOCKET "/tmp/leakmon-test-log.socket"

struct ending {
	int status;
	char line[1024]; /* all that was written to standard error */
};

static void open_in_child(int stderr_fd)
{
	struct rlimit no_core = {0};

	setrlimit(RLIMIT_CORE, &no_core);
	unsetenv("JOURNAL_STREAM");
	dup2(stderr_fd, STDERR_FILENO);
	fatal_signal_open("triage", LOG_SOCKET);
}

/* The end of a child that runs this. */
static struct ending end_of(void (*run)(void))
{
	struct ending ending = {0};
	int ends[2];
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (!pid) {
		open_in_child(ends[1]);
		run();
		_exit(0);
	}
	close(ends[1]);
	assert_int_equal(waitpid(pid, &ending.status, 0), pid);
	assert_true(read(ends[0], ending.line, sizeof(ending.line) - 1) >= 0);
	close(ends[0]);
	return ending;
}

static void read_a_forbidden_page(void)
{
	char *page = mmap((void *)0x7ead0000, 4096, PROT_NONE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	FATAL_SIGNAL_PHASE("it reads the ledger");

	_exit(*(volatile char *)page);
}

static void a_crash_names_signal_address_build_command_and_phase(void **state)
{
	struct ending ending = end_of(read_a_forbidden_page);

	(void)state;
	assert_true(WIFSIGNALED(ending.status));
	assert_int_equal(WTERMSIG(ending.status), SIGSEGV);
	assert_non_null(strstr(ending.line,
			       "leakmon: crashed by SIGSEGV at address 0x7ead0000 in "
			       "`leakmon triage` while it reads the ledger; version "));
	assert_non_null(strstr(ending.line, "build id "));
	assert_null(strstr(ending.line, "build id unknown"));
	assert_ptr_equal(strchr(ending.line, '\n'), ending.line + strlen(ending.line) - 1);
}

static volatile int stack_ends;

static int use_the_whole_stack(volatile char *above)
{
	volatile char frame[4096];

	if (stack_ends)
		return 0;
	frame[0] = *above;
	return use_the_whole_stack(frame) + frame[0];
}

static void overflow_the_stack(void)
{
	volatile char zero = 0;
	struct rlimit small = {1 << 20, 1 << 20};

	setrlimit(RLIMIT_STACK, &small);
	_exit(use_the_whole_stack(&zero));
}

static void a_stack_overflow_leaves_a_line_as_well(void **state)
{
	struct ending ending = end_of(overflow_the_stack);

	(void)state;
	assert_true(WIFSIGNALED(ending.status));
	assert_int_equal(WTERMSIG(ending.status), SIGSEGV);
	assert_non_null(strstr(ending.line, "leakmon: crashed by SIGSEGV at address 0x"));
}

static void send_itself_a_stray_signal(void)
{
	kill(getpid(), SIGUSR1);
}

static void a_stray_signal_names_its_sender(void **state)
{
	struct ending ending = end_of(send_itself_a_stray_signal);

	(void)state;
	assert_true(WIFSIGNALED(ending.status));
	assert_int_equal(WTERMSIG(ending.status), SIGUSR1);
	assert_non_null(strstr(ending.line, "leakmon: ended by SIGUSR1 from process "));
}

static void abort_it(void)
{
	abort();
}

static void an_abort_stays_an_abort(void **state)
{
	struct ending ending = end_of(abort_it);

	(void)state;
	assert_true(WIFSIGNALED(ending.status));
	assert_int_equal(WTERMSIG(ending.status), SIGABRT);
	assert_non_null(strstr(ending.line, "leakmon: crashed by SIGABRT"));
}

static void fill_the_pipe_and_abort(void)
{
	static const char filling[4096];

	fcntl(STDERR_FILENO, F_SETFL, O_NONBLOCK);
	while (write(STDERR_FILENO, filling, sizeof(filling)) > 0)
		;
	fcntl(STDERR_FILENO, F_SETFL, 0);
	abort();
}

static void a_pipe_without_a_reader_is_no_reason_to_hang(void **state)
{
	struct ending ending = end_of(fill_the_pipe_and_abort);

	(void)state;
	assert_true(WIFSIGNALED(ending.status));
	assert_int_equal(WTERMSIG(ending.status), SIGABRT);
}

static void the_system_log_gets_the_line(void **state)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = LOG_SOCKET};
	int log = socket(AF_UNIX, SOCK_DGRAM, 0);
	struct ending ending;
	char record[1024] = "";

	(void)state;
	unlink(LOG_SOCKET);
	assert_int_equal(bind(log, (struct sockaddr *)&address, sizeof(address)), 0);
	ending = end_of(abort_it);
	assert_true(recv(log, record, sizeof(record) - 1, MSG_DONTWAIT) > 0);
	assert_string_equal(record + strlen("<10>"), ending.line);
	close(log);
	unlink(LOG_SOCKET);
}

static void name_call_stacks(void)
{
	FATAL_SIGNAL_PHASE("it names call stacks");
}

static void phases_nest(void **state)
{
	(void)state;
	{
		FATAL_SIGNAL_PHASE("it writes a report");
		name_call_stacks();
		assert_string_equal(fatal_signal_phase("x"), "it writes a report");
	}
	assert_null(fatal_signal_phase(NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_crash_names_signal_address_build_command_and_phase),
		cmocka_unit_test(a_stack_overflow_leaves_a_line_as_well),
		cmocka_unit_test(a_stray_signal_names_its_sender),
		cmocka_unit_test(an_abort_stays_an_abort),
		cmocka_unit_test(a_pipe_without_a_reader_is_no_reason_to_hang),
		cmocka_unit_test(the_system_log_gets_the_line),
		cmocka_unit_test(phases_nest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
