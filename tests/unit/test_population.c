// SPDX-License-Identifier: GPL-2.0-or-later
/* Real processes: children that follow commands, one letter at a time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "app/triage/population.h"
#include "base/cleanup.h"

#define MIB (1024 * 1024)
#define KIB 1024.0

struct child {
	pid_t pid;
	int to, from;
};

static void *mapped(size_t size)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		_exit(2);
	return at;
}

static void obey(char letter)
{
	if (letter == 'm')
		memset(mapped(8 * MIB), 1, 8 * MIB);
	for (int i = 0; letter == 'f' && i < 5; i++)
		dup(STDIN_FILENO);
	for (int i = 0; letter == 'a' && i < 10; i++) /* rights differ: each stays a mapping */
		mprotect(mapped(8192), 4096, PROT_READ);
	if (letter == 'n')
		prctl(PR_SET_NAME, "new\nname)", 0, 0, 0);
	if (letter == 'x')
		execl("/bin/cat", "cat", NULL);
}

/* A grandchild: our own children are not judged. */
static pid_t serve(int in, int out)
{
	pid_t pid = fork();
	char letter;

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	dup2(in, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	while (read(STDIN_FILENO, &letter, 1) == 1) {
		obey(letter);
		if (write(STDOUT_FILENO, &letter, 1) != 1)
			break;
	}
	_exit(0);
}

static struct child child_start(void)
{
	struct child child;
	int to[2], from[2];
	pid_t parent;

	assert_int_equal(pipe(to), 0);
	assert_int_equal(pipe(from), 0);
	parent = fork();
	if (!parent) {
		pid_t pid;

		close(to[1]);
		pid = serve(to[0], from[1]);
		if (write(from[1], &pid, sizeof(pid)) != sizeof(pid))
			_exit(1);
		waitpid(pid, NULL, 0);
		_exit(0);
	}
	close(to[0]);
	close(from[1]);
	child = (struct child){.to = to[1], .from = from[0]};
	assert_int_equal(read(child.from, &child.pid, sizeof(child.pid)), sizeof(child.pid));
	return child;
}

static void child_do(const struct child *child, char letter)
{
	char answer;

	assert_int_equal(write(child->to, &letter, 1), 1);
	assert_int_equal(read(child->from, &answer, 1), 1);
}

static void child_end(const struct child *child)
{
	close(child->to);
	close(child->from);
	assert_true(wait(NULL) > 0);
}

static const struct reading_effort all = {.files = true, .mappings = true, .admission_s = 60};

static const struct quantities *polled(struct population *population, const struct child *child,
				       double now_s)
{
	const struct member *member;

	assert_int_equal(population_poll(population, now_s, &all), 0);
	member = population_find(population, child->pid);
	assert_non_null(member);
	return &member->reading.quantities;
}

/* The lines of maps. */
static double lines_of_maps(pid_t pid)
{
	char path[64];
	double lines = 0;
	FILE *file;
	int c;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	file = fopen(path, "r");
	assert_non_null(file);
	while ((c = fgetc(file)) != EOF)
		lines += c == '\n';
	fclose(file);
	return lines;
}

static void readings_follow_the_process(void **state)
{
	struct population population;
	struct child child = child_start();
	struct quantities before, after;

	(void)state;
	population_init(&population);
	child_do(&child, '.');
	before = *polled(&population, &child, 0);
	assert_float_equal(before.values[QUANTITY_THREADS], 1, 0);
	assert_float_equal(before.values[QUANTITY_MAPPING], lines_of_maps(child.pid), 0);
	child_do(&child, 'm');
	child_do(&child, 'f');
	child_do(&child, 'a');
	after = *polled(&population, &child, 1);
	/* The kernel may lag by 32 pages per CPU. */
	assert_float_equal(after.values[QUANTITY_HEAP] - before.values[QUANTITY_HEAP], 8 * MIB,
			   1024 * KIB);
	assert_float_equal(after.values[QUANTITY_FILES], before.values[QUANTITY_FILES] + 5, 0);
	assert_float_equal(after.values[QUANTITY_MAPPING], lines_of_maps(child.pid), 0);
	assert_true(after.values[QUANTITY_MAPPING] >= before.values[QUANTITY_MAPPING] + 10);
	child_end(&child);
	population_free(&population);
}

static void ended_processes_are_forgotten(void **state)
{
	struct population population;
	struct child child = child_start();
	size_t descriptors;

	(void)state;
	population_init(&population);
	polled(&population, &child, 0);
	descriptors = population.descriptors;
	assert_true(descriptors > 0);
	child_end(&child);
	assert_int_equal(population_poll(&population, 1, &all), 0);
	assert_null(population_find(&population, child.pid));
	population_free(&population);
	assert_int_equal(population.descriptors, 0);
}

/* Nothing to remember from the program before. */
static void a_new_program_begins_a_new_past(void **state)
{
	struct population population;
	struct child child = child_start();
	_cleanup_free_ char *cat = realpath("/bin/cat", NULL); /* it may be a link to another one */
	struct member *member;

	(void)state;
	assert_non_null(cat);
	population_init(&population);
	for (int i = 0; i < 5; i++)
		polled(&population, &child, i);
	member = population_find(&population, child.pid);
	assert_int_equal(member->series.levels[0].count, 5);
	child_do(&child, 'n');
	polled(&population, &child, 5);
	assert_int_equal(member->series.levels[0].count, 6); /* a new name alone starts none */
	assert_int_equal(write(child.to, "x.", 2), 2);
	for (int i = 0; i < 3; i++) { /* cat echoes the dot once it runs */
		char answer = 0;

		if (read(child.from, &answer, 1) == 1 && answer == '.')
			break;
	}
	polled(&population, &child, 6);
	assert_int_equal(member->series.levels[0].count, 1);
	assert_string_equal(member->exe, cat);
	assert_string_equal(member->reading.comm, "cat");
	child_end(&child);
	population_free(&population);
}

/* Without descriptors to keep the readings are the same. */
static void it_works_without_descriptors_of_its_own(void **state)
{
	struct population population;
	struct child child = child_start();
	struct quantities before;

	(void)state;
	population_init(&population);
	population.max_descriptors = 0;
	child_do(&child, '.');
	before = *polled(&population, &child, 0);
	child_do(&child, 'm');
	assert_float_equal(polled(&population, &child, 1)->values[QUANTITY_HEAP] -
				   before.values[QUANTITY_HEAP],
			   8 * MIB, 1024 * KIB);
	assert_int_equal(population.descriptors, 0);
	child_end(&child);
	assert_int_equal(population_poll(&population, 2, &all), 0);
	assert_null(population_find(&population, child.pid));
	population_free(&population);
}

static void what_is_shed_keeps_its_last_value(void **state)
{
	static const struct reading_effort little = {.keep_descriptor = true, .admission_s = 60};
	struct population population;
	struct child child = child_start();
	struct quantities before, after;

	(void)state;
	population_init(&population);
	before = *polled(&population, &child, 0);
	child_do(&child, 'f');
	child_do(&child, 'a');
	assert_int_equal(population_poll(&population, 1, &little), 0);
	after = population_find(&population, child.pid)->reading.quantities;
	assert_float_equal(after.values[QUANTITY_FILES], before.values[QUANTITY_FILES], 0);
	assert_float_equal(after.values[QUANTITY_MAPPING], before.values[QUANTITY_MAPPING], 0);
	child_end(&child);
	population_free(&population);
}

static void new_processes_wait_when_there_is_no_time(void **state)
{
	struct reading_effort none = {.files = true, .mappings = true};
	struct population population;
	struct child child = child_start();

	(void)state;
	population_init(&population);
	assert_int_equal(population_poll(&population, 0, &none), 0);
	assert_int_equal(population.members.count, 0);
	assert_true(population.waiting > 1);
	polled(&population, &child, 1);
	assert_int_equal(population.waiting, 0);
	/* Known processes are still read. */
	assert_int_equal(population_poll(&population, 2, &none), 0);
	assert_int_equal(population_find(&population, child.pid)->series.levels[0].count, 2);
	child_end(&child);
	population_free(&population);
}

static void we_and_our_children_are_left_out(void **state)
{
	struct population population;
	pid_t pid = fork();

	(void)state;
	if (!pid) {
		pause();
		_exit(0);
	}
	population_init(&population);
	assert_int_equal(population_poll(&population, 0, &all), 0);
	assert_null(population_find(&population, getpid()));
	assert_null(population_find(&population, pid));
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	population_free(&population);
}

static void a_kernel_thread_has_no_memory(void **state)
{
	struct population population;
	const struct member *member;

	(void)state;
	population_init(&population);
	assert_int_equal(population_poll(&population, 0, &all), 0);
	member = population_find(&population, 2);
	if (!member || !member->reading.kernel_thread) {
		population_free(&population);
		skip();
	}
	assert_false(member->reading.has_memory);
	assert_int_equal(member->series.levels[0].count, 0);
	assert_int_equal(member->reading.statm_fd, -1);
	population_free(&population);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(readings_follow_the_process),
		cmocka_unit_test(ended_processes_are_forgotten),
		cmocka_unit_test(a_new_program_begins_a_new_past),
		cmocka_unit_test(it_works_without_descriptors_of_its_own),
		cmocka_unit_test(what_is_shed_keeps_its_last_value),
		cmocka_unit_test(new_processes_wait_when_there_is_no_time),
		cmocka_unit_test(we_and_our_children_are_left_out),
		cmocka_unit_test(a_kernel_thread_has_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
