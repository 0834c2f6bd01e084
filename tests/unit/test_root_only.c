// SPDX-License-Identifier: GPL-2.0-or-later
/* Files that only root can have written, and others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "process/proc/host_file.h"

#define NOBODY 65534

static char top[] = "/tmp/leakmon-unit-XXXXXX";

static const char *at(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", top, name);
	return path;
}

static void directory_make(const char *name, uid_t owner, mode_t mode)
{
	assert_int_equal(mkdir(at(name), 0700), 0);
	assert_int_equal(chown(at(name), owner, 0), 0);
	assert_int_equal(chmod(at(name), mode), 0);
}

static void file_make(const char *name, uid_t owner, mode_t mode)
{
	_cleanup_close_ int fd = open(at(name), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(fchown(fd, owner, 0), 0);
	assert_int_equal(fchmod(fd, mode), 0);
}

static void link_make(const char *target, const char *name, uid_t owner)
{
	assert_int_equal(symlink(target, at(name)), 0);
	assert_int_equal(lchown(at(name), owner, 0), 0);
}

static int setup(void **state)
{
	(void)state;
	if (geteuid() || !mkdtemp(top))
		return 0;
	directory_make("root", 0, 0755);
	directory_make("group", 0, 0775);
	directory_make("sticky", 0, 01777);
	directory_make("user", NOBODY, 0755);
	directory_make("user/root", 0, 0755);
	file_make("root/good", 0, 0644);
	file_make("root/user", NOBODY, 0644);
	file_make("root/shared", 0, 0664);
	file_make("group/good", 0, 0644);
	file_make("sticky/good", 0, 0644);
	file_make("sticky/user", NOBODY, 0644);
	file_make("user/root/good", 0, 0644);
	link_make("root", "link", 0);
	link_make("../root", "sticky/link", NOBODY);
	link_make("user/root", "through", 0);
	link_make("../root/good", "root/file-link", 0);
	link_make("../user/root/good", "root/bad-link", 0);
	return 0;
}

static int teardown(void **state)
{
	char command[64];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", top);
	return geteuid() ? 0 : system(command);
}

static void every_step_of_a_path_must_be_roots(void **state)
{
	static const struct {
		const char *name;
		bool root_only;
	} cases[] = {
		{"root/good", true},	   {"root", true},	     {"root/user", false},
		{"root/shared", false},	   {"group/good", false},    {"sticky/good", true},
		{"sticky/user", false},	   {"user", false},	     {"user/root", false},
		{"user/root/good", false}, {"link/good", true},	     {"sticky/link/good", false},
		{"through/good", false},   {"root/file-link", true}, {"root/bad-link", false},
		{"root/none", false},
	};
	_cleanup_close_ int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	(void)state;
	if (geteuid()) {
		print_message("SKIPPED: files are given away by root\n");
		skip();
	}
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		if (root_only_path(root, at(cases[i].name)) != cases[i].root_only)
			fail_msg("%s must be %s", cases[i].name,
				 cases[i].root_only ? "root's" : "anybody's");
	}
	assert_false(root_only_path(root, "relative"));
}

static void a_directory_is_followed_up_to_the_top(void **state)
{
	_cleanup_close_ int good = -1, bad = -1;

	(void)state;
	if (geteuid())
		skip();
	good = open(at("sticky"), O_PATH | O_DIRECTORY | O_CLOEXEC);
	bad = open(at("user/root"), O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(root_only_directory(good));
	assert_false(root_only_directory(bad));
}

static void a_process_of_another_user_is_not_roots(void **state)
{
	(void)state;
	if (geteuid())
		skip();
	assert_true(root_only_process(getpid()));
	assert_int_equal(setresuid(0, 0, NOBODY), 0);
	assert_false(root_only_process(getpid()));
	assert_int_equal(setresuid(0, 0, 0), 0);
	assert_false(root_only_process(-1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_step_of_a_path_must_be_roots),
		cmocka_unit_test(a_directory_is_followed_up_to_the_top),
		cmocka_unit_test(a_process_of_another_user_is_not_roots),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
