// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * leakmon without a target, on this machine, with workloads of known growth. At five polls a second
 * a verdict takes about five seconds; figures with polls every five seconds and a leak of 1 MiB a
 * minute are those of tests/unit/test_triage_detection.c (simulated clock) and of `make bench`.
 */
#include "harness.h"

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#define MONITOR_JSON(harness, ...) MONITOR(harness, "--format", "json", ##__VA_ARGS__)

static json_t *entry_of(json_t *report, pid_t pid, size_t *rank)
{
	json_t *entry;
	size_t i;

	json_array_foreach(json_object_get(report, "processes"), i, entry)
	{
		if (number_at(entry, "pid") != pid)
			continue;
		if (rank)
			*rank = i;
		return entry;
	}
	return NULL;
}

static size_t rank_of(json_t *report, pid_t pid)
{
	size_t rank = SIZE_MAX;

	assert_non_null(entry_of(report, pid, &rank));
	return rank;
}

static const char *word_at(json_t *entry, const char *key)
{
	return json_string_value(json_object_get(json_object_get(entry, "growth"), key));
}

static double growth_at(json_t *entry, const char *key)
{
	return json_number_value(json_object_get(json_object_get(entry, "growth"), key));
}

/* The group in which a process of that control group counts; NULL: it is in no report yet. */
static json_t *group_of(json_t *report, const char *path)
{
	json_t *group;
	size_t i;

	json_array_foreach(json_object_get(report, "groups"), i, group)
	{
		const char *cgroup = json_string_value(json_object_get(group, "cgroup"));

		if (cgroup && strstr(path, cgroup) && strlen(cgroup) > 1 &&
		    !strcmp(strrchr(path, '/'), strrchr(cgroup, '/')))
			return group;
	}
	return NULL;
}

/* Reports until the process has that verdict; the harness limits how long. */
static json_t *report_with_verdict(struct harness *harness, struct child *monitor, pid_t pid,
				   const char *verdict)
{
	for (;;) {
		json_t *report = monitor_report(harness, monitor);
		json_t *entry = entry_of(report, pid, NULL);

		if (entry && !strcmp(word_at(entry, "verdict"), verdict))
			return report;
	}
}

static void interrupt(struct harness *harness, struct child *monitor)
{
	child_signal(monitor, SIGINT);
	assert_int_equal(child_end(harness, monitor), 0);
}

/* Returns the share of the growth explained by stacks with that function. */
static double explained_by(json_t *sampled, const char *function)
{
	double sum = 0;
	json_t *stack;
	size_t i;

	json_array_foreach(json_object_get(sampled, "stacks"), i, stack)
	{
		if (stack_has_function(stack, function))
			sum += json_number_value(json_object_get(stack, "explained"));
	}
	return sum;
}

/* Waits until that many samples of the process have been taken; returns a borrowed entry. */
static json_t *sampled_wait(struct harness *harness, struct child *monitor, pid_t pid,
			    json_int_t samples)
{
	for (;;) {
		json_t *entry = entry_of(monitor_report(harness, monitor), pid, NULL);
		json_t *sampled = entry ? json_object_get(entry, "sampled") : NULL;

		if (sampled && number_at(sampled, "samples") >= samples)
			return sampled;
	}
}

/* Half, a third and a sixth of the new pages, by the stacks that touched them. */
static void expect_sampled_shares(json_t *sampled)
{
	static const char *const order[] = {"leak_half", "leak_third", "leak_sixth"};

	assert_string_equal(json_string_value(json_object_get(sampled, "kind")), "heap");
	assert_int_equal(number_at(sampled, "samples_lost"), 0);
	assert_int_equal(number_at(sampled, "threads_missed"), 0);
	/* With 150 samples a share of a third is known to 0.04. /proc lags by 32 pages per CPU. */
	for (size_t i = 0; i < 3; i++) {
		double share = 1.0 / (double)(i == 2 ? 6 : i + 2);

		assert_true(explained_by(sampled, order[i]) > share - 0.15);
		assert_true(explained_by(sampled, order[i]) < share + 0.2);
	}
}

/* 12 MiB a minute, 50 pages a second. */
static void a_leak_is_the_first_of_all_with_its_rate_and_stacks(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *cache = WORKLOAD(harness, "grower", "cache", "30000", "1");
	struct child *leaker = WORKLOAD(harness, "grower", "leak", "200");
	struct child *monitor = MONITOR_JSON(harness, "--budget", "100%", "0.2");
	json_t *report, *entry;
	size_t rank;

	/* Readings are irregular on a busy machine: the confidence rises some readings later. */
	do {
		report = report_with_verdict(harness, monitor, leaker->pid, "leaking");
		entry = entry_of(report, leaker->pid, &rank);
	} while (growth_at(entry, "confidence") <= 0.7);
	/* Other processes of this machine may grow as well. */
	assert_true(rank < rank_of(report, cache->pid));
	assert_string_equal(word_at(entry, "kind"), "heap");
	/* glibc adds 8 bytes and more to a block. */
	assert_true(growth_at(entry, "bytes_per_s") > 200 * 1024 * 0.9);
	assert_true(growth_at(entry, "bytes_per_s") < 200 * 1024 * 1.2);
	assert_true(number_at(entry, "memory_bytes") > 200 * 1024 * 4);
	entry = entry_of(report, cache->pid, NULL);
	assert_int_not_equal(strcmp(word_at(entry, "verdict"), "leaking"), 0);
	expect_sampled_shares(sampled_wait(harness, monitor, leaker->pid, 150));
	interrupt(harness, monitor);
}

static bool has_cause(json_t *entry, const char *verdict)
{
	json_t *cause = entry ? json_object_get(json_object_get(entry, "growth"), "cause") : NULL;

	return cause && !strcmp(json_string_value(json_object_get(cause, "verdict")), verdict);
}

static void expect_cause(json_t *entry, bool no_leak, const char *words)
{
	json_t *cause = json_object_get(json_object_get(entry, "growth"), "cause");

	assert_int_equal(json_is_true(json_object_get(cause, "no_leak")), no_leak);
	assert_non_null(strstr(json_string_value(json_object_get(cause, "text")), words));
}

/* The same growth for two reasons: one is a leak, the other has no live blocks. */
static void what_malloc_keeps_is_not_called_leaking(void **state)
{
	struct harness *harness = harness_any(state);
	struct child *keeper = WORKLOAD(harness, "grower", "peaks", "2000");
	struct child *leaker = WORKLOAD(harness, "grower", "leak", "2000");
	struct child *monitor = MONITOR_JSON(harness, "--budget", "100%", "--no-stacks", "0.2");
	int kept = 0, leaking = 0;

	while (kept < 5 || leaking < 5) {
		json_t *report = monitor_report(harness, monitor);
		json_t *entry = entry_of(report, keeper->pid, NULL);

		/* Read in the middle of its work, it has live blocks. */
		if (has_cause(entry, "retained")) {
			assert_string_equal(word_at(entry, "verdict"), "retained");
			expect_cause(entry, true, "malloc_trim(3)");
			kept++;
		}
		entry = entry_of(report, leaker->pid, NULL);
		assert_false(has_cause(entry, "retained"));
		if (has_cause(entry, "live") && !strcmp(word_at(entry, "verdict"), "leaking")) {
			expect_cause(entry, false, "a leak if this goes on");
			leaking++;
		}
	}
	interrupt(harness, monitor);
}

/* Changes alone: one report in the seconds before a verdict, not one for each of them. */
static void a_pipe_gets_no_report_that_says_the_same(void **state)
{
	struct harness *harness = harness_any(state);
	struct child *monitor = MONITOR(harness, "--no-stacks", "-T", "3", "0.2");
	size_t reports = 0;

	child_wait_text(harness, monitor, &monitor->err, "until then only what seems to grow");
	usleep(3000000);
	interrupt(harness, monitor);
	for (const char *at = monitor->out.text; (at = strstr(at, " processes for ")); at++)
		reports++;
	/* The last report is written in any case; other processes of this machine may begin to
	 * grow. */
	assert_true(reports >= 1 && reports <= 6);
}

/* On a budget that had not saved up a look it was called leaking until there was one. */
static void the_split_is_asked_before_the_word(void **state)
{
	struct harness *harness = harness_any(state);
	struct child *keeper = WORKLOAD(harness, "grower", "peaks", "2000");
	struct child *leaker = WORKLOAD(harness, "grower", "leak", "2000");
	struct child *monitor = MONITOR_JSON(harness, "--budget", "3%", "--no-stacks", "0.5");
	bool kept = false, leaking = false;

	while (!kept || !leaking) {
		json_t *report = monitor_report(harness, monitor);
		json_t *entry = entry_of(report, keeper->pid, NULL);

		kept |= has_cause(entry, "retained");
		if (entry && !kept)
			assert_string_not_equal(word_at(entry, "verdict"), "leaking");
		entry = entry_of(report, leaker->pid, NULL);
		leaking |= entry && !strcmp(word_at(entry, "verdict"), "leaking");
	}
	interrupt(harness, monitor);
}

/* Ten times a second, every event is sampled. Only its function does it. */
static void expect_sampled_course(struct harness *harness, struct child *monitor, pid_t pid,
				  const char *function)
{
	json_t *sampled = sampled_wait(harness, monitor, pid, 30);
	double share = explained_by(sampled, function);

	assert_true(share > 0.8 && share < 1.2);
}

/* Opens of files are not sampled, but their kinds are known. */
static void expect_sampled_files(struct harness *harness, struct child *monitor, pid_t pid)
{
	json_t *files, *kind;

	do {
		files = json_object_get(sampled_wait(harness, monitor, pid, 0), "files");
		kind = json_array_get(files, 0);
	} while (!kind || number_at(kind, "added") < 10);
	/* One file, opened again and again. */
	assert_string_equal(json_string_value(json_object_get(kind, "kind")), "/etc/*");
	assert_int_equal(json_array_size(files), 1);
}

/* Unjoined threads grow as mappings do; their stacks identify them. */
static void dead_threads_that_grow_are_named_with_their_creators(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *grower = WORKLOAD(harness, "grower", "forgotten", "10");
	struct child *monitor = MONITOR_JSON(harness, "--budget", "100%", "0.2");
	char next[64];
	json_t *sampled;

	report_with_verdict(harness, monitor, grower->pid, "leaking");
	/* It is inlined: its name comes with the lines, in a later report. */
	do {
		sampled = sampled_wait(harness, monitor, grower->pid, 30);
	} while (explained_by(sampled, "one_forgotten") <= 0);
	assert_true(json_number_value(json_object_get(sampled, "dead_threads_added")) >= 10);
	assert_true(explained_by(sampled, "one_forgotten") > 0.8);
	snprintf(next, sizeof(next), "leakmon threads -p %d", grower->pid);
	assert_string_equal(json_string_value(json_object_get(sampled, "next")), next);
	interrupt(harness, monitor);
}

static void every_kind_of_growth_is_named_with_its_cause(void **state)
{
	static const char *const courses[][2] = {
		{"threads", "threads"}, {"files", "files"}, {"maps", "mapping"}};
	struct harness *harness = harness_bpf(state);
	struct child *growers[3], *monitor;

	for (size_t i = 0; i < 3; i++)
		growers[i] = WORKLOAD(harness, "grower", courses[i][0], "10");
	monitor = MONITOR_JSON(harness, "--budget", "100%", "0.2");
	for (size_t i = 0; i < 3; i++) {
		json_t *report = report_with_verdict(harness, monitor, growers[i]->pid, "leaking");
		json_t *entry = entry_of(report, growers[i]->pid, NULL);

		assert_string_equal(word_at(entry, "kind"), courses[i][1]);
		/* Threads come with mappings; rates are those of the kind. */
		assert_true(growth_at(entry, "per_s") > 9 * 1.0);
		assert_true(growth_at(entry, "per_s") < 11 * (i == 2 ? 2.0 : 1.0));
	}
	expect_sampled_course(harness, monitor, growers[0]->pid, "threads");
	expect_sampled_files(harness, monitor, growers[1]->pid);
	expect_sampled_course(harness, monitor, growers[2]->pid, "maps");
	interrupt(harness, monitor);
}

/* Fills 20 MiB in 3 s, then turns over; works up to 20 MiB every second and frees it. On a busy
 * machine the first one may fill between two readings. */
static void what_has_settled_is_not_accused(void **state)
{
	struct harness *harness = harness_any(state);
	struct child *cache = WORKLOAD(harness, "grower", "cache", "20000", "3");
	struct child *batch = WORKLOAD(harness, "grower", "batch", "20000", "1000");
	struct child *idle = WORKLOAD(harness, "grower", "idle");
	struct child *monitor = MONITOR_JSON(harness, "--budget", "100%", "0.2", "60");
	json_t *report = NULL;
	const char *filled;

	for (int i = 0; i < 60; i++)
		report = monitor_report(harness, monitor);
	assert_int_equal(child_end(harness, monitor), 0);
	filled = word_at(entry_of(report, cache->pid, NULL), "verdict");
	assert_true(!strcmp(filled, "plateau") || !strcmp(filled, "one-off"));
	assert_string_equal(word_at(entry_of(report, batch->pid, NULL), "verdict"), "churning");
	assert_string_equal(word_at(entry_of(report, idle->pid, NULL), "verdict"), "steady");
}

static void count_and_contract_are_those_of_every_report(void **state)
{
	struct harness *harness = harness_any(state);
	struct child *idle = WORKLOAD(harness, "grower", "idle");
	struct child *monitor = MONITOR_JSON(harness, "--budget", "100%", "0.1", "3");

	for (int i = 1; i <= 3; i++) {
		json_t *report = monitor_report(harness, monitor), *entry;

		assert_int_equal(number_at(report, "schema"), 1);
		assert_int_equal(number_at(report, "sequence"), i);
		assert_int_equal(ledger_at(report, "allocations"), 0);
		entry = entry_of(report, idle->pid, NULL);
		assert_string_equal(word_at(entry, "verdict"), "too-early");
		assert_string_equal(json_string_value(json_object_get(entry, "comm")), "grower");
		assert_int_equal(number_at(json_object_get(entry, "threads"), "alive"), 1);
		assert_null(entry_of(report, monitor->pid, NULL)); /* itself */
	}
	assert_int_equal(child_end(harness, monitor), 0);
	assert_int_equal(monitor->out.taken, monitor->out.size);
}

static void top_cuts_and_sigusr1_reports_now(void **state)
{
	struct harness *harness = harness_any(state);
	struct child *monitor = MONITOR_JSON(harness, "-T", "1", "3600");
	json_t *report;

	child_wait_text(harness, monitor, &monitor->err, "first verdicts in about");
	child_signal(monitor, SIGUSR1);
	report = monitor_report(harness, monitor);
	assert_int_equal(json_array_size(json_object_get(report, "processes")), 1);
	assert_true(number_at(report, "processes_total") > 1);
	child_signal(monitor, SIGINT);
	report = monitor_report(harness, monitor);
	assert_int_equal(number_at(report, "sequence"), 2);
	assert_int_equal(child_end(harness, monitor), 0);
}

/* One part in a million of a core: everything must go, and the user must know. */
static void what_the_budget_does_not_cover_is_shed_and_reported(void **state)
{
	struct harness *harness = harness_any(state);
	struct child *monitor = MONITOR(harness, "--budget", "0.001", "0.05", "60");

	assert_int_equal(child_end(harness, monitor), 0);
	assert_non_null(strstr(monitor->out.text, "shed to keep --budget: mappings"));
	assert_non_null(strstr(monitor->err.text, "not counting mappings"));
}

/* No process maps it: the group grows, but none of its processes. */
static void tmpfs_that_grows_makes_its_group_a_suspect(void **state)
{
	struct harness *harness = harness_any(state);
	struct child *target = WORKLOAD(harness, "grower", "shared", "4000"), *monitor;
	json_t *report, *group, *part;
	char path[96];

	memory_group_make(target, path, sizeof(path));
	monitor = MONITOR_JSON(harness, "--no-stacks", "--budget", "100%", "0.2");
	do {
		report = monitor_report(harness, monitor);
		group = group_of(report, path);
	} while (!group || strcmp(word_at(group, "verdict"), "leaking") != 0);
	assert_string_equal(word_at(group, "kind"), "charged");
	part = json_array_get(json_object_get(json_object_get(group, "split"), "parts"), 0);
	assert_string_equal(json_string_value(json_object_get(part, "part")), "tmpfs");
	assert_true(real_at(part, "growth_bytes") > 1 << 20);
	assert_string_not_equal(word_at(entry_of(report, target->pid, NULL), "verdict"), "leaking");
	interrupt(harness, monitor);
	child_signal(target, SIGKILL);
	child_end(harness, target);
	rmdir(path);
}

/* Half, a third and a sixth of the growth come from three sites. */
static void escalation_finds_the_sites_and_their_shares(void **state)
{
	static const char *const order[] = {"leak_half", "leak_third", "leak_sixth"};
	struct harness *harness = harness_bpf(state);
	struct child *leaker = WORKLOAD(harness, "grower", "leak", "400");
	struct child *monitor = MONITOR_JSON(harness, "--budget", "100%", "--escalate=1", "--exact",
					     "--window", "5s", "0.2");
	json_t *found = NULL, *explained;
	double sum = 0;

	while (!found) {
		json_t *entry = entry_of(monitor_report(harness, monitor), leaker->pid, NULL);

		found = entry ? json_object_get(entry, "sites") : NULL;
		if (!found)
			continue;
		explained = json_object_get(json_object_get(entry, "escalation"), "explained");
		for (size_t i = 0; i < json_array_size(explained); i++)
			sum += json_number_value(json_array_get(explained, i));
		assert_int_equal(json_array_size(found), 3);
	}
	/* malloc's overhead per block is growth that no site requested. */
	assert_true(sum > 0.75 && sum < 1.15);
	for (size_t i = 0; i < 3; i++) {
		json_t *frames = json_object_get(json_array_get(found, i), "frames");
		json_t *second = json_array_get(frames, 1);

		assert_string_equal(json_string_value(json_object_get(second, "function")),
				    order[i]);
	}
	interrupt(harness, monitor);
}

/* Without a probe most of the time; in the suspect's row, and in the form of a profile. */
static void suspects_are_profiled_unless_exact_tracking_is_asked_for(void **state)
{
	static const char *const order[] = {"leak_half", "leak_third", "leak_sixth"};
	struct harness *harness = harness_bpf(state);
	struct child *leaker = WORKLOAD(harness, "grower", "leak", "400");
	struct child *monitor = MONITOR_JSON(harness, "--budget", "100%", "--escalate=50", "0.5");
	json_t *profile = NULL, *entry;
	unsigned seen = 0;

	/* The limit is 0.01; a stall of the machine is known afterwards, and made up for. */
	while (seen != 7 || real_at(profile, "spent") > 0.015) {
		entry = entry_of(monitor_report(harness, monitor), leaker->pid, NULL);
		profile = entry ? json_object_get(entry, "profile") : NULL;
		assert_null(entry ? json_object_get(entry, "escalation") : NULL);
		seen = 0;
		for (size_t i = 0; profile && i < 3; i++) {
			json_t *sites = json_object_get(profile, "sites");

			for (size_t j = 0; j < json_array_size(sites); j++)
				seen |= (unsigned)stack_has_function(json_array_get(sites, j),
								     order[i])
					<< i;
		}
	}
	assert_int_equal(number_at(profile, "pid"), leaker->pid);
	assert_true(number_at(profile, "windows") > 0);
	interrupt(harness, monitor);
	assert_non_null(strstr(monitor->err.text, "is profiled: its heap grows by"));
}

/* Two mappings each time: the half that was made writable, and the rest. */
static void escalation_finds_the_stacks_that_map(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *mapper = WORKLOAD(harness, "grower", "maps", "50");
	struct child *monitor = MONITOR(harness, "--no-stacks", "--budget", "100%", "--escalate=1",
					"--exact", "--window", "5s", "0.2");

	child_wait_text(harness, monitor, &monitor->out, "mapping tracked for");
	child_wait_text(harness, monitor, &monitor->out, "one_mapping");
	interrupt(harness, monitor);
	assert_null(strstr(monitor->out.text, "mmap sampled"));
	(void)mapper;
}

/* A suspect that may not be probed stops nothing. */
static void a_suspect_that_is_traced_is_reported_and_left_alone(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *leaker = WORKLOAD(harness, "grower", "leak", "400");
	struct child *monitor;

	assert_int_equal(ptrace(PTRACE_SEIZE, leaker->pid, 0, 0), 0);
	monitor = MONITOR(harness, "--budget", "100%", "--escalate=1", "--exact", "--window", "2s",
			  "0.2");
	child_wait_text(harness, monitor, &monitor->out, "heap not tracked");
	assert_non_null(strstr(monitor->err.text, "traced"));
	interrupt(harness, monitor);
	assert_int_equal(ptrace(PTRACE_INTERRUPT, leaker->pid, 0, 0), 0);
	assert_int_equal(waitpid(leaker->pid, NULL, 0), leaker->pid);
	assert_int_equal(ptrace(PTRACE_DETACH, leaker->pid, 0, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		e2e_test(a_leak_is_the_first_of_all_with_its_rate_and_stacks),
		e2e_test(what_malloc_keeps_is_not_called_leaking),
		e2e_test(the_split_is_asked_before_the_word),
		e2e_test(a_pipe_gets_no_report_that_says_the_same),
		e2e_test(dead_threads_that_grow_are_named_with_their_creators),
		e2e_test(every_kind_of_growth_is_named_with_its_cause),
		e2e_test(what_has_settled_is_not_accused),
		e2e_test(count_and_contract_are_those_of_every_report),
		e2e_test(top_cuts_and_sigusr1_reports_now),
		e2e_test(what_the_budget_does_not_cover_is_shed_and_reported),
		e2e_test(tmpfs_that_grows_makes_its_group_a_suspect),
		e2e_test(escalation_finds_the_sites_and_their_shares),
		e2e_test(suspects_are_profiled_unless_exact_tracking_is_asked_for),
		e2e_test(escalation_finds_the_stacks_that_map),
		e2e_test(a_suspect_that_is_traced_is_reported_and_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
