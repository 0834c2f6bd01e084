// SPDX-License-Identifier: GPL-2.0-or-later
/* A read that never ends ends the process, with a message; long work that consists of reads does
 * not. */
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
#include <unistd.h>

#include "base/interrupt.h"
#include "proc/process_memory.h"
#include "proc/stuck_read.h"

#define NOT_ENDED 7
#define LIMIT_S 1
#define READS_US 2500000

struct outcome {
	int code;
	char message[512];
};

/* Of a child that runs this; its limit is a second. */
static struct outcome outcome(void (*run)(const void *), const void *argument)
{
	struct outcome outcome = {0};
	int ends[2], status;
	size_t used = 0;
	ssize_t got;
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (!pid) {
		dup2(ends[1], STDERR_FILENO);
		stuck_read_limit(LIMIT_S);
		run(argument);
		_exit(NOT_ENDED);
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

static void read_for_ever(const void *task)
{
	STUCK_READ(*(const pid_t *)task);

	for (;;)
		pause();
}

static void a_read_that_never_ends_ends_the_process_and_names_the_other(void **state)
{
	const pid_t task = 4711;
	struct outcome ended = outcome(read_for_ever, &task);

	(void)state;
	assert_int_equal(ended.code, 1);
	assert_non_null(strstr(ended.message, "memory of process 4711 has not ended for 1 s"));
}

static void *read_for_ever_in_thread(void *task)
{
	read_for_ever(task);
	return NULL;
}

/* Others begin and end meanwhile, in other places. */
static void read_beside_it(const void *task)
{
	pthread_t thread;

	pthread_create(&thread, NULL, read_for_ever_in_thread, (void *)task);
	for (;;) {
		STUCK_READ(1);

		usleep(1000);
	}
}

static void reads_of_other_threads_hide_nothing(void **state)
{
	const pid_t task = 4711;
	struct outcome ended = outcome(read_beside_it, &task);

	(void)state;
	assert_int_equal(ended.code, 1);
	assert_non_null(strstr(ended.message, "process 4711"));
}

static void read_often(const void *unused)
{
	(void)unused;
	for (int i = 0; i < READS_US / 10000; i++) {
		STUCK_READ(4711);

		usleep(10000);
	}
}

/* The watcher sleeps before the last one. */
static void read_rarely_and_get_stuck(const void *task)
{
	for (int i = 0; i < 2; i++) {
		STUCK_READ(1);

		usleep(1000);
	}
	usleep(READS_US);
	read_for_ever(task);
}

static void many_short_reads_end_nothing(void **state)
{
	(void)state;
	assert_int_equal(outcome(read_often, NULL).code, NOT_ENDED);
}

static void a_read_after_a_long_rest_is_watched(void **state)
{
	const pid_t task = 4711;

	(void)state;
	assert_int_equal(outcome(read_rarely_and_get_stuck, &task).code, 1);
}

static void get_stuck_with_a_file(const void *path)
{
	const pid_t task = 4711;

	interrupt_removes(path);
	read_for_ever(&task);
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

/* As if the page had vanished after it was found to be there. */
static void a_page_that_nobody_serves_is_such_a_read(void **state)
{
	struct uffdio_api api = {.api = UFFD_API};
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	void *page =
		mmap(NULL, MEMORY_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct uffdio_register registered = {.range = {(uintptr_t)page, MEMORY_PAGE},
					     .mode = UFFDIO_REGISTER_MODE_MISSING};
	const struct scene scene = {getpid(), (uintptr_t)page};

	(void)state;
	assert_ptr_not_equal(page, MAP_FAILED);
	if (fd < 0 && errno == EPERM) {
		fprintf(stderr, "SKIPPED, nothing was tested: no userfaultfd(2) without root\n");
		skip();
	}
	assert_int_equal(ioctl(fd, UFFDIO_API, &api), 0);
	assert_int_equal(ioctl(fd, UFFDIO_REGISTER, &registered), 0);
	assert_int_equal(outcome(read_silent_page, &scene).code, 1);
	close(fd);
	munmap(page, MEMORY_PAGE);
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
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
