// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * --kernel: kernel memory allocated for a program is outstanding under the function that did it, to
 * the block, and gone when the program releases it. Other programs allocate meanwhile: blocks are
 * distinguished by the thread that caused them.
 */
#include "harness.h"

#include <signal.h>

#define COUNT 500

#define KERNEL(harness, ...)                                                                       \
	kernel_attached(harness, MONITOR(harness, "--kernel", "-o", "0", "--format", "json",       \
					 "--show-allocs", "--max-blocks", "4000000",               \
					 ##__VA_ARGS__, "3600"))

static struct child *kernel_attached(struct harness *harness, struct child *monitor)
{
	child_wait_text(harness, monitor, &monitor->err, "leakmon: attached to the kernel");
	return monitor;
}

static json_t *report_now(struct harness *harness, struct child *monitor)
{
	child_signal(monitor, SIGUSR1);
	return monitor_report(harness, monitor);
}

/* Its direct caller: the allocator itself may allocate on the way (alloc_slab_obj_exts). */
static bool asked_by(json_t *site, const char *function)
{
	json_t *frame = json_array_get(json_object_get(site, "frames"), 0);
	const char *name = json_string_value(json_object_get(frame, "function"));

	return name && strcmp(name, function) == 0;
}

/* Blocks that `tid` made the kernel allocate, asked for by the function. */
static struct held caused_by(json_t *report, pid_t tid, const char *function, const char *kind)
{
	json_t *process = process_of(report, 0), *site, *block;
	struct held held = {0};
	size_t i, j;

	json_array_foreach(json_object_get(process, "sites"), i, site)
	{
		const char *what = json_string_value(json_object_get(site, "kind"));

		assert_string_equal(json_string_value(json_object_get(site, "family")), "kernel");
		if (!what || strcmp(what, kind) || !asked_by(site, function))
			continue;
		json_array_foreach(json_object_get(site, "blocks"), j, block)
		{
			if (number_at(block, "tid") != tid)
				continue;
			held.count++;
			held.bytes += number_at(block, "size");
		}
	}
	return held;
}

static void expect_caused(json_t *report, pid_t tid, const char *function, const char *kind,
			  json_int_t count)
{
	struct held held = caused_by(report, tid, function, kind);

	if (held.count != count)
		fail_msg("%s: %lld blocks, must be %lld", function, (long long)held.count,
			 (long long)count);
	if (strcmp(kind, "pages") == 0)
		assert_int_equal(held.bytes, 4096 * count);
}

/*
 * Returns the memory that the kernel holds for the process, under that function, according to the
 * report.
 */
static json_int_t owned_by(json_t *report, pid_t pid, const char *function)
{
	json_t *site, *owner;
	json_int_t count = 0;
	size_t i, j;

	json_array_foreach(json_object_get(process_of(report, 0), "sites"), i, site)
	{
		if (!asked_by(site, function))
			continue;
		json_array_foreach(json_object_get(site, "owners"), j, owner)
		{
			if (number_at(owner, "pid") != pid)
				continue;
			assert_string_equal(json_string_value(json_object_get(owner, "comm")),
					    "kernelmem");
			assert_true(json_is_string(json_object_get(owner, "cgroup")));
			count += number_at(owner, "count");
		}
	}
	return count;
}

/* The functions of fs/pipe.c; the writing one was pipe_write before 6.14. */
static void expect_pipes(json_t *report, pid_t tid, json_int_t count)
{
	struct held page = caused_by(report, tid, "anon_pipe_write", "pages");
	struct held older = caused_by(report, tid, "pipe_write", "pages");

	/* The pipe itself; its first ring went when the size was set. */
	expect_caused(report, tid, "alloc_pipe_info", "kmalloc", count);
	expect_caused(report, tid, "pipe_resize_ring", "kmalloc", count);
	assert_int_equal(page.count + older.count, count);
	assert_int_equal(page.bytes + older.bytes, count * 4096);
}

static void pipes_are_outstanding_until_they_are_closed(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "kernelmem", "500");
	struct child *monitor = KERNEL(harness);
	json_t *report = report_now(harness, monitor);

	expect_pipes(report, workload->pid, 0);
	workload_do(harness, workload, "pipes");
	report = report_now(harness, monitor);
	expect_pipes(report, workload->pid, COUNT);
	workload_do(harness, workload, "close_pipes");
	report = monitor_stop(harness, monitor);
	expect_pipes(report, workload->pid, 0);
	assert_int_equal(ledger_at(report, "outstanding_bytes"),
			 number_at(process_of(report, 0), "outstanding_bytes"));
}

static void blocks_belong_to_the_process_that_they_are_for(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "kernelmem", "500");
	struct child *other = WORKLOAD(harness, "kernelmem", "200");
	struct child *monitor = KERNEL(harness);
	json_t *report;

	workload_do(harness, workload, "pipes");
	workload_do(harness, other, "pipes");
	report = report_now(harness, monitor);
	assert_int_equal(owned_by(report, workload->pid, "alloc_pipe_info"), COUNT);
	assert_int_equal(owned_by(report, other->pid, "alloc_pipe_info"), 200);
	workload_do(harness, workload, "close_pipes");
	report = monitor_stop(harness, monitor);
	assert_int_equal(owned_by(report, workload->pid, "alloc_pipe_info"), 0);
	assert_int_equal(owned_by(report, other->pid, "alloc_pipe_info"), 200);
}

static void event_and_signal_descriptors_are_outstanding_until_they_are_closed(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "kernelmem", "500");
	struct child *monitor = KERNEL(harness);
	json_t *report;

	workload_do(harness, workload, "events");
	report = report_now(harness, monitor);
	expect_caused(report, workload->pid, "do_eventfd", "kmalloc", COUNT);
	expect_caused(report, workload->pid, "do_signalfd4", "kmalloc", COUNT);
	workload_do(harness, workload, "close_events");
	report = monitor_stop(harness, monitor);
	expect_caused(report, workload->pid, "do_eventfd", "kmalloc", 0);
	expect_caused(report, workload->pid, "do_signalfd4", "kmalloc", 0);
}

/* Outstanding by the counters of the sites, and by the blocks one by one. */
static void a_site_size_filter_leaves_the_others_out(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "kernelmem", "500");
	struct child *monitor = KERNEL(harness, "--min-size", "4096");
	json_t *report, *process, *site;
	size_t i;

	workload_do(harness, workload, "pipes");
	report = monitor_stop(harness, monitor);
	process = process_of(report, 0);
	json_array_foreach(json_object_get(process, "sites"), i, site)
	{
		assert_true(number_at(site, "bytes") >= 4096 * number_at(site, "count"));
	}
	expect_caused(report, workload->pid, "alloc_pipe_info", "kmalloc", 0);
	assert_true(ledger_at(report, "filtered") >= 2 * COUNT);
}

/* One in four, at random: between 400 and 600 of 2000 (five deviations of 19.4). */
static void sampling_takes_its_share(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "kernelmem", "2000");
	struct child *monitor = KERNEL(harness, "--sample-rate", "4");
	json_t *report;

	workload_do(harness, workload, "events");
	report = monitor_stop(harness, monitor);
	assert_true(json_is_true(json_object_get(report, "sampled")));
	assert_in_range(caused_by(report, workload->pid, "do_eventfd", "kmalloc").count, 400, 600);
}

static void a_full_table_is_confessed(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "kernelmem", "2000");
	struct child *monitor =
		kernel_attached(harness, MONITOR(harness, "--kernel", "-o", "0", "--format", "json",
						 "--max-blocks", "1000", "3600"));
	json_t *report, *dropped;

	workload_do(harness, workload, "events");
	report = monitor_stop(harness, monitor);
	dropped = json_object_get(json_object_get(report, "ledger"), "dropped");
	assert_in_range(number_at(dropped, "blocks_full"), 3000, INT32_MAX);
	assert_in_range(ledger_at(report, "scanned"), 1, 1000);
	assert_true(json_is_false(json_object_get(process_of(report, 0), "exact")));
}

static void a_target_beside_the_kernel_is_refused(void **state)
{
	struct harness *harness = harness_any(state);

	monitor_expect_error(harness, MONITOR(harness, "--kernel", "-p", "1"), 2,
			     "the kernel's memory belongs to no process");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		e2e_test(pipes_are_outstanding_until_they_are_closed),
		e2e_test(blocks_belong_to_the_process_that_they_are_for),
		e2e_test(event_and_signal_descriptors_are_outstanding_until_they_are_closed),
		e2e_test(a_site_size_filter_leaves_the_others_out),
		e2e_test(sampling_takes_its_share),
		e2e_test(a_full_table_is_confessed),
		e2e_test(a_target_beside_the_kernel_is_refused),
	};

	return cmocka_run_group_tests_name("e2e_kernel", tests, NULL, NULL);
}
