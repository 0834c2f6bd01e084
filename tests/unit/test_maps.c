// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "process/proc/maps.h"

static void a_line_gives_every_field(void **state)
{
	char line[] = "7f3c00a21000-7f3c00b77000 r-xp 00026000 fe:1a 247134                     "
		      "/usr/lib/x86_64-linux-gnu/libc.so.6";
	struct mapping mapping;

	(void)state;
	assert_int_equal(maps_parse_line(line, &mapping), 0);
	assert_int_equal(mapping.start, 0x7f3c00a21000);
	assert_int_equal(mapping.end, 0x7f3c00b77000);
	assert_int_equal(mapping.offset, 0x26000);
	assert_int_equal(mapping.major, 0xfe);
	assert_int_equal(mapping.minor, 0x1a);
	assert_int_equal(mapping.inode, 247134);
	assert_true(mapping.readable && mapping.executable);
	assert_false(mapping.writable || mapping.shared || mapping.deleted);
	assert_string_equal(mapping.path, "/usr/lib/x86_64-linux-gnu/libc.so.6");
}

static void a_path_may_contain_anything(void **state)
{
	static const struct {
		const char *text, *path;
		bool deleted;
	} cases[] = {
		{"", "", false},
		{" ", "", false},
		{"         [heap]", "[heap]", false},
		{" /a", "/a", false},
		{" /tmp/libc.so.6 X", "/tmp/libc.so.6 X", false},
		{" /tmp/two  blanks  ", "/tmp/two  blanks  ", false},
		{" /tmp/new\\012line", "/tmp/new\\012line", false},
		{" /tmp/x (deleted)", "/tmp/x", true},
		{" /tmp/x (deleted) (deleted)", "/tmp/x (deleted)", true},
		{" /tmp/x (deleted) ", "/tmp/x (deleted) ", false},
		{" /memfd:jit (deleted)", "/memfd:jit", true},
		{" (deleted)", "(deleted)", false},
		{" \xff\x01\x1b[31m", "\xff\x01\x1b[31m", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct mapping mapping;
		char line[128];

		snprintf(line, sizeof(line), "1000-2000 -w-s 00000000 00:00 0%s", cases[i].text);
		assert_int_equal(maps_parse_line(line, &mapping), 0);
		assert_string_equal(mapping.path, cases[i].path);
		assert_int_equal(mapping.deleted, cases[i].deleted);
		assert_true(mapping.writable && mapping.shared);
		assert_false(mapping.readable || mapping.executable);
	}
}

static void a_line_that_no_kernel_writes_is_refused(void **state)
{
	static const char *const lines[] = {
		"",
		"1000",
		"1000-",
		"1000-2000",
		"1000-2000 ",
		"-2000 r-xp 00000000 00:00 0",
		"2000-1000 r-xp 00000000 00:00 0",
		"1000-1000 r-xp 00000000 00:00 0",
		"1000-2000 r-x 00000000 00:00 0",
		"1000-2000 r-xq 00000000 00:00 0",
		"1000-2000 rwxpp 00000000 00:00 0",
		"1000-2000 r-xp  00:00 0",
		"1000-2000 r-xp 00000000 0000 0",
		"1000-2000 r-xp 00000000 100000000:00 0",
		"1000-2000 r-xp 00000000 00:00",
		"1000-2000 r-xp 00000000 00:00 ",
		"1000-2000 r-xp 00000000 00:00 12a /x",
		"1000-2000 r-xp 00000000 00:00 18446744073709551616 /x",
		"10000000000000000-2000 r-xp 00000000 00:00 0",
		"1000-20000000000000000 r-xp 00000000 00:00 0",
		"0x1000-0x2000 r-xp 00000000 00:00 0",
		"1000-2000 r-xp -0000001 00:00 0",
	};
	struct mapping mapping, untouched;

	(void)state;
	memset(&untouched, 0x5a, sizeof(untouched));
	mapping = untouched;
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		_cleanup_free_ char *line = strdup(lines[i]);

		assert_int_equal(maps_parse_line(line, &mapping), -EINVAL);
		assert_memory_equal(&mapping, &untouched, sizeof(mapping));
	}
}

static const struct mapping *find(const struct maps *maps, const void *address)
{
	for (size_t i = 0; i < maps->list.count; i++) {
		const struct mapping *mapping = &maps->list.items[i];

		if ((uintptr_t)address >= mapping->start && (uintptr_t)address < mapping->end)
			return mapping;
	}
	return NULL;
}

static void our_own_code_and_stack_are_in_our_maps(void **state)
{
	_cleanup_(maps_free) struct maps all = {0}, executable = {0};
	struct stat status;

	(void)state;
	assert_int_equal(maps_read(getpid(), MAPS_ALL, &all), 0);
	assert_int_equal(maps_read(getpid(), MAPS_EXECUTABLE, &executable), 0);
	assert_int_equal(all.source.task, getpid());
	assert_int_equal(stat("/proc/self/exe", &status), 0);
	assert_int_equal(find(&all, find)->inode, status.st_ino);
	assert_true(find(&all, find)->executable);
	assert_string_equal(find(&executable, find)->path, find(&all, find)->path);
	assert_string_equal(find(&all, &status)->path, "[stack]");
	assert_null(find(&executable, &status));
}

static void a_path_with_a_newline_is_one_mapping(void **state)
{
	_cleanup_(maps_free) struct maps maps = {0};
	int fd = open("/tmp/leakmon maps\ntest", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	void *mapped;

	(void)state;
	assert_int_equal(ftruncate(fd, 4096), 0);
	mapped = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	unlink("/tmp/leakmon maps\ntest");
	assert_int_equal(maps_read(getpid(), MAPS_ALL, &maps), 0);
	assert_string_equal(find(&maps, mapped)->path, "/tmp/leakmon maps\\012test");
	assert_true(find(&maps, mapped)->deleted);
	munmap(mapped, 4096);
	close(fd);
}

static void grow_for_ever(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (sbrk(4096) != (void *)-1)
		;
	pause();
}

static void a_mapping_that_grows_while_it_is_read_is_listed_once(void **state)
{
	pid_t pid = fork();

	(void)state;
	if (!pid)
		grow_for_ever();
	for (int i = 0; i < 300; i++) {
		_cleanup_(maps_free) struct maps maps = {0};

		assert_int_equal(maps_read(pid, MAPS_ALL, &maps), 0);
		for (size_t j = 1; j < maps.list.count; j++)
			assert_true(maps.list.items[j].start >= maps.list.items[j - 1].end);
	}
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void no_process_and_no_user_memory_are_esrch(void **state)
{
	struct maps maps = {.source = live_memory(77)};
	pid_t child = fork();
	siginfo_t info;

	(void)state;
	if (child == 0)
		_exit(0);
	assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(maps_read(child, MAPS_ALL, &maps), -ESRCH);
	waitpid(child, NULL, 0);
	assert_int_equal(maps_read(child, MAPS_ALL, &maps), -ESRCH);
	assert_int_equal(maps_read(0x7fffffff, MAPS_ALL, &maps), -ESRCH);
	assert_int_equal(maps.source.task, 77);
	assert_int_equal(maps.list.count, 0);
}

static void *pause_for_ever(void *argument)
{
	for (;;)
		pause();
	return argument;
}

static void run_without_main_thread(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, pause_for_ever, NULL);
	pthread_exit(NULL);
}

static void a_process_without_its_main_thread_is_read_through_another(void **state)
{
	_cleanup_(maps_free) struct maps maps = {0};
	pid_t child = fork();

	(void)state;
	if (child == 0)
		run_without_main_thread();
	for (int i = 0; i < 5000 && (maps.source.task == 0 || maps.source.task == child); i++) {
		maps_free(&maps);
		assert_int_equal(maps_read(child, MAPS_EXECUTABLE, &maps), 0);
		usleep(1000);
	}
	assert_true(maps.source.task > 0 && maps.source.task != child);
	assert_non_null(find(&maps, find));
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

/* Maps a file that no path leads to: it is too deep. */
static void map_deep_file(const char *top, int ready)
{
	char name[200];
	int fd;

	memset(name, 'd', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	if (chdir(top))
		_exit(1);
	for (size_t i = 0; i < 2 * PATH_MAX / sizeof(name); i++) {
		if (mkdir(name, 0700) || chdir(name))
			_exit(2);
	}
	fd = open(name, O_CREAT | O_RDWR, 0600);
	if (ftruncate(fd, 4096) || mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0) == MAP_FAILED)
		_exit(3);
	if (write(ready, "", 1) != 1)
		_exit(4);
	pause();
	_exit(0);
}

static void a_path_that_is_too_long_to_be_opened_is_cut(void **state)
{
	char top[] = "/tmp/leakmon-deep-XXXXXX", command[64], byte;
	struct maps maps = {0};
	size_t longest = 0;
	int ready[2];
	pid_t child;

	(void)state;
	assert_non_null(mkdtemp(top));
	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	child = fork();
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		map_deep_file(top, ready[1]);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	assert_int_equal(maps_read(child, MAPS_ALL, &maps), 0);
	for (size_t i = 0; i < maps.list.count; i++)
		longest = MAX(longest, strlen(maps.list.items[i].path));
	assert_int_equal(longest, PATH_MAX - 1);
	maps_free(&maps);
	close(ready[0]);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	snprintf(command, sizeof(command), "rm -rf %s", top);
	assert_int_equal(system(command), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_gives_every_field),
		cmocka_unit_test(a_path_may_contain_anything),
		cmocka_unit_test(a_line_that_no_kernel_writes_is_refused),
		cmocka_unit_test(our_own_code_and_stack_are_in_our_maps),
		cmocka_unit_test(a_path_with_a_newline_is_one_mapping),
		cmocka_unit_test(a_path_that_is_too_long_to_be_opened_is_cut),
		cmocka_unit_test(a_mapping_that_grows_while_it_is_read_is_listed_once),
		cmocka_unit_test(no_process_and_no_user_memory_are_esrch),
		cmocka_unit_test(a_process_without_its_main_thread_is_read_through_another),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
