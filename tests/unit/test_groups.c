// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <math.h>

#include "app/triage/groups.h"
#include "app/triage/triage.h"
#include "base/cleanup.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void memory_is_where_the_controller_is(void **state)
{
	static const struct {
		const char *text, *path;
	} cases[] = {
		{"0::/system.slice/web.service\n", "/system.slice/web.service"},
		{"4:memory:/a\n0::/b\n", "/a"},
		{"0::/b\n4:cpu,memory,pids:/a\n", "/a"},
		{"4:memoryless:/a\n0::/b\n", "/b"},
		{"3:cpu:/a\n", NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct cgroup_paths paths = {0};
		const char *found;

		assert_int_equal(cgroup_paths_parse(cases[i].text, &paths), 0);
		found = memory_mount_path(&paths);
		if (cases[i].path)
			assert_string_equal(found, cases[i].path);
		else
			assert_null(found);
		cgroup_paths_free(&paths);
	}
}

static void what_a_container_makes_below_itself_is_one_group(void **state)
{
	static const char *const cases[][2] = {
		{"/system.slice/docker-" ID ".scope/init", "/system.slice/docker-" ID ".scope"},
		{"/docker/" ID, "/docker/" ID},
		{"/kubepods/pod1/" ID "/a/b", "/kubepods/pod1/" ID},
		{"/user.slice", "/user.slice"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char path[256];

		strcpy(path, cases[i][0]);
		groups_cut_path(path, ID);
		assert_string_equal(path, cases[i][1]);
	}
}

static void anonymous_memory_and_swap_are_charged(void **state)
{
	static const char v1[] = "cache 1\nrss 2\nswap 4\ntotal_rss_huge 8\ntotal_rss 4096\n"
				 "total_swap 100\n";
	static const char v2[] = "anon 8192\nfile 1\nanon_thp 7\n";

	(void)state;
	assert_float_equal(groups_parse_stat(v1, false), 4196, 0);
	assert_float_equal(groups_parse_stat(v2, true), 8192, 0);
	assert_float_equal(groups_parse_stat("total_rss 5\n", false), 5, 0);
	assert_true(isnan(groups_parse_stat(v2, false)));
	assert_true(isnan(groups_parse_stat("", true)));
	assert_true(isnan(groups_parse_stat("anon\n", true)));
}

/*
 * Memory that belongs to no process and that the kernel keeps: shared memory, sockets, its own
 * without the reclaimable part; not the page cache.
 */
static void tmpfs_and_kernel_memory_are_a_part_of_their_own(void **state)
{
	static const char v1[] = "cache 1\ntotal_cache 9000\ntotal_rss 4096\ntotal_shmem 8000\n";
	static const char v2[] = "anon 1\nfile 500\nkernel 70\nkernel_stack 16\nsock 5\nshmem 400\n"
				 "slab_reclaimable 30\nslab 40\n";
	struct cgroup_figures figures;

	(void)state;
	groups_parse_split(v1, false, &figures);
	assert_int_equal(figures.shmem, 8000);
	assert_int_equal(figures.file, 1000);
	assert_true(figures.kernel == CGROUP_NOT_KNOWN);
	assert_float_equal(groups_charged(&figures, 0), 8000, 0);
	figures.kernel = 100;
	assert_float_equal(groups_charged(&figures, 0), 8100, 0);
	groups_parse_split(v2, true, &figures);
	assert_int_equal(figures.file, 100);
	assert_int_equal(figures.kernel_stack, 16);
	assert_float_equal(groups_charged(&figures, 30), 445, 0);
	groups_parse_split("", true, &figures);
	assert_true(isnan(groups_charged(&figures, 0)));
}

/* None of its processes grows: the kernel's charges show what does. */
static void a_group_that_grows_alone_says_why(void **state)
{
	static const struct {
		enum quantity kind;
		const char *before, *now, *why;
	} cases[] = {
		{QUANTITY_HEAP, "anon 1000000\nkernel 0\n", "anon 9000000\nkernel 0\n",
		 "pages that were shared since a fork become private"},
		{QUANTITY_CHARGED, "anon 5\nshmem 0\nkernel 1000\npagetables 1000\n",
		 "anon 5\nshmem 0\nkernel 9000000\npagetables 8800000\n", "page tables"},
		{QUANTITY_CHARGED, "anon 5\nshmem 0\nkernel 1000\nslab 1000\n",
		 "anon 5\nshmem 0\nkernel 9000000\nslab 8800000\n", "`leakmon kernel`"},
		{QUANTITY_CHARGED, "anon 5\nshmem 0\nkernel 1\n",
		 "anon 5\nshmem 9000000\nkernel 1\n", "files in tmpfs"},
		{QUANTITY_CHARGED, "anon 5\nshmem 0\nsock 0\n", "anon 5\nshmem 0\nsock 9000000\n",
		 "buffers of its sockets"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct triage_split split = {.since_s = 60};
		struct triage_entry group = {
			.cgroup = "/a",
			.processes = 3,
			.split = &split,
			.growth = {.kind = cases[i].kind, .verdict = TREND_LEAKING, .per_s = 1e5}};
		struct triage_report report = {.groups = {.items = &group, .count = 1, .total = 1}};

		report.groups.verdicts[TREND_LEAKING] = 1;
		groups_parse_split(cases[i].before, true, &split.before);
		groups_parse_split(cases[i].now, true, &split.now);
		triage_report_doubt_groups(&report);
		assert_non_null(group.why);
		assert_non_null(strstr(group.why, cases[i].why));
	}
}

/* One of its processes does: no other reason is looked for. */
static void a_group_that_grows_with_a_process_needs_no_reason(void **state)
{
	struct triage_split split = {.since_s = 60};
	struct triage_entry group = {
		.cgroup = "/a",
		.processes = 1,
		.split = &split,
		.growth = {.kind = QUANTITY_HEAP, .verdict = TREND_LEAKING, .per_s = 1e5}};
	struct triage_entry process = {
		.pid = 7,
		.cgroup = "/a",
		.growth = {.kind = QUANTITY_HEAP, .verdict = TREND_LEAKING, .memory_per_s = 9e4}};
	struct triage_report report = {.groups = {.items = &group, .count = 1, .total = 1},
				       .processes = {.items = &process, .count = 1, .total = 1}};

	(void)state;
	groups_parse_split("anon 1000000\n", true, &split.before);
	groups_parse_split("anon 9000000\n", true, &split.now);
	triage_report_doubt_groups(&report);
	assert_null(group.why);
	assert_int_equal(group.growth.verdict, TREND_LEAKING);
}

static void the_part_that_grew_most_comes_first(void **state)
{
	struct triage_split split = {.since_s = 60};
	struct triage_part parts[TRIAGE_PARTS_MAX];

	(void)state;
	groups_parse_split("anon 900\nfile 300\nshmem 100\nkernel 7\n", true, &split.before);
	groups_parse_split("anon 910\nfile 700\nshmem 400\nkernel 7\n", true, &split.now);
	assert_int_equal(triage_split_parts(&split, parts), 4);
	assert_string_equal(parts[0].name, "tmpfs");
	assert_float_equal(parts[0].grown, 300, 0);
	assert_string_equal(parts[1].name, "page-cache");
	assert_string_equal(parts[3].name, "kernel");
}

static void kills_are_counted_whatever_else_is(void **state)
{
	(void)state;
	assert_int_equal(groups_parse_kills("low 0\nhigh 3\nmax 9\noom 4\noom_kill 2\n"
					    "oom_group_kill 1\n"),
			 2);
	assert_int_equal(groups_parse_kills("oom_kill_disable 0\nunder_oom 0\noom_kill 7\n"), 7);
	assert_int_equal(groups_parse_kills("oom_kill_disable 1\n"), 0);
	assert_int_equal(groups_parse_kills(""), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_is_where_the_controller_is),
		cmocka_unit_test(what_a_container_makes_below_itself_is_one_group),
		cmocka_unit_test(anonymous_memory_and_swap_are_charged),
		cmocka_unit_test(tmpfs_and_kernel_memory_are_a_part_of_their_own),
		cmocka_unit_test(a_group_that_grows_alone_says_why),
		cmocka_unit_test(a_group_that_grows_with_a_process_needs_no_reason),
		cmocka_unit_test(the_part_that_grew_most_comes_first),
		cmocka_unit_test(kills_are_counted_whatever_else_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
