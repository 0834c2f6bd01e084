// SPDX-License-Identifier: GPL-2.0-or-later
/* Which files stay open, and which tables in memory, while processes come and go. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "symbol/modules.h"
#include "symbol/symbolizer.h"

static char directory[] = "/tmp/leakmon-modules-XXXXXX";

static int set_up(void **state)
{
	(void)state;
	return mkdtemp(directory) ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	return rmdir(directory);
}

/* A file of its own for each number, gone from the directory at once. */
static int open_file(int number)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/%d", directory, number);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0755);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, 4096 + number), 0);
	unlink(path);
	return fd;
}

static size_t open_files(void)
{
	_cleanup_closedir_ DIR *opened = opendir("/proc/self/fd");
	size_t count = 0;

	while (readdir(opened))
		count++;
	return count;
}

static void one_file_is_one_module_however_often_it_is_added(void **state)
{
	struct modules modules = {0};
	int fd = open_file(0);
	struct module *first = modules_add(&modules, fcntl(fd, F_DUPFD_CLOEXEC, 0));
	struct module *second = modules_add(&modules, fcntl(fd, F_DUPFD_CLOEXEC, 0));

	(void)state;
	assert_ptr_equal(first, second);
	assert_int_equal(first->users, 2);
	assert_int_equal(modules.list.count, 1);
	assert_int_equal(modules.open_files, 1);
	assert_int_equal(ftruncate(fd, 100), 0); /* another version of it */
	second = modules_add(&modules, fcntl(fd, F_DUPFD_CLOEXEC, 0));
	assert_ptr_not_equal(first, second);
	assert_int_not_equal(first->number, second->number);
	assert_int_equal(modules.open_files, 2);
	close(fd);
	modules_free(&modules);
}

static void the_file_of_what_nobody_holds_is_closed_and_opened_again_for_the_next(void **state)
{
	struct modules modules = {0};
	int fd = open_file(0);
	size_t before = open_files();
	struct module *module = modules_add(&modules, fcntl(fd, F_DUPFD_CLOEXEC, 0));

	(void)state;
	modules_hold(&modules, module);
	modules_release(&modules, module);
	assert_int_equal(modules.unused, 0);
	assert_int_equal(open_files(), before + 1);
	modules_release(&modules, module);
	assert_int_equal(modules.unused, 1);
	assert_int_equal(open_files(), before);
	assert_ptr_equal(modules_add(&modules, fcntl(fd, F_DUPFD_CLOEXEC, 0)), module);
	assert_int_equal(modules.unused, 0);
	assert_int_equal(open_files(), before + 1);
	close(fd);
	modules_free(&modules);
}

static void of_files_that_come_and_go_only_the_latest_64_are_kept(void **state)
{
	struct modules modules = {0};
	size_t before = open_files();
	struct module *held = modules_add(&modules, open_file(0));

	(void)state;
	for (int i = 1; i <= 1000; i++)
		modules_release(&modules, modules_add(&modules, open_file(i)));
	assert_int_equal(modules.list.count, 65);
	assert_int_equal(modules.index.count, 65);
	assert_int_equal(modules.unused, 64);
	assert_int_equal(open_files(), before + 1);
	for (size_t i = 0; i < modules.list.count; i++) {
		const struct module *module = modules.list.items[i];

		assert_int_equal(module->place, i);
		assert_true(module == held || module->identity.size > 4096 + 1000 - 64);
	}
	modules_free(&modules);
	assert_int_equal(open_files(), before);
}

/* Maps a copy of ourselves as code: a module that only this process has. */
static pid_t start_process(int number, uint64_t *address)
{
	int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), fd = open_file(number);
	char buffer[65536];
	ssize_t length;
	void *code;
	pid_t pid;

	lseek(fd, 0, SEEK_SET);
	while ((length = read(self, buffer, sizeof(buffer))) > 0)
		assert_int_equal(write(fd, buffer, (size_t)length), length);
	code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	assert_ptr_not_equal(code, MAP_FAILED);
	pid = fork();
	if (!pid) {
		pause();
		_exit(0);
	}
	munmap(code, 4096);
	close(fd);
	close(self);
	*address = (uintptr_t)code + 16;
	return pid;
}

static void a_forgotten_process_leaves_no_descriptors_and_its_frames_stay_good(void **state)
{
	struct symbolizer *symbolizer = symbolizer_new(NULL);
	struct frames frames = {0};
	size_t before = open_files();
	char build_id[83] = "";

	(void)state;
	for (uint64_t i = 0; i < 70; i++) {
		uint64_t address;
		pid_t pid = start_process((int)i, &address);

		assert_int_equal(symbolizer_refresh(symbolizer, i, pid), 0);
		vec_free(&frames.list);
		assert_int_equal(symbolizer_name(symbolizer, i, &address, 1, LINES_NONE, &frames),
				 0);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		symbolizer_forget(symbolizer, i);
		assert_int_equal(open_files(), before);
		if (i)
			continue;
		assert_int_equal(strlen(frames.list.items[0].build_id), 40);
		strcpy(build_id, frames.list.items[0].build_id);
	}
	/* By now the first module is gone; its strings are not. */
	assert_string_equal(frames.list.items[0].build_id, build_id);
	assert_non_null(strstr(frames.list.items[0].module, directory));
	vec_free(&frames.list);
	symbolizer_free(symbolizer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_file_is_one_module_however_often_it_is_added),
		cmocka_unit_test(
			the_file_of_what_nobody_holds_is_closed_and_opened_again_for_the_next),
		cmocka_unit_test(of_files_that_come_and_go_only_the_latest_64_are_kept),
		cmocka_unit_test(
			a_forgotten_process_leaves_no_descriptors_and_its_frames_stay_good),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
