// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The 95 % limits of leakmon profile compared with programs' own counts of allocated and live
 * blocks. Two programs under one profile at 20 %. LEAKMON_RUNS: number of runs (1); from 20 on,
 * nine of ten intervals must contain the truth (on a quiet machine); below that, as many as is not
 * implausible.
 */
#include "harness.h"

#include <signal.h>

#define ENOUGH_RUNS 20
#define WINDOWS 40
#define OLD_S 8

enum figure { GROWTH, BIRTHS };

/* A site, a figure of it, and the bytes of one of its blocks. */
struct checked {
	const char *function;
	enum figure figure;
	double bytes;
};

static const struct checked drips[] = {
	{"drip", GROWTH, 100},
	{"drip", BIRTHS, 0},
};

static const struct checked grown[] = {
	{"grow_mapped", GROWTH, 300000}, {"grow_mapped", BIRTHS, 0},
	{"grow_in_thread", GROWTH, 88},	 {"grow_in_thread", BIRTHS, 0},
	{"grow_touched", BIRTHS, 0},	 {"grow_equal", BIRTHS, 0},
};

/* Self-paced work, which probes slow down. */
static const struct checked paced[] = {
	{"hold", BIRTHS, 0},
	{"churn", BIRTHS, 0},
};

struct coverage {
	size_t covered, all;
};

static void check(struct coverage *coverage, json_t *process, const struct checked *checked,
		  double per_s)
{
	bool growth = checked->figure == GROWTH;
	json_t *site = site_of(process, checked->function);
	double truth = growth ? per_s * checked->bytes : per_s;
	double low, high;
	bool covered;

	assert_non_null(site);
	low = real_at(site, growth ? "low" : "births_low");
	high = real_at(site, growth ? "high" : "births_high");
	covered = low <= truth && truth <= high;
	print_message("%-16s %-6s %12.1f to %12.1f; %12.1f in truth%s\n", checked->function,
		      growth ? "growth" : "births", low, high, truth, covered ? "" : "  MISSED");
	coverage->covered += covered;
	coverage->all++;
}

/* Ends a program; returns its own figures. */
static json_t *truth_of(struct harness *harness, struct child *workload)
{
	json_t *truth;
	char *line;

	child_signal(workload, SIGTERM);
	line = child_line(harness, workload, &workload->out);
	truth = json_loads(line, 0, NULL);
	assert_non_null(truth);
	free(line);
	json_array_append_new(harness->documents, truth);
	return truth;
}

static bool is_known(json_t *process, const char *function)
{
	json_t *site = site_of(process, function);
	json_t *survival = json_object_get(site, "survival");
	size_t count = json_array_size(survival);

	return number_at(process, "windows") >= WINDOWS && count &&
	       real_at(json_array_get(survival, count - 1), "age_s") >= OLD_S;
}

static void run_once(struct harness *harness, struct coverage *by_clock, struct coverage *by_pace)
{
	struct child *dripper = WORKLOAD(harness, "dripper", "200", "2000", "noise", "250");
	struct child *adversary = WORKLOAD(harness, "adversary");
	pid_t pids[] = {dripper->pid, adversary->pid};
	char targets[40];
	struct child *monitor;
	json_t *report, *truth;
	double seconds, per_s, rounds;

	snprintf(targets, sizeof(targets), "%d,%d", pids[0], pids[1]);
	monitor = MONITOR(harness, "profile", "-p", targets, "--overhead", "20%", "--format",
			  "json", "-T", "0", "2");
	do
		report = monitor_report(harness, monitor);
	while (!is_known(process_of(report, pids[0]), "drip") ||
	       !is_known(process_of(report, pids[1]), "grow_in_thread"));
	monitor_stop(harness, monitor);
	truth = truth_of(harness, dripper);
	seconds = real_at(truth, "ns") / 1e9;
	per_s = real_at(truth, "dripped") / seconds;
	for (size_t i = 0; i < sizeof(drips) / sizeof(*drips); i++)
		check(by_clock, process_of(report, pids[0]), &drips[i], per_s);
	rounds = real_at(truth, "rounds") / seconds;
	check(by_pace, process_of(report, pids[0]), &paced[0], rounds);
	check(by_pace, process_of(report, pids[0]), &paced[1],
	      (real_at(truth, "allocated") - real_at(truth, "dripped")) / seconds - rounds);
	truth = truth_of(harness, adversary);
	per_s = real_at(truth, "grown") / real_at(truth, "ns") * 1e9;
	for (size_t i = 0; i < sizeof(grown) / sizeof(*grown); i++)
		check(by_clock, process_of(report, pids[1]), &grown[i], per_s);
	assert_int_equal(child_end(harness, dripper), 0);
	assert_int_equal(child_end(harness, adversary), 0);
}

/* How likely so few are if each is covered nine times of ten. */
static double likelihood(const struct coverage *coverage)
{
	double more = 0, each = 1;

	for (size_t i = 0; i < coverage->all; i++)
		each *= 0.9;
	for (size_t k = coverage->all; k > coverage->covered; k--) {
		more += each;
		each *= (double)k / (double)(coverage->all - k + 1) * (0.1 / 0.9);
	}
	return 1 - more;
}

static void say(const char *what, const struct coverage *coverage)
{
	print_message("%s: %zu of %zu intervals hold the truth (%.1f %%)\n", what,
		      coverage->covered, coverage->all,
		      100.0 * (double)coverage->covered / (double)coverage->all);
}

static bool nine_of_ten(const struct coverage *coverage)
{
	return coverage->covered * 10 >= coverage->all * 9;
}

static void limits_hold_what_programs_know_of_themselves(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct coverage by_clock = {0}, by_pace = {0};
	const char *given = getenv("LEAKMON_RUNS");
	size_t runs = given ? (size_t)atol(given) : 1;

	for (size_t i = 0; i < runs; i++)
		run_once(harness, &by_clock, &by_pace);
	say("by the clock", &by_clock);
	say("by their own pace", &by_pace);
	assert_true(likelihood(&by_clock) > 1e-4);
	/* Their pace depends on the machine's other load. */
	if (runs >= ENOUGH_RUNS)
		assert_true(nine_of_ten(&by_clock) && nine_of_ten(&by_pace));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		e2e_test(limits_hold_what_programs_know_of_themselves),
	};

	return cmocka_run_group_tests_name("e2e_profile_truth", tests, NULL, NULL);
}
