// SPDX-License-Identifier: GPL-2.0-or-later
/* `leakmon memory` compared with the statistics of allocators other than glibc's; no BPF. */
#include "allocator_programs.h"
#include "retain_json.h"

static json_t *memory_of(struct harness *harness, struct child *target)
{
	json_t *report = report_of(
		harness, MONITOR(harness, "memory", "-p", target->pid_text, "--format", "json"));

	return json_array_get(json_object_get(report, "processes"), 0);
}

/* Its figures are certain. */
static json_t *known_allocator(json_t *process, const char *name)
{
	json_t *allocator = json_object_get(process, "other_allocator");

	assert_string_equal(text_at(allocator, "name"), name);
	assert_true(json_is_true(json_object_get(allocator, "certain")));
	assert_true(json_is_null(json_object_get(process, "not_known")));
	return allocator;
}

/* leakmon's figures of these names equal the allocator's of those. */
static void expect_same_figures(json_t *allocator, json_t *truth, const char *const (*same)[2],
				size_t count)
{
	for (size_t i = 0; i < count; i++)
		assert_int_equal(number_at(allocator, same[i][0]), number_at(truth, same[i][1]));
}

/* The sum is complete: a zero page that was only read is not in Rss. */
static void expect_sums(json_t *process)
{
	json_int_t sum = 0, difference = number_at(process, "difference_bytes");
	const char *name;
	json_t *share;

	json_object_foreach(json_object_get(process, "parts"), name, share) sum +=
		number_at(share, "resident_bytes");
	assert_int_equal(sum + difference, number_at(process, "rss_bytes"));
	assert_in_range(-difference, 0, 256 << 10);
}

/* Calls `test` for each program that is available, with leakmon's name for its allocator. */
static void with_each(struct harness *harness, const struct allocator_program *programs,
		      size_t count,
		      void (*test)(struct harness *harness, struct child *target, const char *name))
{
	for (size_t i = 0; i < count; i++) {
		struct child *target = allocator_start(harness, &programs[i]);

		if (target)
			test(harness, target, programs[i].name);
	}
}

static const struct allocator_program jemallocs[] = {
	{"jemalloc_stats", NULL, "jemalloc 5.3.0"},
	/* For addresses of 57 bits. */
	{"jemalloc_stats", "trixie", "jemalloc 5.3.0"},
	{"jemalloc_stats", "forky", "jemalloc 5.3.1"},
};
/* From a library, and of a program that carries it in itself. */
static const struct allocator_program tcmallocs[] = {
	{"tcmalloc_stats", NULL, "tcmalloc 2.10"},
	{"tcmalloc_stats_static", NULL, "tcmalloc 2.10"},
	{"tcmalloc_stats", "trixie", "tcmalloc 2.16"},
	{"tcmalloc_stats", "forky", "tcmalloc 2.18.1"},
};
static const struct allocator_program mimallocs[] = {
	{"mimalloc_stats", NULL, "mimalloc 2.0.9"},
};

static const struct allocator_program mimallocs3[] = {
	{"mimalloc_stats", "trixie", "mimalloc 3.0"},
	{"mimalloc_stats", "forky", "mimalloc 3.6"},
};

static const struct allocator_program musls[] = {
	{"musl_stats", NULL, "musl 1.2.3"},
};

#define WITH_EACH(state, programs, test)                                                           \
	with_each(harness_any(state), programs, sizeof(programs) / sizeof((programs)[0]), test)

static json_t *expect_jemalloc(struct harness *harness, struct child *target, const char *name)
{
	static const char *const same[][2] = {
		{"allocated_bytes", "allocated"}, {"active_bytes", "active"},
		{"metadata_bytes", "metadata"},	  {"mapped_bytes", "mapped"},
		{"retained_bytes", "retained"},	  {"cached_bytes", "cached"},
		{"own_bytes", "internal"},	  {"dirty_bytes", "dirty"},
		{"muzzy_bytes", "muzzy"},
	};
	json_t *truth = workload_ask(harness, target, "truth");
	json_t *process = memory_of(harness, target);
	json_t *allocator = known_allocator(process, name);

	expect_same_figures(allocator, truth, same, sizeof(same) / sizeof(same[0]));
	assert_int_equal(number_at(allocator, "live_bytes"), number_at(truth, "allocated") -
								     number_at(truth, "cached") -
								     number_at(truth, "internal"));
	expect_sums(process);
	return allocator;
}

static void fill_jemalloc(struct harness *harness, struct child *target, const char *name)
{
	json_t *allocator;

	workload_do(harness, target, "mixed");
	allocator = expect_jemalloc(harness, target, name);
	assert_true(number_at(allocator, "live_blocks") >= 40000);
	workload_do(harness, target, "large");
	expect_jemalloc(harness, target, name);
	workload_do(harness, target, "drop");
	allocator = expect_jemalloc(harness, target, name);
	assert_true(number_at(allocator, "cached_bytes") > 0);
	workload_do(harness, target, "flush");
	allocator = expect_jemalloc(harness, target, name);
	assert_int_equal(number_at(allocator, "cached_bytes"), 0);
	workload_do(harness, target, "purge");
	allocator = expect_jemalloc(harness, target, name);
	assert_int_equal(number_at(allocator, "dirty_bytes"), 0);
	assert_int_equal(number_at(allocator, "trimmable_bytes"), 0);
}

static void jemallocs_parts_are_its_statistics(void **state)
{
	WITH_EACH(state, jemallocs, fill_jemalloc);
}

static void fill_jemalloc_threads(struct harness *harness, struct child *target, const char *name)
{
	json_t *allocator;

	workload_do(harness, target, "threads");
	allocator = expect_jemalloc(harness, target, name);
	assert_int_equal(number_at(allocator, "thread_caches"), 17);
	assert_true(number_at(allocator, "arenas") > 1);
	workload_do(harness, target, "mixed");
	expect_jemalloc(harness, target, name);
}

static void jemallocs_many_arenas_and_caches_are_its_statistics(void **state)
{
	WITH_EACH(state, jemallocs, fill_jemalloc_threads);
}

static json_t *expect_tcmalloc(struct harness *harness, struct child *target, const char *name)
{
	static const char *const same[][2] = {
		{"live_bytes", "allocated"},	{"cached_bytes", "threads"},
		{"transfer_bytes", "transfer"}, {"dirty_bytes", "free"},
		{"retained_bytes", "unmapped"},
	};
	json_t *truth = workload_ask(harness, target, "truth");
	json_t *process = memory_of(harness, target);
	json_t *allocator = known_allocator(process, name);

	expect_same_figures(allocator, truth, same, sizeof(same) / sizeof(same[0]));
	assert_int_equal(number_at(allocator, "active_bytes") -
				 number_at(allocator, "allocated_bytes"),
			 number_at(truth, "central"));
	assert_int_equal(number_at(allocator, "active_bytes") +
				 number_at(allocator, "dirty_bytes") +
				 number_at(allocator, "retained_bytes"),
			 number_at(truth, "heap"));
	assert_int_equal(number_at(allocator, "allocated_bytes"),
			 number_at(allocator, "live_bytes") + number_at(allocator, "cached_bytes") +
				 number_at(allocator, "transfer_bytes"));
	expect_sums(process);
	return allocator;
}

static void fill_tcmalloc(struct harness *harness, struct child *target, const char *name)
{
	json_t *allocator;

	workload_do(harness, target, "mixed");
	allocator = expect_tcmalloc(harness, target, name);
	assert_true(number_at(allocator, "live_blocks") >= 40000);
	assert_true(number_at(allocator, "transfer_bytes") > 0);
	workload_do(harness, target, "large");
	expect_tcmalloc(harness, target, name);
	workload_do(harness, target, "drop");
	expect_tcmalloc(harness, target, name);
	workload_do(harness, target, "flush");
	allocator = expect_tcmalloc(harness, target, name);
	assert_int_equal(number_at(allocator, "cached_bytes"), 0);
	workload_do(harness, target, "purge");
	allocator = expect_tcmalloc(harness, target, name);
	assert_int_equal(number_at(allocator, "dirty_bytes"), 0);
	assert_true(number_at(allocator, "retained_bytes") > 0);
	assert_int_equal(number_at(allocator, "trimmable_bytes"), 0);
}

static void tcmallocs_parts_are_its_properties(void **state)
{
	WITH_EACH(state, tcmallocs, fill_tcmalloc);
}

static void fill_tcmalloc_threads(struct harness *harness, struct child *target, const char *name)
{
	json_t *allocator;

	workload_do(harness, target, "threads");
	allocator = expect_tcmalloc(harness, target, name);
	assert_true(number_at(allocator, "thread_caches") >= 17);
	workload_do(harness, target, "mixed");
	expect_tcmalloc(harness, target, name);
	workload_do(harness, target, "cross");
	expect_tcmalloc(harness, target, name);
}

static void tcmallocs_many_caches_are_its_properties(void **state)
{
	WITH_EACH(state, tcmallocs, fill_tcmalloc_threads);
}

static json_t *expect_mimalloc(struct harness *harness, struct child *target, const char *name)
{
	json_t *truth = workload_ask(harness, target, "truth");
	json_t *process = memory_of(harness, target);
	json_t *allocator = known_allocator(process, name);

	assert_int_equal(number_at(allocator, "live_blocks"), number_at(truth, "blocks"));
	assert_int_equal(number_at(allocator, "live_bytes"), number_at(truth, "live"));
	assert_int_equal(number_at(allocator, "mapped_bytes"), number_at(truth, "committed"));
	assert_int_equal(number_at(allocator, "allocated_bytes"),
			 number_at(allocator, "live_bytes") +
				 number_at(allocator, "transfer_bytes"));
	expect_sums(process);
	return allocator;
}

static void fill_mimalloc(struct harness *harness, struct child *target, const char *name)
{
	json_t *allocator;

	workload_do(harness, target, "mixed");
	allocator = expect_mimalloc(harness, target, name);
	assert_true(number_at(allocator, "live_blocks") >= 40000);
	workload_do(harness, target, "large");
	expect_mimalloc(harness, target, name);
	workload_do(harness, target, "threads");
	allocator = expect_mimalloc(harness, target, name);
	assert_int_equal(number_at(allocator, "arenas"), 17);
	assert_int_equal(number_at(allocator, "transfer_bytes"), 0);
	workload_do(harness, target, "cross");
	allocator = expect_mimalloc(harness, target, name);
	assert_true(number_at(allocator, "transfer_bytes") > 0);
	workload_do(harness, target, "drop");
	expect_mimalloc(harness, target, name);
	workload_do(harness, target, "purge");
	expect_mimalloc(harness, target, name);
}

static void mimallocs_parts_are_what_it_visits_and_has_committed(void **state)
{
	WITH_EACH(state, mimallocs, fill_mimalloc);
}

static void expect_blocks(struct harness *harness, struct child *target, const char *name)
{
	json_t *truth = workload_ask(harness, target, "truth");
	json_t *process = memory_of(harness, target);
	json_t *allocator = known_allocator(process, name);

	assert_int_equal(number_at(allocator, "live_blocks"), number_at(truth, "blocks"));
	assert_int_equal(number_at(allocator, "live_bytes"), number_at(truth, "live"));
	assert_int_equal(number_at(allocator, "mapped_bytes"),
			 number_at(allocator, "active_bytes") +
				 number_at(allocator, "dirty_bytes") +
				 number_at(allocator, "metadata_bytes"));
	expect_sums(process);
}

static void fill_mimalloc3(struct harness *harness, struct child *target, const char *name)
{
	static const char *const steps[] = {"mixed", "large", "drop", "purge", "threads", "cross"};
	/* To visit_blocks() of 3.0, full pages of threads are in no heap. */
	size_t count = strcmp(name, "mimalloc 3.0") ? 6 : 4;

	for (size_t i = 0; i < count; i++) {
		workload_do(harness, target, steps[i]);
		expect_blocks(harness, target, name);
	}
}

static void mimalloc3s_blocks_are_what_it_visits(void **state)
{
	WITH_EACH(state, mimallocs3, fill_mimalloc3);
}

static void fill_musl(struct harness *harness, struct child *target, const char *name)
{
	static const char *const steps[] = {"mixed", "large", "drop", "threads", "cross", "lose"};

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		json_t *truth, *process, *allocator;

		workload_do(harness, target, steps[i]);
		truth = workload_ask(harness, target, "truth");
		process = memory_of(harness, target);
		allocator = known_allocator(process, name);
		assert_int_equal(number_at(allocator, "live_blocks"), number_at(truth, "blocks"));
		/* Slots include a header, and come in 48 sizes, a fifth apart. */
		assert_in_range(number_at(allocator, "live_bytes"), number_at(truth, "live"),
				number_at(truth, "live") * 5 / 4);
		expect_sums(process);
	}
}

static void musls_blocks_are_those_of_the_program(void **state)
{
	WITH_EACH(state, musls, fill_musl);
}

static void json_is_valid_by_the_published_schema(void **state)
{
	struct harness *harness = harness_any(state);
	static const char *const names[] = {"jemalloc_stats", "tcmalloc_stats", "mimalloc_stats"};
	char path[64];

	need_schema_checker();
	snprintf(path, sizeof(path), "%s/memory.json", harness->directory);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct child *target = WORKLOAD(harness, names[i]);

		workload_do(harness, target, "mixed");
		assert_int_equal(
			child_end(harness, MONITOR(harness, "memory", "-p", target->pid_text,
						   "--format", "json", "--output", path)),
			0);
		free(shell(harness, 0,
			   "python3 -W ignore -m jsonschema -i %s user/schema/memory.schema.json",
			   path));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		e2e_test(jemallocs_parts_are_its_statistics),
		e2e_test(jemallocs_many_arenas_and_caches_are_its_statistics),
		e2e_test(tcmallocs_parts_are_its_properties),
		e2e_test(tcmallocs_many_caches_are_its_properties),
		e2e_test(mimallocs_parts_are_what_it_visits_and_has_committed),
		e2e_test(mimalloc3s_blocks_are_what_it_visits),
		e2e_test(musls_blocks_are_those_of_the_program),
		e2e_test(json_is_valid_by_the_published_schema),
	};

	return cmocka_run_group_tests_name("e2e_memory_allocators", tests, NULL, NULL);
}
