// SPDX-License-Identifier: GPL-2.0-or-later
/* --mappings: mappings are counted to the last byte, by call stack and purpose. */
#include "../workloads/calls_32.h"
#include "harness.h"

#include <signal.h>

#define PAGE 4096

#define MAPPINGS(harness, workload, ...)                                                           \
	MONITOR_ATTACHED(harness, "-p", (workload)->pid_text, "-o", "0", "--mappings", "--format", \
			 "json", ##__VA_ARGS__, "3600")

static json_int_t mapped_at(json_t *report, const char *key)
{
	return number_at(json_object_get(report, "mappings"), key);
}

static bool stands_in(json_t *site, const char *function)
{
	json_t *frame;
	size_t i;

	json_array_foreach(json_object_get(site, "frames"), i, frame)
	{
		const char *name = json_string_value(json_object_get(frame, "function"));

		if (name && strcmp(name, function) == 0)
			return true;
	}
	return false;
}

/* Mapping sites with the function anywhere on the stack; kind NULL: any. */
static struct held mapped_by(json_t *process, const char *function, const char *kind)
{
	struct held held = {0};
	json_t *site;
	size_t i;

	json_array_foreach(json_object_get(process, "sites"), i, site)
	{
		const char *family = json_string_value(json_object_get(site, "family"));
		const char *what = json_string_value(json_object_get(site, "kind"));

		if (strcmp(family, "mapping") || (kind && strcmp(what, kind)) ||
		    !stands_in(site, function))
			continue;
		held.sites++;
		held.count += number_at(site, "count");
		held.bytes += number_at(site, "bytes");
	}
	return held;
}

static void expect_mapping_balance(json_t *report)
{
	assert_int_equal(mapped_at(report, "mapped_bytes"),
			 mapped_at(report, "unmapped_bytes") +
				 mapped_at(report, "outstanding_bytes") +
				 mapped_at(report, "purged_bytes"));
}

/* Difference 0: bytes that came, bytes that went, ranges, and both by call stack. */
static void expect_mapping_truth(json_t *report, json_t *truth)
{
	static const char *const keys[] = {"mapped_bytes", "unmapped_bytes", "outstanding_bytes",
					   "ranges"};
	json_t *process = process_of(report, (pid_t)number_at(truth, "pid")), *site;
	size_t i;

	expect_mapping_balance(report);
	assert_int_equal(mapped_at(report, "events_lost"), 0);
	for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		assert_int_equal(mapped_at(report, keys[i]), number_at(truth, keys[i]));
	json_array_foreach(json_object_get(truth, "sites"), i, site)
	{
		struct held held = mapped_by(
			process, json_string_value(json_object_get(site, "function")), NULL);

		assert_int_equal(held.bytes, number_at(site, "bytes"));
		assert_int_equal(held.count, number_at(site, "count"));
	}
	assert_true(json_is_true(json_object_get(process, "exact")));
}

static void hundred_thousand_random_calls_of_four_threads_are_exact(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "mapper", "4", "25000", "20261121");
	struct child *monitor = MAPPINGS(harness, workload);
	json_t *report;

	workload_do(harness, workload, "go");
	report = monitor_stop(harness, monitor);
	expect_mapping_truth(report, workload_ask(harness, workload, "mappings"));
}

/* START-END of /proc/PID/maps, neighbours joined. */
static bool is_mapped(pid_t pid, uint64_t start, uint64_t end)
{
	unsigned long from, to;
	char path[64], line[512];
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	maps = fopen(path, "re");
	assert_non_null(maps);
	while (start < end && fgets(line, sizeof(line), maps)) {
		assert_int_equal(sscanf(line, "%lx-%lx ", &from, &to), 2);
		if (from <= start && start < to)
			start = to;
	}
	fclose(maps);
	return start >= end;
}

/* How often [start, end) is listed as a block of the mapping family. */
static int listed(json_t *process, uint64_t start, uint64_t end)
{
	json_t *site, *block;
	int times = 0;
	size_t i, j;

	json_array_foreach(json_object_get(process, "sites"), i, site)
	{
		json_array_foreach(json_object_get(site, "blocks"), j, block)
		{
			uint64_t at = (uint64_t)number_at(block, "address");

			times += at == start && at + (uint64_t)number_at(block, "size") == end;
		}
	}
	return times;
}

static void every_range_is_listed_and_stands_in_proc_maps(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "mapper", "3", "4000", "7");
	struct child *monitor = MAPPINGS(harness, workload, "--show-allocs");
	unsigned long start, end;
	json_int_t count = 0;
	json_t *report;
	char *line;

	workload_do(harness, workload, "go");
	report = monitor_stop(harness, monitor);
	workload_send(workload, "ranges");
	for (;;) {
		line = child_line(harness, workload, &workload->out);
		if (!*line)
			break;
		assert_int_equal(sscanf(line, "%lx %lx", &start, &end), 2);
		assert_int_equal(listed(process_of(report, workload->pid), start, end), 1);
		assert_true(is_mapped(workload->pid, start, end));
		free(line);
		count++;
	}
	free(line);
	assert_int_equal(count, mapped_at(report, "ranges"));
}

static void a_loss_is_confessed_and_mended_to_the_byte(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "mapper", "4", "60000", "3");
	struct child *monitor = MAPPINGS(harness, workload);
	json_t *report, *process, *truth;

	child_signal(monitor, SIGSTOP);
	workload_do(harness, workload, "go");
	workload_do(harness, workload, "go");
	child_signal(monitor, SIGCONT);
	report = monitor_stop(harness, monitor);
	truth = workload_ask(harness, workload, "mappings");
	process = process_of(report, workload->pid);
	expect_mapping_balance(report);
	assert_in_range(mapped_at(report, "events_lost"), 1, 1000000);
	assert_in_range(mapped_at(report, "healed_bytes"), 1, UINT32_MAX);
	assert_int_equal(mapped_at(report, "outstanding_bytes"),
			 number_at(truth, "outstanding_bytes"));
	assert_true(json_is_false(json_object_get(process, "exact")));
}

static void each_purpose_is_distinguished_from_the_others(void **state)
{
	static const struct {
		const char *command, *function, *kind;
		json_int_t bytes;
	} cases[] = {
		{"own", "map_own", "mapping", 3 * PAGE},
		{"file", "map_file", "file", 2 * PAGE},
		{"reserve", "map_reserve", "reservation", 100 * PAGE},
		{"stack", "map_stack", "thread stack", 257 * PAGE},
		{"malloc", "map_by_malloc", "allocator arena", 257 * PAGE},
		{"break", "map_break", "brk", 5 * PAGE},
	};
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "mapkinds");
	struct child *monitor = MAPPINGS(harness, workload);
	json_t *report, *process;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		workload_do(harness, workload, cases[i].command);
	report = monitor_stop(harness, monitor);
	process = process_of(report, workload->pid);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct held held = mapped_by(process, cases[i].function, cases[i].kind);

		assert_int_equal(held.count, 1);
		assert_int_equal(held.bytes, cases[i].bytes);
	}
	/* malloc's mebibyte is the heap's; its mapping is not counted there a second time. */
	assert_int_equal(held_by(process, "map_by_malloc").bytes, 256 * PAGE);
	assert_int_equal(number_at(process, "outstanding_bytes"),
			 ledger_at(report, "outstanding_bytes"));
	expect_mapping_balance(report);
}

static void a_child_in_the_same_address_space_maps_for_its_parent(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "mapkinds");
	struct child *monitor = MAPPINGS(harness, workload);
	json_t *report;

	workload_do(harness, workload, "vfork");
	report = monitor_stop(harness, monitor);
	assert_int_equal(mapped_by(process_of(report, workload->pid), "map_child", "mapping").bytes,
			 7 * PAGE);
	assert_int_equal(mapped_at(report, "outstanding_bytes"), 7 * PAGE);
}

/* int $0x80 in a 64-bit program: known from /proc/PID/maps, and not exact. */
static void thirty_two_bit_calls_are_counted_and_mended(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload, *monitor;
	json_t *report, *process;

	if (!takes_32_bit_calls())
		skip();
	workload = WORKLOAD(harness, "mapkinds");
	monitor = MAPPINGS(harness, workload);
	workload_do(harness, workload, "own");
	workload_do(harness, workload, "32-bit");
	child_signal(monitor, SIGUSR1);
	report = monitor_report(harness, monitor);
	process = process_of(report, workload->pid);
	expect_mapping_balance(report);
	assert_int_equal(mapped_at(report, "events_lost"), 2);
	assert_int_equal(mapped_at(report, "healed_bytes"), 9 * PAGE);
	assert_int_equal(mapped_at(report, "outstanding_bytes"), (3 + 9) * PAGE);
	expect_doubt(process, "mappings");
	workload_do(harness, workload, "own");
	report = monitor_stop(harness, monitor);
	assert_int_equal(mapped_at(report, "events_lost"), 2);
	assert_int_equal(mapped_by(process_of(report, workload->pid), "map_own", "mapping").bytes,
			 6 * PAGE);
}

static void a_forked_child_changes_nothing_of_its_parent(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "mapkinds");
	struct child *monitor = MAPPINGS(harness, workload);
	json_t *report;

	workload_do(harness, workload, "fork");
	report = monitor_stop(harness, monitor);
	assert_int_equal(mapped_at(report, "mapped_bytes"), PAGE);
	assert_int_equal(mapped_at(report, "unmapped_bytes"), PAGE);
	assert_int_equal(mapped_at(report, "missed_bytes"), 0);
}

static void what_exec_replaces_is_purged(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "mapkinds");
	struct child *monitor = MAPPINGS(harness, workload);
	json_t *report;
	char *line;

	workload_do(harness, workload, "own");
	workload_send(workload, "exec");
	line = child_line(harness, workload, &workload->out);
	assert_int_equal(strncmp(line, "ready ", 6), 0);
	free(line);
	/* After this report the stacks of the new program can be walked. */
	child_signal(monitor, SIGUSR1);
	monitor_report(harness, monitor);
	workload_do(harness, workload, "own");
	report = monitor_stop(harness, monitor);
	expect_mapping_balance(report);
	assert_int_equal(mapped_at(report, "purged_bytes"), 3 * PAGE);
	assert_int_equal(mapped_by(process_of(report, workload->pid), "map_own", "mapping").bytes,
			 3 * PAGE);
	assert_int_equal(mapped_at(report, "events_lost"), 0);
}

/* A command is followed from its first call: its loader's mappings are there, too. */
static void a_launched_command_is_followed_from_the_start(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *monitor = MONITOR(harness, "-o", "0", "--mappings", "--format", "json",
					"3600", "--", "build/workloads/quick", "1", "1");
	json_t *report = monitor_report(harness, monitor), *process;

	process = json_array_get(json_object_get(report, "processes"), 0);
	expect_mapping_balance(report);
	assert_true(mapped_by(process, "_dl_map_segments", "file").bytes > PAGE ||
		    mapped_by(process, "_dl_map_object_from_fd", "file").bytes > PAGE);
}

static void without_the_option_mappings_are_not_reported(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "mapkinds");
	json_t *report = WATCH(harness, workload, "own");

	assert_null(json_object_get(report, "mappings"));
	assert_int_equal(mapped_by(process_of(report, workload->pid), "map_own", NULL).sites, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		e2e_test(hundred_thousand_random_calls_of_four_threads_are_exact),
		e2e_test(every_range_is_listed_and_stands_in_proc_maps),
		e2e_test(a_loss_is_confessed_and_mended_to_the_byte),
		e2e_test(each_purpose_is_distinguished_from_the_others),
		e2e_test(a_child_in_the_same_address_space_maps_for_its_parent),
		e2e_test(thirty_two_bit_calls_are_counted_and_mended),
		e2e_test(a_forked_child_changes_nothing_of_its_parent),
		e2e_test(what_exec_replaces_is_purged),
		e2e_test(a_launched_command_is_followed_from_the_start),
		e2e_test(without_the_option_mappings_are_not_reported),
	};

	return cmocka_run_group_tests_name("e2e_mappings", tests, NULL, NULL);
}
