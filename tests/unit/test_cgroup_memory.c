// SPDX-License-Identifier: GPL-2.0-or-later
/* The memory of a control group is read from the files of either version; growth is reported. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "heap/memory/cgroup_memory.h"

#define MIB (UINT64_C(1) << 20)

static char directory[64];

static int setup(void **state)
{
	(void)state;
	snprintf(directory, sizeof(directory), "/tmp/leakmon-cgroup-XXXXXX");
	return mkdtemp(directory) ? 0 : -1;
}

static const char *const names[] = {
	"memory.current",
	"memory.max",
	"memory.swap.current",
	"memory.stat",
	"memory.events",
	"memory.pressure",
	"memory.oom_control",
	"memory.usage_in_bytes",
	"memory.limit_in_bytes",
	"memory.kmem.usage_in_bytes",
	"memory.kmem.tcp.usage_in_bytes",
};

static int teardown(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		char path[128];

		snprintf(path, sizeof(path), "%s/%s", directory, names[i]);
		unlink(path);
	}
	return rmdir(directory);
}

static void put(const char *name, const char *text)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

static void version_two_is_read_from_its_files(void **state)
{
	struct cgroup_figures figures;
	struct cgroup_pressure pressure = {0};

	(void)state;
	put("memory.current", "1000000\n");
	put("memory.max", "max\n");
	put("memory.swap.current", "7\n");
	put("memory.stat", "anon 400000\nfile 300000\nkernel 200000\nkernel_stack 16384\n"
			   "pagetables 8192\nsock 4096\nshmem 100000\ninactive_file 150000\n"
			   "slab 32768\n");
	put("memory.events", "low 0\nhigh 0\nmax 4\noom 3\noom_kill 2\n");
	put("memory.pressure", "some avg10=1.50 avg60=2.25 avg300=0.00 total=12\n"
			       "full avg10=0.50 avg60=0.75 avg300=0.00 total=3\n");
	assert_int_equal(cgroup_memory_read_in(directory, true, &figures, &pressure), 0);
	assert_int_equal(figures.current, 1000000);
	assert_true(figures.limit == CGROUP_NOT_KNOWN);
	assert_int_equal(figures.swap, 7);
	assert_int_equal(figures.anon, 400000);
	assert_int_equal(figures.file, 200000);
	assert_int_equal(figures.shmem, 100000);
	assert_int_equal(figures.kernel, 200000);
	assert_int_equal(figures.slab, 32768);
	assert_int_equal(figures.sock, 4096);
	assert_int_equal(figures.working_set, 850000);
	assert_int_equal(figures.oom_kills, 2);
	assert_true(pressure.known && pressure.some_60s == 2.25 && pressure.full_10s == 0.5);
}

static void an_older_kernels_parts_are_summed_up(void **state)
{
	struct cgroup_figures figures;
	struct cgroup_pressure pressure = {0};

	(void)state;
	put("memory.current", "1000000\n");
	put("memory.max", "2000000\n");
	put("memory.stat", "anon 1\nslab 10\nkernel_stack 20\npagetables 30\n");
	assert_int_equal(cgroup_memory_read_in(directory, true, &figures, &pressure), 0);
	assert_int_equal(figures.limit, 2000000);
	assert_int_equal(figures.kernel, 60);
	assert_true(figures.working_set == CGROUP_NOT_KNOWN);
	assert_true(figures.oom_kills == CGROUP_NOT_KNOWN);
	assert_false(pressure.known);
}

static void version_one_counts_groups_below(void **state)
{
	struct cgroup_figures figures;
	struct cgroup_pressure pressure = {0};

	(void)state;
	put("memory.usage_in_bytes", "5000\n");
	put("memory.limit_in_bytes", "9223372036854771712\n");
	put("memory.kmem.usage_in_bytes", "700\n");
	put("memory.kmem.tcp.usage_in_bytes", "30\n");
	put("memory.stat", "cache 1\nrss 2\ntotal_cache 3000\ntotal_rss 1200\ntotal_shmem 500\n"
			   "total_inactive_file 1000\ntotal_swap 9\n");
	put("memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n");
	assert_int_equal(cgroup_memory_read_in(directory, false, &figures, &pressure), 0);
	assert_true(figures.limit == CGROUP_NOT_KNOWN);
	assert_int_equal(figures.anon, 1200);
	assert_int_equal(figures.file, 2500);
	assert_int_equal(figures.kernel, 700);
	assert_int_equal(figures.sock, 30);
	assert_int_equal(figures.swap, 9);
	assert_int_equal(figures.working_set, 4000);
	assert_int_equal(figures.oom_kills, 1);
}

static void without_a_memory_controller_nothing_is_known(void **state)
{
	struct cgroup_figures figures = {.anon = 5};
	struct cgroup_pressure pressure = {0};

	(void)state;
	put("memory.stat", "anon 400000\n");
	assert_int_equal(cgroup_memory_read_in(directory, true, &figures, &pressure), -ENOENT);
	assert_int_equal(figures.anon, 5);
}

static void the_part_that_makes_up_half_is_named(void **state)
{
	static const struct {
		uint64_t anon, file, shmem, kernel;
		enum cgroup_verdict verdict;
		const char *words;
	} cases[] = {
		{MIB - 1, 0, 0, 0, CGROUP_STEADY, "no growth"},
		{4 * MIB, MIB, MIB, MIB, CGROUP_PROCESSES, "of its processes"},
		{MIB, 9 * MIB, 0, 0, CGROUP_PAGE_CACHE, "no process's: page cache"},
		{0, 0, 9 * MIB, MIB, CGROUP_SHARED, "stay until they are removed"},
		{0, MIB, 0, 9 * MIB, CGROUP_KERNEL, "no process's: the kernel's"},
		{3 * MIB, 3 * MIB, 3 * MIB, 0, CGROUP_MIXED, "half"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct cgroup_memory before = {.path = (char *)"/a"}, now = {.path = (char *)"/a"};

		now.figures.anon = cases[i].anon;
		now.figures.file = cases[i].file;
		now.figures.shmem = cases[i].shmem;
		now.figures.kernel = cases[i].kernel;
		now.figures.current =
			cases[i].anon + cases[i].file + cases[i].shmem + cases[i].kernel;
		now.time_ms = 3600000;
		cgroup_conclude(&before, &now);
		assert_int_equal(now.conclusion.verdict, cases[i].verdict);
		assert_non_null(strstr(now.conclusion.text, cases[i].words));
	}
}

/* A shorter time needs proportionally less growth, but not less than one batch of charges. */
static void a_short_time_needs_less_growth(void **state)
{
	static const struct {
		uint64_t before, grown;
		int64_t within_ms;
		enum cgroup_verdict verdict;
	} cases[] = {
		{0, MIB / 4, 5000, CGROUP_SHARED},
		{0, MIB / 4, 10000, CGROUP_STEADY},
		{0, MIB / 8 - 1, 1, CGROUP_STEADY},
		{0, MIB - 1, 3600000, CGROUP_STEADY},
		{200 * MIB, MIB / 3, 1000, CGROUP_SHARED},
		{300 * MIB, MIB / 3, 1000, CGROUP_STEADY},
		{200 * MIB, MIB, 30000, CGROUP_STEADY},
		{200 * MIB, 2 * MIB, 30000, CGROUP_SHARED},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct cgroup_memory before = {.path = (char *)"/a"}, now = before;

		before.figures.current = cases[i].before;
		now.figures.current = cases[i].before + cases[i].grown;
		now.figures.shmem = cases[i].grown;
		now.time_ms = cases[i].within_ms;
		cgroup_conclude(&before, &now);
		assert_int_equal(now.conclusion.verdict, cases[i].verdict);
	}
}

/* Charges come in batches that no part counts yet. */
static void growth_that_no_part_has_is_none(void **state)
{
	struct cgroup_memory before = {.path = (char *)"/a"}, now = before;

	(void)state;
	now.time_ms = 1000;
	now.figures.current = MIB / 2;
	now.figures.anon = 4096;
	cgroup_conclude(&before, &now);
	assert_int_equal(now.conclusion.verdict, CGROUP_STEADY);
}

static void expect_cause(const struct cgroup_cause *cause, const char *name, pid_t pid,
			 int64_t bytes)
{
	assert_string_equal(cause->name, name);
	assert_int_equal(cause->pid, pid);
	assert_int_equal(cause->bytes, bytes);
}

/* A process is another one under its number, if it began at another time. */
static void causes_of_growth_are_listed_the_greatest_first(void **state)
{
	struct cgroup_member was[] = {{.pid = 7, .start_ticks = 1, .anon = MIB},
				      {.pid = 9, .start_ticks = 1, .anon = 9 * MIB}};
	struct cgroup_member is[] = {{.pid = 7, .start_ticks = 1, .comm = "web", .anon = 6 * MIB},
				     {.pid = 8, .start_ticks = 2, .anon = MIB / 2},
				     {.pid = 9, .start_ticks = 3, .anon = 4 * MIB}};
	struct cgroup_memory before = {.path = (char *)"/a"}, now = before;
	const struct cgroup_conclusion *grown = &now.conclusion;

	(void)state;
	before.members.items = was;
	before.members.count = ARRAY_SIZE(was);
	now.members.items = is;
	now.members.count = ARRAY_SIZE(is);
	now.figures = (struct cgroup_figures){.current = 12 * MIB,
					      .anon = MIB,
					      .kernel = 11 * MIB,
					      .slab = 7 * MIB,
					      .sock = 3 * MIB,
					      .page_tables = CGROUP_NOT_KNOWN};
	cgroup_conclude(&before, &now);
	assert_int_equal(grown->cause_count, 6);
	expect_cause(&grown->causes[0], "slab", 0, 7 * MIB);
	expect_cause(&grown->causes[1], "process", 7, 5 * MIB);
	assert_string_equal(grown->causes[1].comm, "web");
	expect_cause(&grown->causes[2], "process", 9, 4 * MIB);
	expect_cause(&grown->causes[3], "sock", 0, 3 * MIB);
	expect_cause(&grown->causes[4], "kernel-other", 0, MIB);
	expect_cause(&grown->causes[5], "process", 8, MIB / 2);
	assert_non_null(strstr(grown->text, "most of all slab +7.00 MiB"));
}

static void of_many_causes_the_greatest_are_kept(void **state)
{
	struct cgroup_member is[20];
	struct cgroup_memory before = {.path = (char *)"/a"}, now = before;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(is); i++)
		is[i] = (struct cgroup_member){.pid = (pid_t)i + 1, .anon = (i * 7 % 20 + 1) * MIB};
	now.members.items = is;
	now.members.count = ARRAY_SIZE(is);
	cgroup_conclude(&before, &now);
	assert_int_equal(now.conclusion.cause_count, CGROUP_CAUSES_MAX);
	for (size_t i = 0; i < CGROUP_CAUSES_MAX; i++)
		assert_int_equal(now.conclusion.causes[i].bytes, (20 - i) * MIB);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(version_two_is_read_from_its_files, setup,
						teardown),
		cmocka_unit_test_setup_teardown(an_older_kernels_parts_are_summed_up, setup,
						teardown),
		cmocka_unit_test_setup_teardown(version_one_counts_groups_below, setup, teardown),
		cmocka_unit_test_setup_teardown(without_a_memory_controller_nothing_is_known, setup,
						teardown),
		cmocka_unit_test(the_part_that_makes_up_half_is_named),
		cmocka_unit_test(a_short_time_needs_less_growth),
		cmocka_unit_test(growth_that_no_part_has_is_none),
		cmocka_unit_test(causes_of_growth_are_listed_the_greatest_first),
		cmocka_unit_test(of_many_causes_the_greatest_are_kept),
	};

	return cmocka_run_group_tests_name("cgroup_memory", tests, NULL, NULL);
}
