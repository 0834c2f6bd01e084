// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Programs that sample themselves and tell of it by otel_memory's probes. The workload keeps an
 * exact account beside its sampler: estimates are compared with that. LEAKMON_USDT_RUNS says over
 * how many runs (20).
 */
#include "harness.h"

#include <fcntl.h>
#include <signal.h>

#include "shell.h"

#define SITES 4

/* Of all runs, whose limits hold the truth: of the bytes and of the count, by site and in sum. */
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

/* What was told is counted to the last sample. */
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

/* 95 % of them should be; fewer than 93 of 100 over 1,000 runs, 90 over 100, or 15 of 20 hardly
 * ever are. */
static int fewest_of(int runs)
{
	return runs < 100 ? runs * 3 / 4 : runs * (runs < 1000 ? 90 : 93) / 100;
}

static void estimates_are_within_their_limits(void **state)
{
	static const char *const names[SITES + 1] = {"small", "middle", "large", "mixed", "sum"};
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "usdt", "20261123");
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
}

/* What a reader of recordings prints. */
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

/* Whatever is made of a recording says that its numbers are estimates. */
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

static void recordings_keep_the_limits_and_diffs_say_what_is_chance(void **state)
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
static unsigned semaphore_of(struct harness *harness, struct child *workload, const char *name)
{
	json_int_t address = number_at(workload_ask(harness, workload, "semaphores"), name);
	unsigned short value = 0xffff;
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%s/mem", workload->pid_text);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(pread(fd, &value, sizeof(value), address), sizeof(value));
	close(fd);
	return value;
}

static void expect_semaphores(struct harness *harness, struct child *workload, bool raised)
{
	/* The kernel counts places, and takes them out when the last descriptor is closed. */
	for (int i = 0; i < 1200; i++) {
		if (!!semaphore_of(harness, workload, "alloc") == raised &&
		    !!semaphore_of(harness, workload, "free") == raised)
			return;
		usleep(100000);
	}
	fail_msg("semaphores: alloc %u, free %u", semaphore_of(harness, workload, "alloc"),
		 semaphore_of(harness, workload, "free"));
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
	/* 400,000 blocks of 256 bytes, which 195 samples tell of. */
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

/* The same program, but what its notes say is nonsense. */
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
		e2e_test(recordings_keep_the_limits_and_diffs_say_what_is_chance),
		e2e_test(semaphores_are_raised_while_leakmon_listens),
		e2e_test(semaphores_go_back_to_zero_when_leakmon_is_killed),
		e2e_test(without_free_what_was_allocated_is_shown_and_nothing_is_outstanding),
		e2e_test(the_allocator_is_tracked_where_that_is_preferred),
		e2e_test(doctor_lists_the_probes_that_a_process_carries),
		e2e_test(notes_that_lie_are_refused_and_the_allocator_is_tracked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
