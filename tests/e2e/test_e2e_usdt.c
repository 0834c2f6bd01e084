// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Programs that sample themselves and report it through otel_memory's probes. The workload also
 * keeps exact counts: estimates are compared with them, over LEAKMON_USDT_RUNS runs (20).
 */
#include "harness.h"

#include <fcntl.h>
#include <signal.h>

#include "shell.h"

#define SITES 4

/* Number of runs whose limits contain the true bytes and count, by site and in sum. */
struct held_truths {
	int bytes[SITES + 1], count[SITES + 1];
};

static const char *workloads(void)
{
	const char *setting = getenv("LEAKMON_WORKLOADS");

	return setting ? setting : "build/workloads";
}

static bool is_within(json_t *of, const char *what, json_int_t truth)
{
	json_t *estimate = json_object_get(of, "estimate");
	char low[16], high[16];

	snprintf(low, sizeof(low), "%s_low", what);
	snprintf(high, sizeof(high), "%s_high", what);
	return real_at(estimate, low) <= (double)truth && (double)truth <= real_at(estimate, high);
}

static void compare(json_t *process, json_t *truth, struct held_truths *held)
{
	json_t *sites = json_object_get(truth, "sites"), *site;
	size_t i;

	assert_int_equal(json_array_size(sites), SITES);
	json_array_foreach(sites, i, site)
	{
		json_t *found =
			site_of(process, json_string_value(json_object_get(site, "function")));

		held->bytes[i] += is_within(found, "bytes", number_at(site, "bytes"));
		held->count[i] += is_within(found, "count", number_at(site, "count"));
	}
	held->bytes[SITES] += is_within(process, "bytes", number_at(truth, "outstanding_bytes"));
	held->count[SITES] += is_within(process, "count", number_at(truth, "outstanding_count"));
}

/* Reported samples are counted up to the last one. */
static void expect_samples(json_t *report, json_t *samples)
{
	assert_int_equal(ledger_at(report, "allocations"), number_at(samples, "allocations"));
	assert_int_equal(ledger_at(report, "frees"), number_at(samples, "frees"));
	assert_int_equal(ledger_at(report, "outstanding"), number_at(samples, "outstanding"));
}

static int runs_wanted(void)
{
	const char *setting = getenv("LEAKMON_USDT_RUNS");

	return setting ? atoi(setting) : 20;
}

/*
 * Returns the minimum number of runs with the true value within their limits. The limits are for
 * 95 % of the runs. Fewer than 93 % of 1,000 runs, 90 % of 100, or 15 of 20 are very unlikely.
 */
static int fewest_of(int runs)
{
	return runs < 100 ? runs * 3 / 4 : runs * (runs < 1000 ? 90 : 93) / 100;
}

static void expect_limits_to_hold(void **state, const char *program)
{
	static const char *const names[SITES + 1] = {"small", "middle", "large", "mixed", "sum"};
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, program, "20261123");
	struct child *monitor = MONITOR_ATTACHED(harness, "-p", workload->pid_text, "-o", "0",
						 "--format", "json", "3600");
	struct held_truths held = {0};
	int runs = runs_wanted(), least = fewest_of(runs);
	json_t *report = NULL;

	for (int run = 0; run < runs; run++) {
		workload_do(harness, workload, "go");
		report = monitor_snapshot(harness, monitor);
		compare(process_of(report, workload->pid),
			workload_ask(harness, workload, "ledger"), &held);
		expect_balance(report);
		expect_samples(report, workload_ask(harness, workload, "samples"));
		workload_do(harness, workload, "clear");
	}
	assert_true(json_is_true(json_object_get(report, "sampled")));
	assert_true(is_inexact_by(process_of(report, workload->pid), "sampled"));
	for (int i = 0; i <= SITES; i++) {
		print_message("%s: bytes within their limits in %d, count in %d of %d runs\n",
			      names[i], held.bytes[i], held.count[i], runs);
		assert_true(held.bytes[i] >= least && held.count[i] >= least);
	}
	report = monitor_stop(harness, monitor);
	assert_int_equal(ledger_at(report, "outstanding"), 0);
	assert_int_equal(ledger_at(report, "untracked_frees"), 0);
	assert_int_equal(dropped_sum(report), 0);
	/* Zero samples do not prove zero bytes: up to 3.69 intervals are possible. */
	assert_true(is_within(process_of(report, workload->pid), "bytes", 0));
	assert_true(is_within(process_of(report, workload->pid), "bytes", 1800000));
	assert_false(is_within(process_of(report, workload->pid), "bytes", 2000000));
}

static void estimates_are_within_their_limits(void **state)
{
	expect_limits_to_hold(state, "usdt");
}

/* The contract until August 2026. */
static void weights_by_hits_are_within_their_limits(void **state)
{
	expect_limits_to_hold(state, "usdt_by_hits");
}

/* Output of a reader of recordings. */
static json_t *read_recording(struct harness *harness, const char *const *argv)
{
	struct child *reader = monitor_start(harness, argv, NULL);
	json_t *document = monitor_report(harness, reader);

	assert_int_equal(child_end(harness, reader), 0);
	return document;
}

static void snapshot_take(struct harness *harness, struct child *monitor, int number)
{
	char text[64];

	child_signal(monitor, SIGUSR1);
	snprintf(text, sizeof(text), "snapshot %d is recorded", number);
	child_wait_text(harness, monitor, &monitor->err, text);
}

static void expect_limits(json_t *of)
{
	json_t *estimate = json_object_get(of, "estimate");

	assert_non_null(estimate);
	assert_true(real_at(estimate, "samples") > 0);
	assert_true(real_at(estimate, "bytes_low") < real_at(estimate, "bytes_high"));
	assert_true(real_at(estimate, "count_low") < real_at(estimate, "count_high"));
}

static void expect_growth(json_t *of, bool chance)
{
	json_t *estimate = json_object_get(of, "estimate");

	assert_non_null(estimate);
	assert_int_equal(real_at(estimate, "difference_low") <= 0, chance);
	assert_true(real_at(estimate, "difference_high") > 0);
	assert_int_equal(json_is_true(json_object_get(estimate, "within_chance")), chance);
}

/* All output from a recording marks its numbers as estimates. */
static void expect_marks(struct harness *harness, const char *path)
{
	static const struct {
		const char *format, *command, *mark;
	} formats[] = {
		{"text", "cat", "estimated from .* samples: 95%"},
		{"prom", "cat", "leakmon_sampled 1"},
		{"pprof", "zcat", "estimated from a sample"},
		{"html", "cat", "\"sampled\":true"},
	};

	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		free(shell(harness, 0,
			   "\"${LEAKMON_PROGRAM:-build/leakmon}\" report %s --format %s | %s | "
			   "grep -aq '%s'",
			   path, formats[i].format, formats[i].command, formats[i].mark));
}

static void recordings_keep_the_limits_and_diffs_mark_chance(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "usdt"), *monitor;
	json_t *process, *difference, *rows, *row;
	char path[96], first[112], second[112];
	size_t i;

	snprintf(path, sizeof(path), "%s/run.lkm", harness->directory);
	monitor = MONITOR_ATTACHED(harness, "record", "-p", workload->pid_text, "-o", path,
				   "--older", "0", "--label", "now", "3600");
	workload_do(harness, workload, "go");
	snapshot_take(harness, monitor, 1);
	workload_do(harness, workload, "go");
	snapshot_take(harness, monitor, 2);
	child_signal(monitor, SIGINT);
	assert_int_equal(child_end(harness, monitor), 0);
	process = process_of(
		read_recording(harness, ARGUMENTS("leakmon", "report", path, "--format", "json")),
		workload->pid);
	assert_true(json_is_true(json_object_get(json_object_get(process, "estimate"), "frees")));
	expect_limits(process);
	assert_int_equal(json_array_size(json_object_get(process, "sites")), SITES);
	json_array_foreach(json_object_get(process, "sites"), i, row) expect_limits(row);
	snprintf(first, sizeof(first), "%s@1", path);
	snprintf(second, sizeof(second), "%s@2", path);
	difference = read_recording(
		harness, ARGUMENTS("leakmon", "diff", "--format", "json", first, second));
	expect_growth(difference, false);
	rows = json_object_get(difference, "rows");
	assert_int_equal(json_array_size(rows), SITES);
	json_array_foreach(rows, i, row) expect_growth(row, false);
	/* Nothing has happened since. */
	difference = read_recording(harness,
				    ARGUMENTS("leakmon", "diff", "--format", "json", second, path));
	expect_growth(difference, true);
	assert_int_equal(json_array_size(json_object_get(difference, "rows")), 0);
	expect_marks(harness, path);
}

/* A counter that the kernel keeps in the target's memory. */
static unsigned semaphore_of(struct harness *harness, struct child *workload, pid_t pid,
			     const char *name)
{
	json_int_t address = number_at(workload_ask(harness, workload, "semaphores"), name);
	unsigned short value = 0xffff;
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(pread(fd, &value, sizeof(value), address), sizeof(value));
	close(fd);
	return value;
}

/* Report of the process that answers for the workload: the workload itself or its child. */
static void expect_semaphores_of(struct harness *harness, struct child *workload, pid_t pid,
				 bool raised)
{
	/* The kernel counts places, and takes them out when the last descriptor is closed. */
	for (int i = 0; i < 1200; i++) {
		if (!!semaphore_of(harness, workload, pid, "alloc") == raised &&
		    !!semaphore_of(harness, workload, pid, "free") == raised)
			return;
		usleep(100000);
	}
	fail_msg("semaphores of %d: alloc %u, free %u", pid,
		 semaphore_of(harness, workload, pid, "alloc"),
		 semaphore_of(harness, workload, pid, "free"));
}

static void expect_semaphores(struct harness *harness, struct child *workload, bool raised)
{
	expect_semaphores_of(harness, workload, workload->pid, raised);
}

static void semaphores_are_raised_while_leakmon_listens(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "usdt");
	struct child *monitor;

	expect_semaphores(harness, workload, false);
	monitor = MONITOR_ATTACHED(harness, "-p", workload->pid_text, "--format", "json", "3600");
	expect_semaphores(harness, workload, true);
	monitor_stop(harness, monitor);
	expect_semaphores(harness, workload, false);
	monitor = MONITOR_ATTACHED(harness, "-p", workload->pid_text, "--attach", "perf",
				   "--format", "json", "3600");
	expect_semaphores(harness, workload, true);
	monitor_stop(harness, monitor);
	expect_semaphores(harness, workload, false);
}

static void semaphores_go_back_to_zero_when_leakmon_is_killed(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "usdt");

	for (int i = 0; i < 3; i++) {
		struct child *monitor = MONITOR_ATTACHED(harness, "-p", workload->pid_text,
							 i % 2 ? "--attach=perf" : "--attach=auto",
							 "--format", "json", "3600");

		expect_semaphores(harness, workload, true);
		child_signal(monitor, SIGKILL);
		assert_int_equal(child_end(harness, monitor), 128 + SIGKILL);
		expect_semaphores(harness, workload, false);
	}
	workload_do(harness, workload, "go");
}

/* Mapped after the attach: probed before the next report at the latest. */
static void a_library_that_is_loaded_later_is_followed_too(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "usdt", "1", "10");
	struct child *monitor = MONITOR_ATTACHED(harness, "-p", workload->pid_text, "-o", "0",
						 "--format", "json", "3600");
	json_t *report, *site;

	workload_do(harness, workload, "load");
	monitor_snapshot(harness, monitor);
	child_wait_text(harness, monitor, &monitor->err, "mapped another");
	workload_do(harness, workload, "go");
	workload_do(harness, workload, "part");
	report = monitor_stop(harness, monitor);
	expect_balance(report);
	expect_samples(report, workload_ask(harness, workload, "samples"));
	site = site_of(process_of(report, workload->pid), "part_block");
	assert_int_equal(number_at(site, "count"), 6);
	assert_int_equal(number_at(site, "bytes"), 6 * 524288);
	assert_int_equal(number_at(site, "allocated_count"), 10);
}

/* One process among several: bytes and blocks of all sites, and limits. */
static void expect_sampled(json_t *report, pid_t pid)
{
	json_t *process = process_of(report, pid);

	assert_true(is_inexact_by(process, "sampled"));
	expect_limits(process);
}

static void children_are_followed_by_their_own_samples(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "usdt", "1", "20");
	struct child *monitor = MONITOR_ATTACHED(harness, "-p", workload->pid_text, "-f", "-o", "0",
						 "--format", "json", "3600");
	json_t *parent, *child, *report;
	json_int_t inherited;

	workload_do(harness, workload, "go");
	parent = workload_ask(harness, workload, "samples");
	workload_do(harness, workload, "fork");
	monitor_snapshot(harness, monitor);
	workload_do(harness, workload, "go");
	child = workload_ask(harness, workload, "samples");
	report = monitor_snapshot(harness, monitor);
	assert_int_equal(json_array_size(json_object_get(report, "processes")), 2);
	expect_sampled(report, workload->pid);
	expect_sampled(report, (pid_t)number_at(child, "pid"));
	workload_do(harness, workload, "clear");
	child = workload_ask(harness, workload, "samples");
	inherited = number_at(child, "inherited");
	/* Samples reported by the parent stay on its own ledger. */
	assert_int_equal(inherited, number_at(parent, "outstanding"));
	report = monitor_snapshot(harness, monitor);
	expect_balance(report);
	assert_int_equal(ledger_at(report, "allocations"),
			 number_at(parent, "allocations") + number_at(child, "allocations"));
	assert_int_equal(ledger_at(report, "inherited_frees"), inherited);
	assert_int_equal(ledger_at(report, "untracked_frees"), 0);
	assert_int_equal(ledger_at(report, "outstanding"), number_at(parent, "outstanding"));
	/* The child ends, the parent continues. */
	workload_do(harness, workload, "quit");
	workload_do(harness, workload, "clear");
	report = monitor_stop(harness, monitor);
	expect_balance(report);
	assert_int_equal(ledger_at(report, "outstanding"), 0);
	assert_int_equal(dropped_sum(report), 0);
}

static void a_child_that_is_not_followed_is_left_as_it_was(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "usdt", "1", "20");
	struct child *monitor = MONITOR_ATTACHED(harness, "-p", workload->pid_text, "-o", "0",
						 "--format", "json", "3600");
	json_t *parent, *report;
	pid_t child;

	workload_do(harness, workload, "go");
	parent = workload_ask(harness, workload, "samples");
	workload_do(harness, workload, "fork");
	child = (pid_t)number_at(workload_ask(harness, workload, "samples"), "pid");
	workload_do(harness, workload, "go");
	workload_do(harness, workload, "clear");
	report = monitor_snapshot(harness, monitor);
	expect_samples(report, parent);
	child_signal(monitor, SIGKILL);
	assert_int_equal(child_end(harness, monitor), 128 + SIGKILL);
	expect_semaphores_of(harness, workload, child, false);
	expect_semaphores(harness, workload, false);
	workload_do(harness, workload, "go");
	workload_do(harness, workload, "quit");
	workload_do(harness, workload, "clear");
}

static void a_program_is_followed_into_another_one_that_samples_itself(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "usdt", "1", "20");
	struct child *monitor = MONITOR_ATTACHED(harness, "-p", workload->pid_text, "-o", "0",
						 "--format", "json", "3600");
	json_t *before, *after, *report;

	workload_do(harness, workload, "go");
	before = workload_ask(harness, workload, "samples");
	workload_send(workload, "exec");
	child_wait_text(harness, workload, &workload->out, "ready");
	free(child_line(harness, workload, &workload->out));
	monitor_snapshot(harness, monitor);
	workload_do(harness, workload, "go");
	after = workload_ask(harness, workload, "samples");
	report = monitor_snapshot(harness, monitor);
	expect_balance(report);
	expect_sampled(report, workload->pid);
	assert_int_equal(ledger_at(report, "allocations"),
			 number_at(before, "allocations") + number_at(after, "allocations"));
	assert_int_equal(ledger_at(report, "purged"), number_at(before, "outstanding"));
	assert_int_equal(ledger_at(report, "outstanding"), number_at(after, "outstanding"));
	child_signal(monitor, SIGKILL);
	assert_int_equal(child_end(harness, monitor), 128 + SIGKILL);
	expect_semaphores(harness, workload, false);
}

static void a_program_is_followed_into_one_without_probe_points(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload, *monitor;
	json_t *before, *process, *report;
	char leak[256];

	snprintf(leak, sizeof(leak), "%s/leak", workloads());
	workload = WORKLOAD(harness, "usdt", "1", "20", leak);
	monitor = MONITOR_ATTACHED(harness, "-p", workload->pid_text, "-o", "0", "--format", "json",
				   "3600");
	workload_do(harness, workload, "go");
	before = workload_ask(harness, workload, "samples");
	workload_send(workload, "exec");
	child_wait_text(harness, workload, &workload->out, "ready");
	free(child_line(harness, workload, &workload->out));
	monitor_snapshot(harness, monitor);
	workload_do(harness, workload, "go");
	report = monitor_stop(harness, monitor);
	expect_balance(report);
	assert_int_equal(ledger_at(report, "purged"), number_at(before, "outstanding"));
	assert_int_equal(ledger_at(report, "allocations"), number_at(before, "allocations") + 25);
	process = process_of(report, workload->pid);
	expect_held(process, "leak_a", 10, 1000);
	assert_null(json_object_get(process, "estimate"));
}

/* Two of one program, and one that reports nothing: each by its own method. */
static void processes_that_sample_themselves_and_others_are_followed_in_one_run(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *one = WORKLOAD(harness, "usdt", "1", "20");
	struct child *two = WORKLOAD(harness, "usdt", "2", "20");
	struct child *exact = WORKLOAD(harness, "leak"), *monitor;
	json_t *of_one, *of_two, *of_exact, *report;
	char pids[64];

	snprintf(pids, sizeof(pids), "%s,%s,%s", one->pid_text, two->pid_text, exact->pid_text);
	monitor = MONITOR_ATTACHED(harness, "-p", pids, "-o", "0", "--format", "json", "3600");
	monitor_wait_attached(harness, monitor, one->pid);
	monitor_wait_attached(harness, monitor, two->pid);
	monitor_wait_attached(harness, monitor, exact->pid);
	workload_do(harness, one, "go");
	workload_do(harness, two, "go");
	workload_do(harness, exact, "go");
	of_one = workload_ask(harness, one, "samples");
	of_two = workload_ask(harness, two, "samples");
	of_exact = workload_ask(harness, exact, "ledger");
	report = monitor_stop(harness, monitor);
	expect_balance(report);
	expect_sampled(report, one->pid);
	expect_sampled(report, two->pid);
	expect_held(process_of(report, exact->pid), "leak_a", 10, 1000);
	assert_true(json_is_true(json_object_get(process_of(report, exact->pid), "exact")));
	assert_null(json_object_get(process_of(report, exact->pid), "estimate"));
	assert_int_equal(ledger_at(report, "allocations"),
			 number_at(of_one, "allocations") + number_at(of_two, "allocations") +
				 number_at(of_exact, "allocations"));
	assert_int_equal(ledger_at(report, "frees"), number_at(of_one, "frees") +
							     number_at(of_two, "frees") +
							     number_at(of_exact, "frees"));
	expect_semaphores(harness, one, false);
	expect_semaphores(harness, two, false);
}

static void without_free_what_was_allocated_is_shown_and_nothing_is_outstanding(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "usdt_without_free");
	struct child *monitor = MONITOR_ATTACHED(harness, "-p", workload->pid_text, "-o", "0",
						 "--format", "json", "3600");
	json_t *process, *site;

	child_wait_text(harness, monitor, &monitor->err, "an allocation profile");
	workload_do(harness, workload, "go");
	process = process_of(monitor_stop(harness, monitor), workload->pid);
	assert_true(json_is_false(json_object_get(json_object_get(process, "estimate"), "frees")));
	assert_int_equal(number_at(process, "outstanding_bytes"), 0);
	assert_int_equal(json_array_size(json_object_get(process, "sites")), SITES);
	site = site_of(process, "small_block");
	assert_int_equal(number_at(site, "bytes"), 0);
	/* 400,000 blocks of 256 bytes, represented by 195 samples. */
	assert_in_range(number_at(site, "allocated_bytes"), 70000000, 140000000);
}

static void the_allocator_is_tracked_where_that_is_preferred(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "usdt");
	json_t *report = WATCH(harness, workload, "go", "--no-usdt");

	expect_truth(report, workload_ask(harness, workload, "ledger"));
	assert_null(json_object_get(process_of(report, workload->pid), "estimate"));
}

static void doctor_lists_the_probes_that_a_process_carries(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "usdt");
	struct child *doctor = MONITOR(harness, "doctor", "-p", workload->pid_text);

	child_end(harness, doctor);
	assert_non_null(strstr(doctor->out.text, "carries otel_memory:alloc in 4 places"));
	assert_non_null(strstr(doctor->out.text, "carries otel_memory:free in 1 place"));
	assert_non_null(strstr(doctor->out.text, "with a semaphore"));
}

/* The same program with invalid notes. */
static void notes_that_lie_are_refused_and_the_allocator_is_tracked(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload, *monitor;
	json_t *report;
	char path[64];

	snprintf(path, sizeof(path), "%s/usdt", harness->directory);
	free(shell(harness, 0,
		   "head -c 512 /dev/zero | tr '\\0' '\\377' >%s.notes && "
		   "objcopy --update-section .note.stapsdt=%s.notes %s/usdt %s",
		   path, path, workloads(), path));
	workload = child_start(harness, path, ARGUMENTS("usdt"), NULL);
	child_wait_text(harness, workload, &workload->out, "ready");
	free(child_line(harness, workload, &workload->out));
	monitor = MONITOR_ATTACHED(harness, "-p", workload->pid_text, "-o", "0", "--format", "json",
				   "3600");
	child_wait_text(harness, monitor, &monitor->err, "contradict themselves");
	workload_do(harness, workload, "go");
	report = monitor_stop(harness, monitor);
	expect_truth(report, workload_ask(harness, workload, "ledger"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		e2e_test(estimates_are_within_their_limits),
		e2e_test(weights_by_hits_are_within_their_limits),
		e2e_test(recordings_keep_the_limits_and_diffs_mark_chance),
		e2e_test(semaphores_are_raised_while_leakmon_listens),
		e2e_test(semaphores_go_back_to_zero_when_leakmon_is_killed),
		e2e_test(a_library_that_is_loaded_later_is_followed_too),
		e2e_test(children_are_followed_by_their_own_samples),
		e2e_test(a_child_that_is_not_followed_is_left_as_it_was),
		e2e_test(a_program_is_followed_into_another_one_that_samples_itself),
		e2e_test(a_program_is_followed_into_one_without_probe_points),
		e2e_test(processes_that_sample_themselves_and_others_are_followed_in_one_run),
		e2e_test(without_free_what_was_allocated_is_shown_and_nothing_is_outstanding),
		e2e_test(the_allocator_is_tracked_where_that_is_preferred),
		e2e_test(doctor_lists_the_probes_that_a_process_carries),
		e2e_test(notes_that_lie_are_refused_and_the_allocator_is_tracked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
