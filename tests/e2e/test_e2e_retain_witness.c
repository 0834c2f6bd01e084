// SPDX-License-Identifier: GPL-2.0-or-later
/* Two runs on one process, a minute apart: blocks held only by left-over words, and untouched. */
#include "retain_json.h"

#include <signal.h>

/* At the end of the first run, and of the second: all blocks are the workload's. */
static json_t *look(struct harness *harness, struct child *monitor)
{
	json_t *report = monitor_report(harness, monitor);

	assert_int_equal(total_at(report, "unreachable", "blocks"), 0);
	assert_int_equal(total_at(report, "passing", "blocks"), 5);
	return report;
}

static struct child *start(struct harness *harness, struct child *target)
{
	return MONITOR(harness, "retain", "--census", "-p", target->pid_text, "--format", "json",
		       "62", "2");
}

static void what_nobody_touches_while_its_like_goes_is_probably_lost(void **state)
{
	struct harness *harness = harness_any(state);
	struct child *turning = WORKLOAD(harness, "left_over");
	struct child *resting = WORKLOAD(harness, "left_over"), *monitor, *other;
	json_t *report, *lost;

	workload_do(harness, turning, "fill");
	workload_do(harness, resting, "fill");
	monitor = start(harness, turning);
	other = start(harness, resting);
	assert_null(json_object_get(look(harness, monitor), "probably_lost"));
	look(harness, other);
	workload_do(harness, turning, "turn");
	report = look(harness, monitor);
	assert_true(number_at(report, "witness_ms") >= 60000);
	assert_int_equal(json_array_size(json_object_get(report, "probably_lost")), 1);
	lost = json_array_get(json_object_get(report, "probably_lost"), 0);
	assert_int_equal(number_at(json_object_get(lost, "total"), "blocks"), 5);
	assert_int_equal(number_at(json_object_get(lost, "total"), "bytes"), 5 * 200);
	assert_int_equal(number_at(lost, "others"), 40);
	assert_int_equal(number_at(lost, "others_gone"), 40);
	/* If the others stay as well, it proves nothing. */
	report = look(harness, other);
	assert_int_equal(json_array_size(json_object_get(report, "probably_lost")), 0);
	assert_int_equal(child_end(harness, monitor), 0);
	assert_int_equal(child_end(harness, other), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		e2e_test(what_nobody_touches_while_its_like_goes_is_probably_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
