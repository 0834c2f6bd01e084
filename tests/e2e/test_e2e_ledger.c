// SPDX-License-Identifier: GPL-2.0-or-later
/* The numbers: leakmon's counts equal the truth, to the last block and byte. */
#include "harness.h"

#include <bpf/bpf.h>
#include <dirent.h>
#include <signal.h>
#include <time.h>

/* Attach, `go`, compare. */
static void expect_exact(struct harness *harness, struct child *workload, json_t *report)
{
	expect_truth(report, workload_ask(harness, workload, "ledger"));
}

static void every_allocator_function_is_counted_exactly(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "allocators");

	expect_exact(harness, workload, WATCH(harness, workload, "go"));
}

static void probes_at_the_entry_count_the_same(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "allocators");

	expect_exact(harness, workload, WATCH(harness, workload, "go", "--probe-at=entry"));
}

static void perf_uprobes_count_the_same(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "allocators");

	expect_exact(harness, workload, WATCH(harness, workload, "go", "--attach", "perf"));
}

static void counters_without_ages_agree(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "allocators");
	struct child *monitor = MONITOR_ATTACHED(harness, "-p", workload->pid_text, "-C",
						 "--format", "json", "3600");

	workload_do(harness, workload, "go");
	expect_exact(harness, workload, monitor_stop(harness, monitor));
}

/* LEAKMON_TEST_CALLS: how many, in place of 5 million. */
static void five_million_mixed_calls_balance_to_the_last_byte(void **state)
{
	struct harness *harness = harness_bpf(state);
	const char *setting = getenv("LEAKMON_TEST_CALLS");
	long calls = setting ? atol(setting) : 5000000;
	struct child *workload;
	char per_thread[32];

	harness->limit_ms *= 10;
	snprintf(per_thread, sizeof(per_thread), "%ld", calls / 4);
	workload = WORKLOAD(harness, "mixed", "4", per_thread, "20261120");
	expect_exact(harness, workload, WATCH(harness, workload, "go"));
}

static void an_address_that_bounces_between_threads_is_never_lost(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "pingpong", "500000");

	expect_exact(harness, workload, WATCH(harness, workload, "go"));
}

static void ten_thousand_stacks_are_ten_thousand_sites(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "sites", "10000");
	json_t *report = WATCH(harness, workload, "go");

	expect_exact(harness, workload, report);
	assert_int_equal(held_by(process_of(report, workload->pid), "leak_leaf").sites, 10000);
}

static void a_million_blocks_come_and_go(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "blocks", "1000000");
	struct child *monitor =
		MONITOR_ATTACHED(harness, "-p", workload->pid_text, "-o", "0", "--format", "json",
				 "--max-blocks", "1500000", "3600");

	workload_do(harness, workload, "go");
	child_signal(monitor, SIGUSR1);
	expect_exact(harness, workload, monitor_report(harness, monitor));
	workload_do(harness, workload, "free");
	expect_exact(harness, workload, monitor_stop(harness, monitor));
}

/* Dropped allocations are counted by cause, never silently. */
static void a_full_block_table_is_confessed_and_the_ledger_balances(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "blocks", "5000");
	json_t *report = WATCH(harness, workload, "go", "--max-blocks", "1000");
	json_t *dropped = json_object_get(json_object_get(report, "ledger"), "dropped");
	json_t *process = process_of(report, workload->pid);

	expect_balance(report);
	assert_int_equal(ledger_at(report, "allocations"), 5000);
	assert_int_equal(number_at(dropped, "blocks_full"), 4000);
	assert_int_equal(ledger_at(report, "outstanding"), 1000);
	assert_true(json_is_false(json_object_get(process, "exact")));
	expect_held(process, "leak_block", 1000, 16000);
}

static void a_full_block_table_makes_room_when_blocks_are_freed(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "blocks", "5000");
	struct child *monitor =
		MONITOR_ATTACHED(harness, "-p", workload->pid_text, "-o", "0", "--format", "json",
				 "--max-blocks", "1000", "3600");
	json_t *report;

	workload_do(harness, workload, "go");
	workload_do(harness, workload, "free");
	workload_do(harness, workload, "go");
	report = monitor_stop(harness, monitor);
	expect_balance(report);
	assert_int_equal(ledger_at(report, "allocations"), 10000);
	assert_int_equal(ledger_at(report, "frees"), 1000);
	assert_int_equal(ledger_at(report, "untracked_frees"), 4000);
	assert_int_equal(ledger_at(report, "outstanding"), 1000);
}

static void blocks_without_a_site_are_kept_under_lost(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "sites", "1000");
	json_t *report = WATCH(harness, workload, "go", "--max-sites", "100");
	json_t *truth = workload_ask(harness, workload, "ledger");
	json_t *process = process_of(report, workload->pid);
	json_t *lost = json_object_get(json_object_get(report, "ledger"), "lost_stacks");
	struct held named = held_by(process, "leak_leaf");

	expect_balance(report);
	assert_int_equal(dropped_sum(report), 0);
	assert_int_equal(named.count + number_at(lost, "sites_full"), 1000);
	assert_in_range(named.sites, 1, 100);
	assert_int_equal(number_at(process, "outstanding_count"), 1000);
	assert_int_equal(number_at(process, "outstanding_bytes"),
			 number_at(truth, "outstanding_bytes"));
	assert_true(json_is_false(json_object_get(process, "exact")));
}

static void jumper_is_exact(void **state, const char *command)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "jumper");

	expect_exact(harness, workload, WATCH(harness, workload, command));
}

static void a_handler_on_an_alternate_stack_is_counted(void **state)
{
	jumper_is_exact(state, "altstack");
}

static void a_handler_below_an_interrupted_call_is_no_inner_call(void **state)
{
	jumper_is_exact(state, "nested_low");
}

static void a_call_left_by_longjmp_is_abandoned(void **state)
{
	jumper_is_exact(state, "longjmp");
}

static void two_monitors_on_one_process_both_count_exactly(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "allocators");
	struct child *other = MONITOR_ATTACHED(harness, "-p", workload->pid_text, "-o", "0",
					       "--format", "json", "3600");

	expect_exact(harness, workload, WATCH(harness, workload, "go"));
	expect_exact(harness, workload, monitor_stop(harness, other));
}

/* The blocks counted one by one equal the ledger, except for activity in between. */
static void expect_agreement(json_t *process, json_t *report)
{
	json_int_t difference = ledger_at(report, "scanned") - ledger_at(report, "outstanding");

	assert_in_range(difference < 0 ? -difference : difference, 0, ledger_at(report, "moved"));
	assert_true(json_is_true(json_object_get(process, "exact")));
}

/* Blocks inside a realloc are in neither count, or in one of both. */
static void reports_amid_calls_are_not_mistaken_for_inexact(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "mixed", "4", "100000", "20261122");
	struct child *monitor = MONITOR_ATTACHED(harness, "-p", workload->pid_text, "-o", "0",
						 "--format", "json", "-T", "1", "3600");
	json_t *report;

	workload_send(workload, "go");
	for (int i = 0; i < 40; i++) {
		child_signal(monitor, SIGUSR1);
		report = monitor_report(harness, monitor);
		expect_balance(report);
		expect_agreement(process_of(report, workload->pid), report);
	}
	free(child_line(harness, workload, &workload->out));
	report = monitor_stop(harness, monitor);
	assert_int_equal(ledger_at(report, "moved"), 0);
	assert_int_equal(ledger_at(report, "scanned"), ledger_at(report, "outstanding"));
}

/* Returns the map of that ID if it is the live set; else -1. */
static int live_set_open(uint32_t id)
{
	struct bpf_map_info info = {0};
	uint32_t size = sizeof(info);
	int fd = bpf_map_get_fd_by_id(id);

	if (fd >= 0 && !bpf_obj_get_info_by_fd(fd, &info, &size) && !strcmp(info.name, "blocks"))
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

static int live_set_of(const struct child *monitor)
{
	char path[300], line[128];
	struct dirent *entry;
	int found = -1;
	DIR *directory;

	snprintf(path, sizeof(path), "/proc/%d/fdinfo", monitor->pid);
	directory = opendir(path);
	assert_non_null(directory);
	while (found < 0 && (entry = readdir(directory))) {
		uint32_t id;
		FILE *file;

		snprintf(path, sizeof(path), "/proc/%d/fdinfo/%s", monitor->pid, entry->d_name);
		file = fopen(path, "r");
		while (file && fgets(line, sizeof(line), file)) {
			if (sscanf(line, "map_id: %u", &id) == 1)
				found = live_set_open(id);
		}
		if (file)
			fclose(file);
	}
	closedir(directory);
	assert_true(found >= 0);
	return found;
}

/* Removes a block without the monitor's knowledge. */
static void take_one_block(const struct child *monitor)
{
	int fd = live_set_of(monitor);
	uint64_t key[2]; /* struct lm_block_key */

	assert_int_equal(bpf_map_get_next_key(fd, NULL, key), 0);
	assert_int_equal(bpf_map_delete_elem(fd, key), 0);
	close(fd);
}

static void a_live_set_that_contradicts_the_ledger_is_inexact_in_json(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "blocks", "100");
	struct child *monitor = MONITOR_ATTACHED(harness, "-p", workload->pid_text, "-o", "0",
						 "--format", "json", "3600");
	json_t *report, *process, *causes;

	workload_do(harness, workload, "go");
	child_signal(monitor, SIGUSR1);
	report = monitor_report(harness, monitor);
	expect_agreement(process_of(report, workload->pid), report);
	take_one_block(monitor);
	report = monitor_stop(harness, monitor);
	process = process_of(report, workload->pid);
	causes = json_object_get(process, "inexact");
	assert_int_equal(ledger_at(report, "outstanding"), 100);
	assert_int_equal(ledger_at(report, "scanned"), 99);
	assert_int_equal(ledger_at(report, "moved"), 0);
	assert_true(json_is_false(json_object_get(process, "exact")));
	assert_int_equal(json_array_size(causes), 1);
	assert_string_equal(json_string_value(json_array_get(causes, 0)), "ledger");
}

static void a_live_set_that_contradicts_the_ledger_is_inexact_in_text(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "blocks", "100");
	struct child *monitor =
		MONITOR_ATTACHED(harness, "-p", workload->pid_text, "-o", "0", "3600");

	workload_do(harness, workload, "go");
	take_one_block(monitor);
	child_signal(monitor, SIGINT);
	child_wait_text(harness, monitor, &monitor->out, " (inexact)");
	child_wait_text(harness, monitor, &monitor->out,
			"inexact: the live set holds 99 blocks, the ledger says 100\n");
	assert_int_equal(child_end(harness, monitor), 0);
}

/* Attached in the middle of the storm: blocks from before are untracked, none is miscounted. */
static void attaching_to_a_busy_process_keeps_the_ledger_balanced(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "crasher");
	struct child *monitor;
	json_t *report, *truth;

	workload_do(harness, workload, "storm");
	monitor = MONITOR_ATTACHED(harness, "-p", workload->pid_text, "-o", "0", "--format", "json",
				   "3600");
	do { /* until most blocks are from after the attach, however busy this machine is */
		child_signal(monitor, SIGUSR1);
		report = monitor_report(harness, monitor);
		expect_balance(report);
		expect_agreement(process_of(report, workload->pid), report);
	} while (ledger_at(report, "allocations") < 20000);
	workload_do(harness, workload, "calm");
	report = monitor_stop(harness, monitor);
	truth = workload_ask(harness, workload, "ledger");
	expect_balance(report);
	assert_int_equal(dropped_sum(report), 0);
	assert_in_range(ledger_at(report, "outstanding"), 1, number_at(truth, "outstanding_count"));
	workload_send(workload, "quit");
	assert_int_equal(child_end(harness, workload), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		e2e_test(every_allocator_function_is_counted_exactly),
		e2e_test(probes_at_the_entry_count_the_same),
		e2e_test(perf_uprobes_count_the_same),
		e2e_test(counters_without_ages_agree),
		e2e_test(five_million_mixed_calls_balance_to_the_last_byte),
		e2e_test(an_address_that_bounces_between_threads_is_never_lost),
		e2e_test(ten_thousand_stacks_are_ten_thousand_sites),
		e2e_test(a_million_blocks_come_and_go),
		e2e_test(a_full_block_table_is_confessed_and_the_ledger_balances),
		e2e_test(a_full_block_table_makes_room_when_blocks_are_freed),
		e2e_test(blocks_without_a_site_are_kept_under_lost),
		e2e_test(a_handler_on_an_alternate_stack_is_counted),
		e2e_test(a_handler_below_an_interrupted_call_is_no_inner_call),
		e2e_test(a_call_left_by_longjmp_is_abandoned),
		e2e_test(two_monitors_on_one_process_both_count_exactly),
		e2e_test(attaching_to_a_busy_process_keeps_the_ledger_balanced),
		e2e_test(reports_amid_calls_are_not_mistaken_for_inexact),
		e2e_test(a_live_set_that_contradicts_the_ledger_is_inexact_in_json),
		e2e_test(a_live_set_that_contradicts_the_ledger_is_inexact_in_text),
	};

	return cmocka_run_group_tests_name("e2e_ledger", tests, NULL, NULL);
}
