// SPDX-License-Identifier: GPL-2.0-or-later
/* `leakmon retain --census` of programs with other allocators than glibc's; no BPF. */
#include "allocator_programs.h"
#include "retain_json.h"

static void expect_walked(json_t *report, const char *name)
{
	json_t *heap = json_object_get(report, "heap");

	assert_string_equal(text_at(heap, "allocator"), name);
	assert_true(json_is_null(json_object_get(heap, "why_not_walked")));
	assert_int_equal(number_at(heap, "walked"), number_at(heap, "blocks"));
}

/*
 * Lost blocks of a program, and none in use or in thread caches. tcmalloc itself loses one block of
 * 8 bytes at its start: its first MallocExtension.
 */
static void expect_lost(struct harness *harness, const struct allocator_program *program,
			json_int_t own_bytes, json_int_t bytes)
{
	struct child *target = allocator_start(harness, program);
	json_int_t blocks;
	json_t *report;

	if (!target)
		return;
	workload_do(harness, target, "mixed");
	workload_do(harness, target, "threads");
	workload_do(harness, target, "cross");
	workload_do(harness, target, "drop");
	report = RETAIN(harness, target, "--max-pause", "5000");
	expect_walked(report, program->name);
	blocks = total_at(report, "unreachable", "blocks");
	assert_in_range(blocks, 0, own_bytes / 8);
	bytes += total_at(report, "unreachable", "bytes");
	assert_int_equal(total_at(report, "untracked", "blocks"), 0);
	workload_do(harness, target, "lose");
	report = RETAIN(harness, target, "--max-pause", "5000");
	assert_int_equal(total_at(report, "unreachable", "blocks"), blocks + 100 + 20 + 1);
	assert_int_equal(total_at(report, "unreachable", "bytes"), bytes);
}

/* 100 blocks of 48 bytes and 20 of 3000. */
#define SIZED (100 * 48 + 20 * 3072)

static void blocks_that_a_program_lost_are_unreachable(void **state)
{
	static const struct {
		struct allocator_program program;
		json_int_t own_bytes, large, others;
	} rows[] = {
		{{"jemalloc_stats", NULL, "jemalloc 5.3.0"}, 0, 114688, SIZED},
		{{"jemalloc_stats", "trixie", "jemalloc 5.3.0"}, 0, 114688, SIZED},
		{{"jemalloc_stats", "forky", "jemalloc 5.3.1"}, 0, 102400, SIZED},
		{{"tcmalloc_stats", NULL, "tcmalloc 2.10"}, 8, 106496, SIZED},
		{{"tcmalloc_stats_static", NULL, "tcmalloc 2.10"}, 8, 106496, SIZED},
		{{"tcmalloc_stats", "trixie", "tcmalloc 2.16"}, 0, 106496, SIZED},
		{{"tcmalloc_stats", "forky", "tcmalloc 2.18.1"}, 0, 106496, SIZED},
		{{"mimalloc_stats", NULL, "mimalloc 2.0.9"}, 0, 114688, SIZED},
		/* Debian's musl-tools; slots of 64 and 3264 bytes, with a header. */
		{{"musl_stats", NULL, "musl 1.2.3"}, 0, 102384, 100 * 64 + 20 * 3264},
		{{"mimalloc_stats", "trixie", "mimalloc 3.0"}, 0, 114688, SIZED},
		{{"mimalloc_stats", "forky", "mimalloc 3.6"}, 0, 114688, SIZED},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		expect_lost(harness_any(state), &rows[i].program, rows[i].own_bytes,
			    rows[i].others + rows[i].large);
}

static void without_a_stop_it_is_the_same(void **state)
{
	static const struct allocator_program programs[] = {
		{"jemalloc_stats", NULL, "jemalloc 5.3.0"},
		{"tcmalloc_stats", NULL, "tcmalloc 2.10"},
		{"tcmalloc_stats", "forky", "tcmalloc 2.18.1"},
		{"mimalloc_stats", NULL, "mimalloc 2.0.9"},
		{"mimalloc_stats", "forky", "mimalloc 3.6"},
	};
	struct harness *harness = harness_any(state);

	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
		struct child *target = allocator_start(harness, &programs[i]);
		json_t *report;

		if (!target)
			continue;
		workload_do(harness, target, "mixed");
		workload_do(harness, target, "lose");
		report = RETAIN(harness, target, "--no-stop");
		expect_walked(report, programs[i].name);
		assert_int_equal(total_at(report, "unreachable", "blocks"), 100 + 20 + 1);
	}
}

/* Unknown state is reported with its reason, without a false leak: mimalloc has not been used. */
static void of_an_allocator_that_is_not_found_the_reason_is_given(void **state)
{
	struct harness *harness = harness_any(state);
	struct child *target = WORKLOAD(harness, "mimalloc_stats");
	json_t *report = RETAIN(harness, target);
	const char *why = text_at(json_object_get(report, "heap"), "why_not_walked");

	assert_non_null(
		strstr(why, "mimalloc's records are neither as version 2.0.9 nor as 3 has them"));
	assert_int_equal(total_at(report, "unreachable", "blocks"), 0);
}

/* Neither data that look like its bins, nor a break that another caller moved. */
static void what_is_beside_the_heap_of_glibc_does_not_hide_it(void **state)
{
	static const char *const modes[] = {"slots", "break"};
	struct harness *harness = harness_any(state);

	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		struct child *target = WORKLOAD(harness, "free_slots", modes[i]);
		json_t *report = RETAIN(harness, target);

		expect_walked(report, "glibc 2.27 to 2.42");
		assert_int_equal(number_at(json_object_get(report, "heap"), "broken"), 0);
		assert_int_equal(total_at(report, "held", "blocks"), 100);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		e2e_test(blocks_that_a_program_lost_are_unreachable),
		e2e_test(without_a_stop_it_is_the_same),
		e2e_test(of_an_allocator_that_is_not_found_the_reason_is_given),
		e2e_test(what_is_beside_the_heap_of_glibc_does_not_hide_it),
	};

	return cmocka_run_group_tests_name("e2e_retain_allocators", tests, NULL, NULL);
}
