// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A read that never ends ends the process, with a message; long work that consists of reads does
 * not. Of a monitor it ends a process aside, and that target's memory is left alone for minutes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/interrupt.h"
#include "base/cleanup.h"
#include "process/proc/fork_sharing.h"
#include "process/proc/process_memory.h"
#include "process/proc/stuck_read.h"

#define NOT_ENDED 7
#define LIMIT_S 1
#define READS_US 2500000
#define TASK 4711

/* Minutes pass at once. */
static time_t later_s;

int clock_gettime(clockid_t clock, struct timespec *time)
{
	int result = (int)syscall(SYS_clock_gettime, clock, time);

	time->tv_sec += later_s;
	return result;
}

struct outcome {
	int code;
	char message[512];
};

/* Returns the outcome of a child that runs the function with a limit of a second. */
static struct outcome outcome(void (*run)(const void *), const void *argument)
{
	struct outcome outcome = {0};
	int ends[2], status;
	size_t used = 0;
	ssize_t got;
	pid_t pid;

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	pid = fork();
	if (!pid) {
		dup2(ends[1], STDERR_FILENO);
		stuck_read_limit(LIMIT_S);
		run(argument);
		exit(NOT_ENDED);
	}
	close(ends[1]);
	/* It is written in pieces. */
	while ((got = read(ends[0], outcome.message + used, sizeof(outcome.message) - 1 - used)) >
	       0)
		used += (size_t)got;
	assert_int_equal(got, 0);
	close(ends[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	outcome.code = WEXITSTATUS(status);
	return outcome;
}

/* Reads a pipe without a writer. */
static long read_for_ever(pid_t task)
{
	int ends[2];
	char byte;
	const long arguments[6] = {pipe(ends) ? -1 : ends[0], (long)&byte, 1};

	return stuck_read_call(task, SYS_read, arguments);
}

static long read_shortly(pid_t task, unsigned int microseconds)
{
	const struct timespec time = {.tv_nsec = (long)microseconds * 1000};
	const long arguments[6] = {(long)&time};

	return stuck_read_call(task, SYS_nanosleep, arguments);
}

static void get_stuck(const void *unused)
{
	(void)unused;
	read_for_ever(TASK);
}

static void a_read_that_never_ends_ends_the_process_and_names_the_other(void **state)
{
	struct outcome ended = outcome(get_stuck, NULL);

	(void)state;
	assert_int_equal(ended.code, 1);
	assert_non_null(strstr(ended.message, "process 4711: reading its memory has taken 1 s"));
}

static void *get_stuck_in_thread(void *unused)
{
	get_stuck(unused);
	return NULL;
}

/* Other reads begin and end meanwhile, elsewhere. */
static void get_stuck_beside_reads(const void *unused)
{
	pthread_t thread;

	(void)unused;
	pthread_create(&thread, NULL, get_stuck_in_thread, NULL);
	for (;;)
		read_shortly(1, 1000);
}

static void reads_of_other_threads_hide_nothing(void **state)
{
	struct outcome ended = outcome(get_stuck_beside_reads, NULL);

	(void)state;
	assert_int_equal(ended.code, 1);
	assert_non_null(strstr(ended.message, "process 4711"));
}

static void read_often(const void *unused)
{
	(void)unused;
	for (int i = 0; i < READS_US / 10000; i++)
		read_shortly(TASK, 10000);
}

/* The watcher sleeps before the last read. */
static void read_rarely_and_get_stuck(const void *unused)
{
	for (int i = 0; i < 2; i++)
		read_shortly(1, 1000);
	usleep(READS_US);
	get_stuck(unused);
}

static void many_short_reads_end_nothing(void **state)
{
	(void)state;
	assert_int_equal(outcome(read_often, NULL).code, NOT_ENDED);
}

static void a_read_after_a_long_rest_is_watched(void **state)
{
	(void)state;
	assert_int_equal(outcome(read_rarely_and_get_stuck, NULL).code, 1);
}

static void get_stuck_with_a_file(const void *path)
{
	interrupt_removes(path);
	get_stuck(NULL);
}

static void no_file_is_left_behind(void **state)
{
	char path[] = "/tmp/leakmon-test-XXXXXX";
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(outcome(get_stuck_with_a_file, path).code, 1);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(errno, ENOENT);
}

/*
 * Readers here are children of the process that they read, and would read it without pins: such a
 * read fails at once at a missing page. A target without relatives is read with pins.
 */
bool fork_may_share(pid_t task)
{
	(void)task;
	return false;
}

/* A page registered with a userfaultfd(2) that is never read. */
struct silent_page {
	int fd;
	void *page;
};

static struct silent_page silent_page_make(void)
{
	struct uffdio_api api = {.api = UFFD_API};
	struct silent_page silent = {
		.fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC),
		.page = mmap(NULL, MEMORY_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			     -1, 0),
	};
	struct uffdio_register registered = {.range = {(uintptr_t)silent.page, MEMORY_PAGE},
					     .mode = UFFDIO_REGISTER_MODE_MISSING};

	assert_ptr_not_equal(silent.page, MAP_FAILED);
	if (silent.fd < 0 && errno == EPERM) {
		fprintf(stderr, "SKIPPED, nothing was tested: no userfaultfd(2) without root\n");
		skip();
	}
	assert_int_equal(ioctl(silent.fd, UFFDIO_API, &api), 0);
	assert_int_equal(ioctl(silent.fd, UFFDIO_REGISTER, &registered), 0);
	return silent;
}

static void silent_page_free(const struct silent_page *silent)
{
	close(silent->fd);
	munmap(silent->page, MEMORY_PAGE);
}

struct scene {
	pid_t pid;
	uint64_t address;
};

static void read_silent_page(const void *argument)
{
	const struct scene *scene = argument;
	char byte;

	memory_read_present(live_memory(scene->pid), scene->address, &byte, 1);
}

/* As if the page had vanished after it was found present. */
static void a_page_that_nobody_serves_is_such_a_read(void **state)
{
	const struct silent_page silent = silent_page_make();
	const struct scene scene = {getpid(), (uintptr_t)silent.page};

	(void)state;
	assert_int_equal(outcome(read_silent_page, &scene).code, 1);
	silent_page_free(&silent);
}

static void expect(bool held, const char *fact)
{
	if (held)
		return;
	fprintf(stderr, "not so: %s\n", fact);
	_exit(2);
}

/* Exits with 7 if the monitor continues, as it should. */
static void monitor_silent_page(const void *argument)
{
	const struct scene *scene = argument;
	struct memory_source other = live_memory(getpid());
	int pagemap = pagemap_open(live_memory(scene->pid));
	char byte = 0, sound = 'x';
	uint64_t entry;

	stuck_read_aside();
	expect(memory_read_present(live_memory(scene->pid), scene->address, &byte, 1) == -EIO,
	       "the read ends");
	expect(memory_read_present(live_memory(scene->pid), (uintptr_t)scene, &byte, 1) == -EIO,
	       "no other page is read");
	expect(pagemap_pread(scene->pid, pagemap, 0, &entry, 1) == 1,
	       "nothing keeps others from the kernel's account of it");
	expect(memory_read_present(other, (uintptr_t)&sound, &byte, 1) == 1 && byte == 'x',
	       "other processes are read");
	later_s = 9 * 60;
	expect(memory_read_present(live_memory(scene->pid), (uintptr_t)scene, &byte, 1) == -EIO,
	       "nine minutes later it is not read either");
	later_s = 11 * 60;
	expect(memory_read_present(live_memory(scene->pid), (uintptr_t)scene, &byte, 1) == 1,
	       "eleven minutes later it is read again");
}

static void a_monitor_goes_on_without_that_target(void **state)
{
	const struct silent_page silent = silent_page_make();
	const struct scene scene = {getpid(), (uintptr_t)silent.page};
	struct outcome ended = outcome(monitor_silent_page, &scene);
	char message[64];

	(void)state;
	snprintf(message, sizeof(message), "process %d: reading its memory has taken 1 s",
		 (int)getpid());
	assert_non_null(strstr(ended.message, message));
	assert_non_null(strstr(ended.message, "not read for 10 minutes"));
	assert_int_equal(ended.code, NOT_ENDED);
	silent_page_free(&silent);
}

static void read_aside(const void *unused)
{
	const long arguments[6] = {-1, 0, 0};

	(void)unused;
	stuck_read_aside();
	expect(stuck_read_call(TASK, SYS_read, arguments) == -EBADF, "errors are told");
	read_often(NULL);
}

static void calls_aside_return_what_they_would(void **state)
{
	struct outcome ended = outcome(read_aside, NULL);

	(void)state;
	assert_string_equal(ended.message, "");
	assert_int_equal(ended.code, NOT_ENDED);
}

static void *read_in_thread(void *unused)
{
	stuck_read_aside();
	read_shortly(TASK, 1);
	return unused;
}

/* Its process ends with it, and the next reader has another one. */
static void read_in_threads_that_end(const void *unused)
{
	(void)unused;
	for (int i = 0; i < 5; i++) {
		pthread_t thread;

		pthread_create(&thread, NULL, read_in_thread, NULL);
		pthread_join(thread, NULL);
		expect(!read_shortly(TASK, 1), "another process takes its place");
	}
}

static void a_reader_that_ends_takes_nothing_from_others(void **state)
{
	struct outcome ended = outcome(read_in_threads_that_end, NULL);

	(void)state;
	assert_string_equal(ended.message, "");
	assert_int_equal(ended.code, NOT_ENDED);
}

/* The writing end of a pipe is open as long as anyone has the monitor's descriptors. */
static void no_process_aside_outlives_its_monitor(void **state)
{
	static const int ways[] = {0, SIGKILL};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		int ends[2], status;
		char byte;
		pid_t pid;

		assert_int_equal(pipe(ends), 0);
		pid = fork();
		if (!pid) {
			stuck_read_aside();
			read_shortly(TASK, 1);
			if (ways[i])
				raise(ways[i]);
			exit(0);
		}
		close(ends[1]);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(WIFSIGNALED(status) ? WTERMSIG(status) : 0, ways[i]);
		assert_int_equal(read(ends[0], &byte, 1), 0);
		close(ends[0]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_read_that_never_ends_ends_the_process_and_names_the_other),
		cmocka_unit_test(reads_of_other_threads_hide_nothing),
		cmocka_unit_test(many_short_reads_end_nothing),
		cmocka_unit_test(a_read_after_a_long_rest_is_watched),
		cmocka_unit_test(no_file_is_left_behind),
		cmocka_unit_test(a_page_that_nobody_serves_is_such_a_read),
		cmocka_unit_test(a_monitor_goes_on_without_that_target),
		cmocka_unit_test(calls_aside_return_what_they_would),
		cmocka_unit_test(a_reader_that_ends_takes_nothing_from_others),
		cmocka_unit_test(no_process_aside_outlives_its_monitor),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
