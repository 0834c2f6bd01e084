// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * `leakmon profile --own`: the heap profiles that processes keep of themselves, against programs
 * that know their own blocks. No BPF is needed.
 */
#include "retain_json.h"
#include "shell.h"
#include "tree.h"

#define PROFILE(harness, target, ...)                                                              \
	report_of(harness, MONITOR(harness, "profile", "-p", (target)->pid_text, "--own",          \
				   "--format", "json", "--top", "0", ##__VA_ARGS__))

static json_t *profile_in(json_t *report, const char *source)
{
	json_t *profile = json_object_get(report, "heap_profile");

	assert_string_equal(text_at(profile, "source"), source);
	assert_string_equal(text_at(profile, "cannot_tell"), "");
	return profile;
}

/* The site whose innermost frame, or its caller, is a function; NULL: none. */
static json_t *profiled_site(json_t *profile, const char *function)
{
	json_t *sites = json_object_get(profile, "sites"), *site;
	size_t i;

	json_array_foreach(sites, i, site)
	{
		json_t *frames = json_object_get(site, "frames");

		for (size_t j = 0; j < 2; j++) {
			if (!strcmp(text_at(json_array_get(frames, j), "function"), function))
				return site;
		}
	}
	return NULL;
}

static void expect_exact(json_t *profile, const char *function, double objects, double bytes)
{
	json_t *site = profiled_site(profile, function);

	assert_non_null(site);
	assert_true(json_number_value(json_object_get(site, "objects")) == objects);
	assert_true(json_number_value(json_object_get(site, "bytes")) == bytes);
}

/* -------- jemalloc */

static void every_block_is_sampled(void)
{
	setenv("MALLOC_CONF", "prof:true,lg_prof_sample:0", 1);
	setenv("LD_PRELOAD", "libjemalloc.so.2", 1);
}

static void one_in_four_kib_is_sampled(void)
{
	setenv("MALLOC_CONF", "prof:true,lg_prof_sample:12", 1);
	setenv("LD_PRELOAD", "libjemalloc.so.2", 1);
}

static struct child *start(struct harness *harness, void (*prepare)(void))
{
	struct child *child = child_start(harness, "build/workloads/own_samples",
					  ARGUMENTS("own_samples"), prepare);
	char *line = child_line(harness, child, &child->out);

	assert_memory_equal(line, "ready", 5);
	free(line);
	return child;
}

/* Every block was sampled. Returns the profile, which the harness frees. */
static json_t *expect_all_exact(struct harness *harness, struct child *target, const char *source)
{
	json_t *profile;

	workload_do(harness, target, "keep");
	profile = profile_in(PROFILE(harness, target), source);
	assert_int_equal(number_at(profile, "rate"), 1);
	expect_exact(profile, "keep_small", 300, 300 * 1024);
	expect_exact(profile, "keep_in_thread", 300, 300 * 1024);
	expect_exact(profile, "keep_large", 20, 20 * 81920);
	assert_null(profiled_site(profile, "make_and_free"));
	return profile;
}

static void jemalloc_that_samples_all_is_exact(void **state)
{
	struct harness *harness = harness_any(state);
	struct child *target = start(harness, every_block_is_sampled);
	json_t *profile = expect_all_exact(harness, target, "jemalloc");

	assert_null(profiled_site(profile, "keep_more"));
	workload_do(harness, target, "more");
	expect_exact(profile_in(PROFILE(harness, target), "jemalloc"), "keep_more", 100,
		     100 * 1024);
}

/* 300 blocks at a chance of 22 %: their estimate is within 4 standard deviations. */
static void expect_near(json_t *site, double truth)
{
	double bytes = json_number_value(json_object_get(site, "bytes"));
	json_t *limits = json_object_get(site, "bytes_limits");

	assert_non_null(site);
	assert_true(bytes > truth / 2 && bytes < truth * 3 / 2);
	assert_true(json_number_value(json_array_get(limits, 0)) < bytes);
	assert_true(json_number_value(json_array_get(limits, 1)) > bytes);
	assert_true(json_number_value(json_array_get(limits, 1)) < 2 * bytes);
}

static void jemalloc_samples_are_weighed_and_have_limits(void **state)
{
	struct harness *harness = harness_any(state);
	struct child *target = start(harness, one_in_four_kib_is_sampled);
	json_t *profile;

	workload_do(harness, target, "keep");
	profile = profile_in(PROFILE(harness, target), "jemalloc");
	assert_int_equal(number_at(profile, "rate"), 4096);
	expect_near(profiled_site(profile, "keep_small"), 300 * 1024);
	expect_near(profiled_site(profile, "keep_in_thread"), 300 * 1024);
	/* So large that each was sampled. */
	assert_true(json_number_value(json_object_get(profiled_site(profile, "keep_large"),
						      "bytes")) == 20 * 81920);
}

/* -------- gperftools */

static void the_heap_profiler_is_on(void)
{
	setenv("HEAPPROFILE", "/tmp/leakmon-e2e-heap-profile", 1);
	setenv("LD_PRELOAD", "libtcmalloc.so.4", 1);
}

static void gperftools_is_exact(void **state)
{
	struct harness *harness = harness_any(state);
	struct child *target = start(harness, the_heap_profiler_is_on);

	expect_all_exact(harness, target, "gperftools");
}

static void a_process_without_a_profile_is_refused(void **state)
{
	struct harness *harness = harness_any(state);
	struct child *target = start(harness, NULL);
	struct child *monitor = MONITOR(harness, "profile", "-p", target->pid_text, "--own");

	assert_int_equal(child_end(harness, monitor), 1);
	assert_non_null(strstr(monitor->err.text, "no heap profile of its own is found"));
}

/* -------- tracemalloc */

static bool is_of_stack(json_t *site, json_t *lines)
{
	json_t *frames = json_object_get(site, "frames");
	size_t count = json_array_size(lines);

	if (json_array_size(frames) != count)
		return false;
	for (size_t i = 0; i < count; i++) {
		json_t *frame = json_array_get(frames, i), *line = json_array_get(lines, i);

		if (strcmp(text_at(frame, "file"), json_string_value(json_array_get(line, 0))) !=
			    0 ||
		    number_at(frame, "line") != json_integer_value(json_array_get(line, 1)))
			return false;
	}
	return true;
}

/* Every stack of the program's own count, exactly. */
static void expect_traces(json_t *profile, json_t *truth)
{
	json_t *sites = json_object_get(profile, "sites"), *row, *site;
	size_t i, j;

	assert_true(json_array_size(truth) >= 3);
	json_array_foreach(truth, i, row)
	{
		json_t *found = NULL;

		json_array_foreach(sites, j, site)
		{
			if (is_of_stack(site, json_array_get(row, 0)))
				found = site;
		}
		assert_non_null(found);
		assert_true(json_number_value(json_object_get(found, "objects")) ==
			    json_number_value(json_array_get(row, 1)));
		assert_true(json_number_value(json_object_get(found, "bytes")) ==
			    json_number_value(json_array_get(row, 2)));
	}
}

static void expect_python(struct harness *harness, const char *root, const char *path,
			  const char *frames)
{
	const char *script = *root ? "/tmp/leakmon-e2e-traced.py" : "tests/runtimes/traced.py";
	struct child *target;
	json_t *report;

	if (*root) {
		free(shell(harness, 0, "cp tests/runtimes/traced.py %s%s", root, script));
		target = start_ready(harness, "/usr/sbin/chroot",
				     ARGUMENTS("chroot", root, path, script, frames), NULL);
	} else {
		target = start_ready(harness, path, ARGUMENTS("python3", script, frames), NULL);
	}
	report = PROFILE(harness, target);
	expect_traces(profile_in(report, "tracemalloc"), workload_ask(harness, target, "truth"));
	child_kill(target);
}

static void tracemalloc_is_read_as_python_counts_it(void **state)
{
	static const char *const trees[][2] = {{"trixie", "/usr/bin/python3.13"},
					       {"forky", "/usr/bin/python3.14"},
					       {"sid", "/usr/bin/python3.15"}};
	struct harness *harness = harness_any(state);
	char root[256];

	expect_python(harness, "", "/usr/bin/python3", "1");
	expect_python(harness, "", "/usr/bin/python3", "10");
	for (size_t i = 0; i < sizeof(trees) / sizeof(*trees); i++) {
		if (tree_has(trees[i][0], trees[i][1], root, sizeof(root)))
			expect_python(harness, root, trees[i][1], "10");
		else
			fprintf(stderr, "SKIPPED: %s of %s is not there\n", trees[i][1],
				trees[i][0]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		e2e_test(jemalloc_that_samples_all_is_exact),
		e2e_test(jemalloc_samples_are_weighed_and_have_limits),
		e2e_test(gperftools_is_exact),
		e2e_test(a_process_without_a_profile_is_refused),
		e2e_test(tracemalloc_is_read_as_python_counts_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
