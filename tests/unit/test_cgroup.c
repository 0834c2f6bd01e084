// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "process/proc/cgroup.h"

static void v2_has_one_path(void **state)
{
	struct cgroup_paths paths;

	(void)state;
	assert_int_equal(cgroup_paths_parse("0::/system.slice/web.service\n", &paths), 0);
	assert_int_equal(paths.list.count, 1);
	assert_int_equal(paths.list.items[0].hierarchy, 0);
	assert_string_equal(paths.list.items[0].controllers, "");
	assert_string_equal(paths.list.items[0].path, "/system.slice/web.service");
	assert_false(paths.list.items[0].deleted);
	cgroup_paths_free(&paths);
}

static void hybrid_has_a_path_per_hierarchy(void **state)
{
	struct cgroup_paths paths;

	(void)state;
	assert_int_equal(cgroup_paths_parse("9:name=systemd:/a\n4:cpu,cpuacct:/b\n0::/c\n", &paths),
			 0);
	assert_int_equal(paths.list.count, 3);
	assert_string_equal(paths.list.items[0].controllers, "name=systemd");
	assert_int_equal(paths.list.items[1].hierarchy, 4);
	assert_string_equal(paths.list.items[1].path, "/b");
	assert_string_equal(paths.list.items[2].path, "/c");
	cgroup_paths_free(&paths);
}

static void a_path_keeps_its_colons_and_loses_the_mark_of_deletion(void **state)
{
	struct cgroup_paths paths;

	(void)state;
	assert_int_equal(cgroup_paths_parse("1:pids:/x.slice:cri:1\n0::/gone (deleted)\n", &paths),
			 0);
	assert_string_equal(paths.list.items[0].path, "/x.slice:cri:1");
	assert_false(paths.list.items[0].deleted);
	assert_string_equal(paths.list.items[1].path, "/gone");
	assert_true(paths.list.items[1].deleted);
	cgroup_paths_free(&paths);
}

static void a_newline_in_a_path_makes_the_whole_text_untrusted(void **state)
{
	static const char *const texts[] = {
		"0::/a\nb\n",		 /* a newline in a name */
		"0::/a\n0::/docker/x\n", /* a forged line */
		"1:pids:/a\n1:pids:/b\n",
		"::/a\n",
		"0:/a\n",
		"0::a\n",
		"0::\n",
		"-1::/a\n",
		"99999999999999999999::/a\n",
		"4294967296::/a\n",
		"\n",
		"0",
		"0:",
		"0::",
	};
	struct cgroup_paths paths = {.list.count = 77};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		if (cgroup_paths_parse(texts[i], &paths) != -EBADMSG)
			fail_msg("taken: %s", texts[i]);
	}
	assert_int_equal(paths.list.count, 77);
}

static void a_path_of_4095_bytes_is_kept_whole(void **state)
{
	char text[8 + 4096];
	struct cgroup_paths paths;

	(void)state;
	memset(text, '\033', sizeof(text));
	memcpy(text, "0::/", 4);
	text[3 + 4095] = '\n';
	text[3 + 4096] = '\0';
	assert_int_equal(cgroup_paths_parse(text, &paths), 0);
	assert_int_equal(strlen(paths.list.items[0].path), 4095);
	cgroup_paths_free(&paths);
}

static void our_own_paths_can_be_read(void **state)
{
	struct cgroup_paths paths;

	(void)state;
	assert_int_equal(cgroup_paths_read(getpid(), &paths), 0);
	assert_true(paths.list.count >= 1);
	assert_int_equal(paths.list.items[0].path[0], '/');
	cgroup_paths_free(&paths);
	assert_int_equal(cgroup_paths_read(1 << 23, &paths), -ESRCH);
}

static void a_group_holds_what_is_below_it(void **state)
{
	static const struct {
		const char *path, *group;
		bool within;
	} cases[] = {
		{"/a/b", "/a/b", true},
		{"/a/b/c", "/a/b", true},
		{"/a/bc", "/a/b", false},
		{"/a", "/a/b", false},
		{"/x/a/b", "/a/b", false},
		{"/a/b", "/a/b//", true},
		{"/a", "/", true},
		{"/", "/", true},
		{"/a", "", false},
		{"/system.slice/web.service", "web.service", true},
		{"/system.slice/web.service/x", "web.service", true},
		{"/system.slice/web.service", "system.slice/web.service", true},
		{"/system.slice/web.service", "web", false},
		{"/system.slice/aweb.service", "web.service", false},
		{"/../../pod1/x", "/../../pod1", true},
		{"/../../pod1/x", "pod1", true},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		if (cgroup_is_within(cases[i].path, cases[i].group) != cases[i].within)
			fail_msg("%s in %s", cases[i].path, cases[i].group);
	}
}

static void a_directory_of_a_mounted_hierarchy_is_taken_too(void **state)
{
	static const char mounts[] =
		"20 1 0:5 / /proc rw - proc proc rw\n"
		"30 1 0:26 / /sys/fs/cgroup rw shared:4 - tmpfs tmpfs rw\n"
		"31 30 0:27 / /sys/fs/cgroup/memory rw shared:5 - cgroup cgroup rw,memory\n"
		"32 30 0:28 /../.. /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n"
		"33 30 0:29 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
		"broken\n";
	static const struct {
		const char *argument, *path;
	} cases[] = {
		{"/sys/fs/cgroup/memory/a/b", "/a/b"},
		{"/sys/fs/cgroup/unified/a", "/a"},
		{"/sys/fs/cgroup/unified", "/"},
		{"/sys/fs/cgroup/pids/a", "/../../a"},
		{"/sys/fs/cgroup/memoryx/a", "/sys/fs/cgroup/memoryx/a"},
		{"/a/b", "/a/b"},
		{"web.service", "web.service"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_free_ char *path = cgroup_path_from_argument(cases[i].argument, mounts);

		assert_string_equal(path, cases[i].path);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(v2_has_one_path),
		cmocka_unit_test(hybrid_has_a_path_per_hierarchy),
		cmocka_unit_test(a_path_keeps_its_colons_and_loses_the_mark_of_deletion),
		cmocka_unit_test(a_newline_in_a_path_makes_the_whole_text_untrusted),
		cmocka_unit_test(a_path_of_4095_bytes_is_kept_whole),
		cmocka_unit_test(our_own_paths_can_be_read),
		cmocka_unit_test(a_group_holds_what_is_below_it),
		cmocka_unit_test(a_directory_of_a_mounted_hierarchy_is_taken_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
