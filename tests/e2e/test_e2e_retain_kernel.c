// SPDX-License-Identifier: GPL-2.0-or-later
/* `leakmon retain` on blocks that no word of the process points to, but the kernel does. */
#include <linux/capability.h>
#include <sys/prctl.h>

#include "retain_json.h"

static json_t *kind_named(json_t *list, const char *name)
{
	json_t *found;
	size_t i;

	json_array_foreach(list, i, found)
	{
		if (!strcmp(text_at(found, "name"), name))
			return found;
	}
	return NULL;
}

static json_t *picture_of(json_t *report)
{
	return json_object_get(report, "picture");
}

/* Every kind of holder that this kernel has, with each of its blocks. */
static void expect_kinds(json_t *report, json_t *truth)
{
	json_t *kind;
	size_t i;

	json_array_foreach(json_object_get(truth, "kinds"), i, kind)
	{
		const char *name = text_at(kind, "name");
		json_t *root = kind_named(json_object_get(report, "roots"), name);
		json_int_t blocks = number_at(kind, "blocks");

		print_message("  %s: %" JSON_INTEGER_FORMAT " blocks\n", name, blocks);
		if (!blocks)
			continue;
		assert_non_null(root);
		assert_string_equal(text_at(root, "kind"), "kernel");
		assert_int_equal(number_at(root, "led_blocks"), blocks);
	}
}

static void expect_lost(json_t *report, json_t *truth, json_int_t more)
{
	assert_int_equal(total_at(report, "lost", "blocks"),
			 number_at(truth, "lost_blocks") + more);
}

static void what_the_kernel_alone_points_to_is_held_and_what_nothing_does_is_lost(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *target = WORKLOAD(harness, "in_kernel");
	json_t *truth, *report;

	workload_do(harness, target, "go");
	truth = workload_ask(harness, target, "truth");
	report = RETAIN(harness, target, "--top", "0");
	expect_kinds(report, truth);
	expect_lost(report, truth, 0);
	assert_true(json_is_true(json_object_get(report, "settled")));
	assert_true(json_is_null(json_object_get(picture_of(report), "why_kernel_unread")));
	assert_true(json_is_null(json_object_get(picture_of(report), "why_kernel_uncertain")));
}

static void without_a_stop_it_is_held_too(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *target = WORKLOAD(harness, "in_kernel");
	json_t *truth, *report;

	workload_do(harness, target, "go");
	truth = workload_ask(harness, target, "truth");
	report = RETAIN(harness, target, "--no-stop", "--top", "0");
	expect_kinds(report, truth);
	expect_lost(report, truth, 0);
}

/* Requests with IOSQE_IO_DRAIN wait on a separate list. */
static void requests_that_are_counted_and_not_found_leave_it_unsettled(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *target = WORKLOAD(harness, "in_kernel");
	json_t *truth, *report;

	workload_do(harness, target, "go");
	for (int i = 0; i < 3; i++)
		workload_do(harness, target, "drain");
	truth = workload_ask(harness, target, "truth");
	if (!number_at(truth, "drained"))
		skip();
	report = RETAIN(harness, target, "--top", "0");
	assert_int_equal(number_at(truth, "drained"), 3);
	expect_lost(report, truth, 3);
	assert_true(json_is_false(json_object_get(report, "settled")));
	assert_non_null(strstr(text_at(picture_of(report), "why_kernel_uncertain"), "io_uring"));
}

static void drop_bpf(void)
{
	if (prctl(PR_CAPBSET_DROP, CAP_SYS_ADMIN, 0, 0, 0) ||
	    prctl(PR_CAPBSET_DROP, CAP_BPF, 0, 0, 0) ||
	    prctl(PR_CAPBSET_DROP, CAP_PERFMON, 0, 0, 0))
		_exit(127);
}

static void without_bpf_the_report_says_what_is_missing_and_that_it_is_not_settled(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *target = WORKLOAD(harness, "in_kernel");
	json_t *truth, *report;

	workload_do(harness, target, "go");
	truth = workload_ask(harness, target, "truth");
	report = report_of(
		harness,
		monitor_start(harness,
			      ARGUMENTS("leakmon", "retain", "-p", target->pid_text, "--census",
					"--max-pause", "5000", "--format", "json"),
			      drop_bpf));
	assert_non_null(strstr(text_at(picture_of(report), "why_kernel_unread"), "CAP_BPF"));
	if (!number_at(kind_named(json_object_get(truth, "kinds"), "io_uring request"), "blocks"))
		return;
	assert_true(json_is_false(json_object_get(report, "settled")));
	assert_non_null(strstr(text_at(picture_of(report), "why_kernel_uncertain"), "io_uring"));
}

/* Lack of BPF alone makes nothing uncertain. */
static void without_bpf_a_process_without_requests_is_settled(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *target = WORKLOAD(harness, "holder");
	json_t *report = report_of(
		harness,
		monitor_start(harness,
			      ARGUMENTS("leakmon", "retain", "-p", target->pid_text, "--census",
					"--max-pause", "5000", "--format", "json"),
			      drop_bpf));

	assert_true(json_is_true(json_object_get(report, "settled")));
	assert_non_null(strstr(text_at(picture_of(report), "why_kernel_unread"), "CAP_BPF"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		e2e_test(what_the_kernel_alone_points_to_is_held_and_what_nothing_does_is_lost),
		e2e_test(without_a_stop_it_is_held_too),
		e2e_test(requests_that_are_counted_and_not_found_leave_it_unsettled),
		e2e_test(without_bpf_the_report_says_what_is_missing_and_that_it_is_not_settled),
		e2e_test(without_bpf_a_process_without_requests_is_settled),
	};

	return cmocka_run_group_tests_name("e2e_retain_kernel", tests, NULL, NULL);
}
