// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "process/proc/process_list.h"

#define REST                                                                                       \
	" 0 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 3 0 990011 1000 200 18446744073709551615 0 0 0 0 "   \
	"0\n"

static void a_line_of_the_kernel_is_understood(void **state)
{
	struct process_entry entry;

	(void)state;
	assert_int_equal(process_parse_stat("42 (redis-server) S 7 42" REST, &entry), 0);
	assert_int_equal(entry.pid, 42);
	assert_int_equal(entry.parent, 7);
	assert_int_equal(entry.state, 'S');
	assert_int_equal(entry.threads, 3);
	assert_int_equal(entry.start_ticks, 990011);
	assert_string_equal(entry.comm, "redis-server");
	assert_int_equal(entry.minor_faults, 1);
	assert_false(entry.kernel_thread);
	assert_false(entry.forked);
	assert_int_equal(process_parse_stat("42 (a) S 7 42 0 0 -1 4194368 1 2 3 4 5 6 7 8 20 0 3 0 "
					    "990011 1000 200\n",
					    &entry),
			 0);
	assert_true(entry.forked);
}

static void a_name_may_hold_parentheses_and_newlines(void **state)
{
	struct process_entry entry;

	(void)state;
	assert_int_equal(process_parse_stat("42 (a) S 1 1 (b)\n) R 7 42" REST, &entry), 0);
	assert_string_equal(entry.comm, "a) S 1 1 (b)\n");
	assert_int_equal(entry.parent, 7);
	assert_int_equal(entry.state, 'R');
	assert_int_equal(process_parse_stat("42 () R 7 42" REST, &entry), 0);
	assert_string_equal(entry.comm, "");
}

static void a_kernel_thread_is_marked_and_its_long_name_is_cut(void **state)
{
	struct process_entry entry;

	(void)state;
	assert_int_equal(process_parse_stat("9 (kworker/u8:3-events_unbound) I 2 0 0 0 -1 69238880 "
					    "0 0 0 0 0 0 0 0 20 0 1 0 12 0 0\n",
					    &entry),
			 0);
	assert_true(entry.kernel_thread);
	assert_string_equal(entry.comm, "kworker/u8:3-ev");
}

static void what_no_kernel_writes_is_refused(void **state)
{
	static const char *const lines[] = {
		"",
		"42",
		"42 (a",
		"42 a) S 7",
		")(",
		"42 (a) S",
		"x (a) S 7 42" REST,
		"42 (a) S 7 42 0 0 -1 4194304\n",
	};
	struct process_entry entry = {.pid = -5};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		assert_int_equal(process_parse_stat(lines[i], &entry), -EBADMSG);
	assert_int_equal(entry.pid, -5);
}

static const struct process_entry *find(const struct process_list *processes, pid_t pid)
{
	for (size_t i = 0; i < processes->list.count; i++) {
		if (processes->list.items[i].pid == pid)
			return &processes->list.items[i];
	}
	return NULL;
}

static void a_child_is_listed_with_its_name_until_it_is_gone(void **state)
{
	struct process_list processes = {0};
	const struct process_entry *found;
	int ready[2];
	pid_t child;
	char byte;

	(void)state;
	assert_int_equal(pipe(ready), 0);
	child = fork();
	if (!child) {
		prctl(PR_SET_NAME, "odd) name (x");
		write(ready[1], "", 1);
		pause();
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	assert_int_equal(process_list_read(1 << 22, &processes), 0);
	found = find(&processes, child);
	assert_non_null(found);
	assert_string_equal(found->comm, "odd) name (x");
	assert_int_equal(found->parent, getpid());
	assert_int_equal(found->threads, 1);
	assert_false(found->kernel_thread);
	assert_false(processes.truncated);
	for (size_t i = 1; i < processes.list.count; i++)
		assert_true(processes.list.items[i - 1].pid < processes.list.items[i].pid);
	process_list_free(&processes);

	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	close(ready[0]);
	close(ready[1]);
	assert_int_equal(process_list_read(1 << 22, &processes), 0);
	assert_null(find(&processes, child));
	process_list_free(&processes);
	assert_int_equal(process_read(child, &(struct process_entry){0}), -ESRCH);
}

/* As 64-bit and 32-bit kernels of both processors begin it; the page is this machine's. */
static void a_name_is_read_whole_whatever_it_holds(void **state)
{
	static const char *const names[] = {"\nleak", "sshd\nfifteen by", "", "\n", "plain"};
	char before[16] = "", comm[16];

	(void)state;
	prctl(PR_GET_NAME, before);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		strcpy(comm, "untouched");
		assert_int_equal(prctl(PR_SET_NAME, names[i]), 0);
		process_read_comm(getpid(), 0, comm, sizeof(comm));
		assert_string_equal(comm, names[i]);
	}
	prctl(PR_SET_NAME, before);
}

static void a_32_bit_process_is_detected_by_the_width_of_its_auxiliary_vector(void **state)
{
	const uint32_t page = (uint32_t)getpagesize();
	const uint64_t wide[] = {33,	    0x7ffd3f1c2000, 51,	       0xd30, 16,      0x1f8bfbff,
				 AT_PAGESZ, page,	    AT_CLKTCK, 100,   AT_NULL, 0};
	const uint32_t narrow[] = {32, 0xf7f5a560, 33, 0xf7f5a000, AT_PAGESZ, page, AT_NULL, 0};
	const uint32_t arm[] = {AT_IGNORE, 0, AT_IGNORE, 0, 16, 0x3fb0d6, AT_PAGESZ, page, 0, 0};
	/* Another page size, and an invalid one: unknown. */
	const uint32_t other[] = {AT_PAGESZ, page * 2, AT_NULL, 0, page, AT_PAGESZ};

	(void)state;
	assert_false(process_auxiliary_is_32bit(wide, sizeof(wide)));
	assert_true(process_auxiliary_is_32bit(narrow, sizeof(narrow)));
	assert_true(process_auxiliary_is_32bit(arm, sizeof(arm)));
	assert_false(process_auxiliary_is_32bit(other, sizeof(other)));
	assert_false(process_auxiliary_is_32bit(narrow, 0));
	assert_false(process_is_32bit(getpid()));
}

static void the_limit_is_kept_and_reported(void **state)
{
	struct process_list processes = {0};

	(void)state;
	assert_int_equal(process_list_read(1, &processes), 0);
	assert_int_equal(processes.list.count, 1);
	assert_true(processes.truncated);
	process_list_free(&processes);
}

/* A running parser costs as much as an ended one. */
static void a_child_that_runs_counts_as_own_time(void **state)
{
	double before_s = process_own_cpu_s(), spent_s = 0;
	struct timespec used = {0};
	clockid_t clock;
	pid_t pid = fork();

	(void)state;
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (volatile unsigned i = 0;; i++)
			;
	}
	assert_true(pid > 0);
	assert_int_equal(clock_getcpuclockid(pid, &clock), 0);
	while (spent_s < 0.05) {
		usleep(10000);
		assert_int_equal(clock_gettime(clock, &used), 0);
		spent_s = (double)used.tv_sec + (double)used.tv_nsec / 1e9;
	}
	assert_true(process_own_cpu_s() - before_s >= spent_s);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_true(process_own_cpu_s() - before_s >= spent_s);
}

/* Node from 24 on calls its first thread so. */
static void a_process_with_the_name_of_a_thread_is_called_by_its_program(void **state)
{
	static const char *const names[] = {"MainThread", "node-MainThread"};
	char before[PROCESS_COMM_BYTES] = "", comm[PROCESS_COMM_BYTES];
	struct process_entry entry;

	(void)state;
	assert_int_equal(prctl(PR_GET_NAME, before), 0);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		assert_int_equal(prctl(PR_SET_NAME, names[i]), 0);
		process_read_comm(getpid(), 0, comm, sizeof(comm));
		assert_string_equal(comm, "test_process_li");
		assert_int_equal(process_read(getpid(), &entry), 0);
		assert_string_equal(entry.comm, "test_process_li");
		process_read_comm(getpid(), gettid(), comm, sizeof(comm));
		assert_string_equal(comm, names[i]);
	}
	assert_int_equal(prctl(PR_SET_NAME, before), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_process_with_the_name_of_a_thread_is_called_by_its_program),
		cmocka_unit_test(a_line_of_the_kernel_is_understood),
		cmocka_unit_test(a_name_may_hold_parentheses_and_newlines),
		cmocka_unit_test(a_kernel_thread_is_marked_and_its_long_name_is_cut),
		cmocka_unit_test(what_no_kernel_writes_is_refused),
		cmocka_unit_test(a_child_is_listed_with_its_name_until_it_is_gone),
		cmocka_unit_test(a_name_is_read_whole_whatever_it_holds),
		cmocka_unit_test(a_32_bit_process_is_detected_by_the_width_of_its_auxiliary_vector),
		cmocka_unit_test(the_limit_is_kept_and_reported),
		cmocka_unit_test(a_child_that_runs_counts_as_own_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
