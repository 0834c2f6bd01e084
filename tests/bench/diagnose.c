// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The cost of `leakmon diagnose` for its target, from the target's own loop: CPU time, and late
 * rounds. Alternately without and with it, on one process: at 1,000 events a second, which are
 * tracked exactly, and at 100,000, which are tracked in windows.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "bench.h"
#include "monitor.h"

/* The answer comes after the scans at the end: some seconds beyond --for. */
#define ROUNDS_MS "36000"
#define FOR "30s"
#define ROUNDS_QUICK_MS "9000"
#define FOR_QUICK "5s"

static const struct pace {
	const char *pairs;
	enum figure alone, diagnosed, lost, p99_alone, p99, longest_alone, longest;
} paces[] = {
	{"1", DIAGNOSE_QUIET_ALONE, DIAGNOSE_QUIET, DIAGNOSE_QUIET_LOST, DIAGNOSE_QUIET_P99_ALONE,
	 DIAGNOSE_QUIET_P99, DIAGNOSE_QUIET_LONGEST_ALONE, DIAGNOSE_QUIET_LONGEST},
	{"100", DIAGNOSE_BUSY_ALONE, DIAGNOSE_BUSY, DIAGNOSE_BUSY_LOST, DIAGNOSE_BUSY_P99_ALONE,
	 DIAGNOSE_BUSY_P99, DIAGNOSE_BUSY_LONGEST_ALONE, DIAGNOSE_BUSY_LONGEST},
};

struct loop {
	double core_percent, p99_us, longest_ms;
};

/* Rounds come every 2 ms: the time of one is the process's share of a core. */
static int loop_run(struct child *target, struct loop *loop)
{
	unsigned long rounds, cpu_ns, p99_ns, longest_ns;
	char *answer;
	int error = child_ask(target, "time", &answer);

	if (error)
		return error;
	if (sscanf(answer, "%lu %lu %lu %lu", &rounds, &cpu_ns, &p99_ns, &longest_ns) != 4)
		return child_fail(target, -EPROTO, "did not answer with four numbers");
	loop->core_percent = 100 * (double)cpu_ns / (double)rounds / 2e6;
	loop->p99_us = (double)p99_ns / 1e3;
	loop->longest_ms = (double)longest_ns / 1e6;
	return 0;
}

/* It leaks, so the exit code is 3. */
static int diagnose_end(struct child *monitor)
{
	int error = child_end(monitor);

	return error == -EPROTO && monitor->code == 3 ? 0 : error;
}

static int diagnosed_run(struct bench *bench, struct child *target, pid_t pid, struct loop *loop)
{
	_cleanup_(child_cleanup) struct child *monitor = NULL;
	char text[16];
	int error;

	snprintf(text, sizeof(text), "%d", pid);
	error = child_start(&monitor,
			    ARGUMENTS(monitor_program(), "diagnose", "-p", text, "--for",
				      bench->quick ? FOR_QUICK : FOR, "--format", "json"),
			    &bench->results.why);
	if (!error)
		error = loop_run(target, loop);
	return error ? error : diagnose_end(monitor);
}

static int pace_run(struct bench *bench, const struct pace *pace)
{
	_cleanup_(child_cleanup) struct child *target = NULL;
	struct results *results = &bench->results;
	struct loop alone, diagnosed;
	pid_t pid;
	int error =
		workload_start(&target,
			       ARGUMENTS("build/bench/pulse",
					 bench->quick ? ROUNDS_QUICK_MS : ROUNDS_MS, pace->pairs),
			       &pid, &results->why);

	if (!error)
		error = loop_run(target, &alone);
	if (!error)
		error = diagnosed_run(bench, target, pid, &diagnosed);
	if (error)
		return error;
	results_add(results, pace->alone, alone.core_percent);
	results_add(results, pace->diagnosed, diagnosed.core_percent);
	results_add(results, pace->lost, diagnosed.core_percent - alone.core_percent);
	results_add(results, pace->p99_alone, alone.p99_us);
	results_add(results, pace->p99, diagnosed.p99_us);
	results_add(results, pace->longest_alone, alone.longest_ms);
	results_add(results, pace->longest, diagnosed.longest_ms);
	return 0;
}

static int paces_run(struct bench *bench)
{
	int error = 0;

	for (size_t i = 0; i < ARRAY_SIZE(paces) && !error; i++)
		error = pace_run(bench, &paces[i]);
	return error;
}

int section_diagnose(struct bench *bench)
{
	return results_settle(&bench->results, DIAGNOSE_QUIET_ALONE, DIAGNOSE_BUSY_LONGEST,
			      repeat(bench, "diagnose", bench->repetitions, paces_run));
}
