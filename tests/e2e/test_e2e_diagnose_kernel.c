// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Growth outside the process's own memory: kernel objects and System V segments; and growth in its
 * own memory without a known allocation: written pages of files, stacks of ended threads.
 */
#include "base/cleanup.h"
#include "retain_json.h"
#include "shell.h"

static json_t *diagnose(struct harness *harness, const char *pids, const char *time)
{
	struct child *monitor =
		MONITOR(harness, "diagnose", "-p", pids, "--for", time, "--format", "json");
	json_t *report;

	child_end(harness, monitor);
	report = monitor_report(harness, monitor);
	expect_schema(harness, report, "diagnosis");
	return report;
}

/* Longer, if the machine had no time for it. */
static json_t *diagnose_part(struct harness *harness, const struct child *child, const char *part)
{
	static const char *const times[] = {"15s", "40s"};
	json_t *process = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(times); i++) {
		process = process_of(diagnose(harness, child->pid_text, times[i]), child->pid);
		if (!strcmp(text_at(process, "part"), part)) {
			assert_string_equal(text_at(process, "verdict"), "grows");
			return process;
		}
	}
	fail_msg("not %s: %s", part, json_dumps(process, JSON_COMPACT));
	return process;
}

static void objects_of_the_kernel_have_the_code_that_asked_for_them(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *locks = WORKLOAD(harness, "grower", "locks", "2000");
	json_t *process = diagnose_part(harness, locks, "kernel-memory");
	json_t *kernel = json_object_get(process, "kernel");

	assert_true(stack_has_function(kernel, "one_lock"));
	assert_string_equal(text_at(kernel, "what"), "record locks");
	/* The kernel takes longer for each lock more. A lock is more than 100 bytes of the
	 * kernel's, and less than 1,000. */
	assert_true(real_at(kernel, "bytes") > 100 * (double)number_at(kernel, "count"));
	assert_true(real_at(kernel, "bytes") < 1000 * (double)number_at(kernel, "count"));
	assert_true(number_at(kernel, "count") <=
		    (json_int_t)(2100 * (real_at(kernel, "seconds") + 1)));
	assert_true(number_at(kernel, "count") >= (json_int_t)(200 * real_at(kernel, "seconds")));
}

static void names_that_do_not_exist_have_the_code_that_asked_for_them(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *names = WORKLOAD(harness, "grower", "names", "3000");
	json_t *process = diagnose_part(harness, names, "kernel-memory");

	assert_true(stack_has_function(json_object_get(process, "kernel"), "one_name"));
	assert_string_equal(text_at(json_object_get(process, "kernel"), "what"),
			    "names of files that do not exist");
}

static void objects_that_the_kernel_frees_again_are_no_leak(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *unlocked = WORKLOAD(harness, "grower", "unlocked", "2000");
	json_t *process = process_of(diagnose(harness, unlocked->pid_text, "15s"), unlocked->pid);

	assert_string_equal(text_at(process, "verdict"), "no-leak");
	assert_true(json_is_null(json_object_get(process, "kernel")));
}

/* Segments of other processes must not count. */
static void segments_belong_to_the_process_whose_children_left_them(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *segments = WORKLOAD(harness, "grower", "segments", "8");
	struct child *other = WORKLOAD(harness, "grower", "unlocked", "2000");
	json_t *process = process_of(diagnose(harness, other->pid_text, "10s"), other->pid), *sysv;

	assert_string_equal(text_at(process, "verdict"), "no-leak");
	assert_true(json_is_null(json_object_get(process, "sysv")));
	process = diagnose_part(harness, segments, "sysv-segments");

	sysv = json_object_get(process, "sysv");
	assert_int_equal(number_at(sysv, "bytes"), number_at(sysv, "segments") * (256 << 10));
	assert_true(json_is_true(json_object_get(sysv, "by_children")));
	workload_send(segments, "quit"); /* it removes them */
	child_end(harness, segments);
}

static void written_pages_of_files_have_the_code_that_mapped_them(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *copies = WORKLOAD(harness, "grower", "copies", "40");
	json_t *process = diagnose_part(harness, copies, "files");
	json_t *mapper = json_object_get(process, "mapper");

	assert_true(stack_has_function(mapper, "one_copy"));
	assert_int_equal(number_at(mapper, "bytes"), number_at(mapper, "count") * (16 << 10));
}

static void threads_that_ended_unjoined_have_the_code_that_created_them(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *forgotten = WORKLOAD(harness, "grower", "forgotten", "60");
	json_t *process = diagnose_part(harness, forgotten, "threads"), *ended, *threads;

	ended = json_object_get(process, "ended_threads");
	threads = json_object_get(ended, "threads");
	assert_true(stack_has_function(ended, "one_forgotten"));
	assert_string_equal(text_at(ended, "runs"), "end_at_once");
	assert_true(number_at(threads, "difference") >= number_at(ended, "count"));
	assert_true(number_at(ended, "stack_bytes") >= number_at(threads, "after") * 4096);
	assert_true(json_is_null(json_object_get(process, "creator")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		e2e_test(objects_of_the_kernel_have_the_code_that_asked_for_them),
		e2e_test(names_that_do_not_exist_have_the_code_that_asked_for_them),
		e2e_test(objects_that_the_kernel_frees_again_are_no_leak),
		e2e_test(segments_belong_to_the_process_whose_children_left_them),
		e2e_test(written_pages_of_files_have_the_code_that_mapped_them),
		e2e_test(threads_that_ended_unjoined_have_the_code_that_created_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
