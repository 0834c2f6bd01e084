// SPDX-License-Identifier: GPL-2.0-or-later
/* Hundreds of processes of one file: the time to watch all of them, and to detach from them. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "bench.h"
#include "monitor.h"

#define CROWD_PROGRAM "build/workloads/brood"
#define CROWD_NAME "brood"
#define PAIR_PROGRAM "build/bench/pair"
#define CROWD "400"
#define CROWD_LARGE "1500"
#define CROWD_QUICK "40"
/* Repetitions; each takes long, and the large one runs once. */
#define CROWD_REPETITIONS 3
/* In the kernel it grows with the third power of how many they are. */
#define LEAVE_LIMIT_NS INT64_C(900000000000)

static double s_since(int64_t start_ns)
{
	return (double)(now_ns() - start_ns) / 1e9;
}

/* Children that only wait; they and their parent are watched. */
static int crowd_start(struct child **crowd, const char *count, struct why *why)
{
	int error = workload_start(crowd, ARGUMENTS(CROWD_PROGRAM, count), NULL, why);

	return error ? error : child_do(*crowd, "crowd");
}

static int crowd_watch(struct child **monitor, const char *count, struct why *why)
{
	int error = child_start(
		monitor,
		ARGUMENTS(monitor_program(), "-n", CROWD_NAME, "-T", "1", "--format=json", "3600"),
		why);

	for (int i = 0; i < atoi(count) + 1 && !error; i++)
		error = child_line(*monitor, &(*monitor)->err, "leakmon: attached to PID ", NULL,
				   NULL);
	return error;
}

static int crowd_leave(struct child *monitor)
{
	if (kill(monitor->pid, SIGTERM))
		return child_fail(monitor, -errno, "was gone already");
	return child_end_by(monitor, now_ns() + LEAVE_LIMIT_NS);
}

/* `first` is how long attaching takes; leaving, and both, come after it. */
static int crowd_time(struct bench *bench, const char *count, enum figure first,
		      struct child *bystander)
{
	_cleanup_(child_cleanup) struct child *crowd = NULL, *monitor = NULL;
	struct results *results = &bench->results;
	double alone_ns = 0, beside_ns = 0, attach_s, leave_s;
	int error = crowd_start(&crowd, count, &results->why);
	int64_t stop_ns;

	if (!error && bystander)
		error = child_time(bystander, &alone_ns);
	if (!error)
		error = crowd_watch(&monitor, count, &results->why);
	if (error)
		return error;
	attach_s = s_since(monitor->started_ns);
	if (bystander)
		error = child_time(bystander, &beside_ns);
	stop_ns = now_ns();
	if (!error)
		error = crowd_leave(monitor);
	if (error || bench->quick) /* they had fewer */
		return error;
	leave_s = s_since(stop_ns);
	results_add(results, first, attach_s);
	results_add(results, first + 1, leave_s);
	results_add(results, first + 2, attach_s + leave_s);
	if (bystander) {
		results_add(results, CROWD_BYSTANDER_ALONE, alone_ns);
		results_add(results, CROWD_BYSTANDER, beside_ns);
	}
	return 0;
}

static int crowd_run(struct bench *bench)
{
	_cleanup_(child_cleanup) struct child *bystander = NULL;
	const char *count = bench->quick ? CROWD_QUICK : CROWD;
	int error = workload_start(&bystander, ARGUMENTS(PAIR_PROGRAM, bench->pair_ms), NULL,
				   &bench->results.why);

	return error ? error : crowd_time(bench, count, CROWD_ATTACH, bystander);
}

static int crowd_large_run(struct bench *bench)
{
	return crowd_time(bench, bench->quick ? CROWD_QUICK : CROWD_LARGE, CROWD_LARGE_ATTACH,
			  NULL);
}

int section_crowd(struct bench *bench)
{
	struct results *results = &bench->results;
	int error = repeat(bench, "crowd", bench->quick ? 1 : CROWD_REPETITIONS, crowd_run);

	error = results_settle(results, CROWD_ATTACH, CROWD_BYSTANDER, error);
	if (!error)
		error = repeat(bench, "large crowd", 1, crowd_large_run);
	return results_settle(results, CROWD_LARGE_ATTACH, CROWD_LARGE_BOTH, error);
}
