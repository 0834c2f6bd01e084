// SPDX-License-Identifier: GPL-2.0-or-later
/* Several processes at once: chosen by name, forked, started later, ended; and their fair share. */
#include "harness.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>

#define STORM 2000

static size_t descriptors_of(pid_t pid)
{
	char path[64];
	size_t count = 0;
	DIR *directory;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	directory = opendir(path);
	assert_non_null(directory);
	while (readdir(directory))
		count++;
	closedir(directory);
	return count;
}

static long resident_kb(pid_t pid)
{
	char path[64], line[256];
	FILE *status;
	long kb = 0;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	status = fopen(path, "re");
	assert_non_null(status);
	while (fgets(line, sizeof(line), status))
		sscanf(line, "VmRSS: %ld", &kb);
	fclose(status);
	return kb;
}

static void inherited_frees_are_no_errors_and_children_have_ledgers_of_their_own(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *brood = WORKLOAD(harness, "brood");
	struct child *monitor = MONITOR_ATTACHED(harness, "-p", brood->pid_text, "-f", "-o", "0",
						 "--format", "json", "3600");
	json_t *report, *truth, *child;

	workload_do(harness, brood, "seed");
	workload_do(harness, brood, "fork");
	monitor_wait_attached(harness, monitor, workload_child(harness, brood));
	truth = workload_ask(harness, brood, "work");
	workload_do(harness, brood, "late");
	report = monitor_snapshot(harness, monitor);
	expect_balance(report);
	assert_int_equal(ledger_at(report, "inherited_frees"), 4);
	assert_int_equal(ledger_at(report, "untracked_frees"), 0);
	expect_held(process_of(report, brood->pid), "leak_seed", 13, 13 * 64);
	child = process_of(report, workload_child(harness, brood));
	expect_held(child, "leak_own", number_at(truth, "outstanding_count"),
		    number_at(truth, "outstanding_bytes"));
	assert_true(json_is_true(json_object_get(child, "exact")));

	/* The child's blocks go with it. */
	workload_do(harness, brood, "end");
	report = monitor_stop(harness, monitor);
	expect_balance(report);
	assert_int_equal(ledger_at(report, "purged"), 5);
	assert_int_equal(ledger_at(report, "outstanding"), 13);
	assert_int_equal(json_array_size(json_object_get(report, "processes")), 1);
}

static void a_name_chooses_those_that_run_and_those_that_start_later(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *first = WORKLOAD(harness, "blocks", "7", "100"), *second;
	struct child *other = WORKLOAD(harness, "leak");
	struct child *monitor = MONITOR_ATTACHED(harness, "--comm", "blocks", "-o", "0", "--format",
						 "json", "3600");
	json_t *report;

	second = WORKLOAD(harness, "blocks", "9", "10");
	monitor_wait_attached(harness, monitor, second->pid);
	workload_do(harness, first, "go");
	workload_do(harness, second, "go");
	workload_do(harness, other, "go");
	report = monitor_snapshot(harness, monitor);
	expect_balance(report);
	assert_int_equal(json_array_size(json_object_get(report, "processes")), 2);
	expect_held(process_of(report, first->pid), "leak_block", 7, 700);
	expect_held(process_of(report, second->pid), "leak_block", 9, 90);

	/* The monitor continues after all have ended: more may come. */
	child_kill(first);
	child_kill(second);
	report = monitor_snapshot(harness, monitor);
	assert_int_equal(json_array_size(json_object_get(report, "processes")), 0);
	assert_int_equal(ledger_at(report, "purged"), 16);
	expect_balance(monitor_stop(harness, monitor));
}

static void a_name_that_nobody_has_lists_the_names_there_are(void **state)
{
	struct harness *harness = harness_bpf(state);

	monitor_expect_error(harness, MONITOR(harness, "--comm", "nobody-is-called-so", "1"), 1,
			     "processes here: ");
}

/*
 * Returns the sum of the numbers that follow `beginning` in lines; a line without a number counts
 * 1.
 */
static long sum_of_lines(const char *text, const char *beginning, const char *end)
{
	long sum = 0;

	for (const char *at = text; (at = strstr(at, beginning)); at++) {
		char *behind;
		long number = strtol(at + strlen(beginning), &behind, 10);

		if (!end)
			sum++;
		else if (!strncmp(behind, end, strlen(end)))
			sum += number;
	}
	return sum;
}

/* Each was either attached to, or counted as ended before. */
static void expect_children_accounted_for(struct child *monitor, long children)
{
	const char *said = monitor->err.text;

	assert_int_equal(sum_of_lines(said, "attached to PID ", NULL) - 1 +
				 sum_of_lines(said, "leakmon: ", " matching process") +
				 sum_of_lines(said, "leakmon: ", " process"),
			 children);
}

static void a_fork_storm_loses_no_target_and_leaks_nothing_of_ours(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *brood = WORKLOAD(harness, "brood", "2000");
	struct child *monitor = MONITOR_ATTACHED(harness, "-p", brood->pid_text, "-f", "-o", "0",
						 "--format", "json", "3600");
	size_t descriptors;
	json_t *report;
	long kb;

	/* One-time allocations have happened after the first of two storms. */
	workload_do(harness, brood, "seed");
	workload_do(harness, brood, "storm");
	monitor_snapshot(harness, monitor);
	monitor_snapshot(harness, monitor);
	descriptors = descriptors_of(monitor->pid);
	kb = resident_kb(monitor->pid);
	workload_do(harness, brood, "storm");
	workload_do(harness, brood, "late");
	monitor_snapshot(harness, monitor);
	report = monitor_snapshot(harness, monitor);
	assert_in_range(descriptors_of(monitor->pid), descriptors - 16, descriptors + 1);
	assert_true(resident_kb(monitor->pid) - kb < 4096);
	expect_held(process_of(report, brood->pid), "leak_seed", 13, 13 * 64);
	assert_int_equal(json_array_size(json_object_get(report, "processes")), 1);
	expect_balance(report);
	assert_int_equal(dropped_sum(report), 0);
	expect_balance(monitor_stop(harness, monitor));
	expect_children_accounted_for(monitor, 4000);
}

static void one_process_that_leaks_fast_leaves_the_others_their_share(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *greedy = WORKLOAD(harness, "blocks", "5000", "16");
	struct child *modest = WORKLOAD(harness, "leak");
	const json_int_t taken = 751 - 18; /* the modest one had 18 by then */
	char pids[32];
	struct child *monitor;
	json_t *report, *dropped;

	snprintf(pids, sizeof(pids), "%d,%d", greedy->pid, modest->pid);
	monitor = MONITOR(harness, "-p", pids, "-o", "0", "--max-blocks", "1000", "--format",
			  "json", "3600");
	monitor_wait_attached(harness, monitor, greedy->pid);
	monitor_wait_attached(harness, monitor, modest->pid);
	workload_do(harness, modest, "go");
	workload_do(harness, greedy, "go");
	workload_do(harness, modest, "go");
	report = monitor_stop(harness, monitor);
	expect_balance(report);
	/* Together they may fill three quarters; the rest is for those below their share. */
	expect_held(process_of(report, greedy->pid), "leak_block", taken, taken * 16);
	assert_true(json_is_false(json_object_get(process_of(report, greedy->pid), "exact")));
	dropped = json_object_get(json_object_get(report, "ledger"), "dropped");
	assert_int_equal(number_at(dropped, "share"), 5000 - taken);
	assert_true(json_is_true(json_object_get(process_of(report, modest->pid), "exact")));
	expect_held(process_of(report, modest->pid), "leak_a", 20, 2000);
	expect_held(process_of(report, modest->pid), "leak_b", 10, 10000);
	expect_held(process_of(report, modest->pid), "leak_c", 6, 6 * 4096);
}

/* Three quarters of the room, of blocks and of stacks, are all that the greedy one gets. */
static void one_greedy_process_starves_none_of_forty_nine(void **state)
{
	enum { OTHERS = 49, BLOCKS = 10000, TAKEN = 3001 };
	struct harness *harness = harness_bpf(state);
	struct child *greedy = WORKLOAD(harness, "sites", "10000"), *others[OTHERS], *monitor;
	char pids[16 * (OTHERS + 1)];
	json_t *report, *ledger;
	int length;

	length = snprintf(pids, sizeof(pids), "%d", greedy->pid);
	for (size_t i = 0; i < OTHERS; i++) {
		others[i] = WORKLOAD(harness, "leak");
		length += snprintf(pids + length, sizeof(pids) - (size_t)length, ",%d",
				   others[i]->pid);
	}
	monitor = MONITOR(harness, "-p", pids, "-o", "0", "--max-blocks", "4000", "--max-sites",
			  "1000", "--format", "json", "3600");
	monitor_wait_attached(harness, monitor, others[OTHERS - 1]->pid);
	workload_do(harness, greedy, "go");
	for (size_t i = 0; i < OTHERS; i++)
		workload_do(harness, others[i], "go");
	report = monitor_stop(harness, monitor);
	expect_balance(report);
	for (size_t i = 0; i < OTHERS; i++) {
		json_t *process = process_of(report, others[i]->pid);

		expect_held(process, "leak_a", 10, 1000);
		expect_held(process, "leak_b", 5, 5000);
		expect_held(process, "leak_c", 3, 12288);
		assert_true(json_is_true(json_object_get(process, "exact")));
	}
	ledger = json_object_get(report, "ledger");
	assert_int_equal(number_at(json_object_get(ledger, "dropped"), "share"), BLOCKS - TAKEN);
	assert_int_equal(dropped_sum(report), BLOCKS - TAKEN);
	assert_int_equal(number_at(process_of(report, greedy->pid), "outstanding_count"), TAKEN);
	assert_in_range(held_by(process_of(report, greedy->pid), "leak_leaf").sites, 700, 751);
}

static void a_process_without_a_slot_is_counted_as_dropped(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *first = WORKLOAD(harness, "blocks", "7", "100");
	struct child *second = WORKLOAD(harness, "blocks", "9", "10");
	struct child *third = WORKLOAD(harness, "blocks", "5", "16");
	struct child *monitor;
	json_t *report;
	char pids[48];

	snprintf(pids, sizeof(pids), "%d,%d,%d", first->pid, second->pid, third->pid);
	monitor = MONITOR(harness, "-p", pids, "-o", "0", "--max-processes", "2", "--format",
			  "json", "3600");
	monitor_wait_attached(harness, monitor, third->pid);
	workload_do(harness, first, "go");
	workload_do(harness, second, "go");
	workload_do(harness, third, "go");
	workload_do(harness, third, "free");
	report = monitor_stop(harness, monitor);
	expect_balance(report);
	assert_int_equal(ledger_at(report, "allocations"), 7 + 9 + 5);
	assert_int_equal(number_at(json_object_get(json_object_get(report, "ledger"), "dropped"),
				   "processes_full"),
			 5);
	assert_int_equal(dropped_sum(report), 5);
	expect_held(process_of(report, first->pid), "leak_block", 7, 700);
	expect_held(process_of(report, second->pid), "leak_block", 9, 90);
	assert_true(json_is_true(json_object_get(process_of(report, first->pid), "exact")));
	assert_true(json_is_true(json_object_get(process_of(report, second->pid), "exact")));
	assert_true(json_is_false(json_object_get(process_of(report, third->pid), "exact")));
}

#define MEMORY_CGROUP "/sys/fs/cgroup/memory/leakmon-test-memory"

/* True, unless the file does not take it. */
static bool cgroup_write(const char *file, long long value)
{
	char path[128], digits[24];
	int fd, length = snprintf(digits, sizeof(digits), "%lld", value);
	bool written;

	snprintf(path, sizeof(path), MEMORY_CGROUP "/%s", file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	written = fd >= 0 && write(fd, digits, (size_t)length) == length;
	if (fd >= 0)
		close(fd);
	return written;
}

static long long cgroup_read(const char *file)
{
	char path[128];
	long long value = -1;
	FILE *stream;

	snprintf(path, sizeof(path), MEMORY_CGROUP "/%s", file);
	stream = fopen(path, "re");
	assert_non_null(stream);
	assert_int_equal(fscanf(stream, "%lld", &value), 1);
	fclose(stream);
	return value;
}

static void enter_memory_cgroup(void)
{
	if (!cgroup_write("cgroup.procs", getpid()))
		_exit(99);
}

static void leave_memory_cgroup(void)
{
	const struct timespec pause = {.tv_nsec = 50000000};

	for (int i = 0; i < 100 && rmdir(MEMORY_CGROUP) && errno == EBUSY; i++)
		nanosleep(&pause, NULL);
}

/* Kernel memory per thread is charged to the monitor, which may be limited. */
static void threads_without_memory_for_their_state_are_counted_as_dropped(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload, *monitor;
	json_t *report, *dropped;

	if (mkdir(MEMORY_CGROUP, 0755) && errno != EEXIST) {
		fprintf(stderr, "SKIPPED, nothing was tested: no memory cgroups (v1) here\n");
		skip();
	}
	workload = WORKLOAD(harness, "swarm", "2000");
	monitor = monitor_attached(harness,
				   monitor_start(harness,
						 ARGUMENTS("leakmon", "-p", workload->pid_text,
							   "-o", "0", "--format", "json", "3600"),
						 enter_memory_cgroup));
	assert_true(cgroup_write("memory.limit_in_bytes",
				 cgroup_read("memory.usage_in_bytes") + (512 << 10)));
	workload_do(harness, workload, "go");
	assert_true(cgroup_write("memory.limit_in_bytes", -1));
	report = monitor_stop(harness, monitor);
	expect_balance(report);
	assert_int_equal(ledger_at(report, "allocations"), 2000 * 3);
	dropped = json_object_get(json_object_get(report, "ledger"), "dropped");
	assert_in_range(number_at(dropped, "thread_state"), 3, 2000 * 3);
	assert_int_equal(number_at(dropped, "thread_state"), dropped_sum(report));
	assert_true(json_is_false(json_object_get(process_of(report, workload->pid), "exact")));
	child_kill(monitor);
	leave_memory_cgroup();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		e2e_test(inherited_frees_are_no_errors_and_children_have_ledgers_of_their_own),
		e2e_test(a_name_chooses_those_that_run_and_those_that_start_later),
		e2e_test(a_name_that_nobody_has_lists_the_names_there_are),
		e2e_test(a_fork_storm_loses_no_target_and_leaks_nothing_of_ours),
		e2e_test(one_process_that_leaks_fast_leaves_the_others_their_share),
		e2e_test(one_greedy_process_starves_none_of_forty_nine),
		e2e_test(a_process_without_a_slot_is_counted_as_dropped),
		e2e_test(threads_without_memory_for_their_state_are_counted_as_dropped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
