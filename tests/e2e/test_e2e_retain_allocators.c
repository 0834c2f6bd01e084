// SPDX-License-Identifier: GPL-2.0-or-later
/* `leakmon retain --census` of programs with other allocators than glibc's; no BPF. */
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
static void expect_lost(struct harness *harness, const char *program, const char *name,
			json_int_t own_bytes, json_int_t bytes)
{
	struct child *target = WORKLOAD(harness, program);
	json_int_t blocks;
	json_t *report;

	workload_do(harness, target, "mixed");
	workload_do(harness, target, "threads");
	workload_do(harness, target, "cross");
	workload_do(harness, target, "drop");
	report = RETAIN(harness, target, "--max-pause", "5000");
	expect_walked(report, name);
	blocks = total_at(report, "unreachable", "blocks");
	assert_in_range(blocks, 0, own_bytes / 8);
	bytes += total_at(report, "unreachable", "bytes");
	assert_int_equal(total_at(report, "untracked", "blocks"), 0);
	workload_do(harness, target, "lose");
	report = RETAIN(harness, target, "--max-pause", "5000");
	assert_int_equal(total_at(report, "unreachable", "blocks"), blocks + 100 + 20 + 1);
	assert_int_equal(total_at(report, "unreachable", "bytes"), bytes);
}

static void blocks_that_a_program_with_jemalloc_lost_are_unreachable(void **state)
{
	expect_lost(harness_any(state), "jemalloc_stats", "jemalloc 5.3", 0,
		    100 * 48 + 20 * 3072 + 114688);
}

static void blocks_that_a_program_with_tcmalloc_lost_are_unreachable(void **state)
{
	expect_lost(harness_any(state), "tcmalloc_stats", "tcmalloc 2.8 to 2.10", 8,
		    100 * 48 + 20 * 3072 + 106496);
	expect_lost(harness_any(state), "tcmalloc_stats_static", "tcmalloc 2.8 to 2.10", 8,
		    100 * 48 + 20 * 3072 + 106496);
}

static void blocks_that_a_program_with_mimalloc_lost_are_unreachable(void **state)
{
	expect_lost(harness_any(state), "mimalloc_stats", "mimalloc 2.0.9", 0,
		    100 * 48 + 20 * 3072 + 114688);
}

static void without_a_stop_it_is_the_same(void **state)
{
	static const char *const names[][2] = {
		{"jemalloc_stats", "jemalloc 5.3"},
		{"tcmalloc_stats", "tcmalloc 2.8 to 2.10"},
		{"mimalloc_stats", "mimalloc 2.0.9"},
	};
	struct harness *harness = harness_any(state);

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct child *target = WORKLOAD(harness, names[i][0]);
		json_t *report;

		workload_do(harness, target, "mixed");
		workload_do(harness, target, "lose");
		report = RETAIN(harness, target, "--no-stop");
		expect_walked(report, names[i][1]);
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

	assert_non_null(strstr(why, "mimalloc's records are not where version 2.0.9 has them"));
	assert_int_equal(total_at(report, "unreachable", "blocks"), 0);
}

/* Neither data that look like its bins, nor a break that somebody else has moved. */
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
		e2e_test(blocks_that_a_program_with_jemalloc_lost_are_unreachable),
		e2e_test(blocks_that_a_program_with_tcmalloc_lost_are_unreachable),
		e2e_test(blocks_that_a_program_with_mimalloc_lost_are_unreachable),
		e2e_test(without_a_stop_it_is_the_same),
		e2e_test(of_an_allocator_that_is_not_found_the_reason_is_given),
		e2e_test(what_is_beside_the_heap_of_glibc_does_not_hide_it),
	};

	return cmocka_run_group_tests_name("e2e_retain_allocators", tests, NULL, NULL);
}
