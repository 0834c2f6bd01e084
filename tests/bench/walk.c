// SPDX-License-Identifier: GPL-2.0-or-later
/* The cost of a stack walk: deep against shallow, so that all else cancels out. */
#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "bench.h"
#include "monitor.h"
#include "peer.h"

#define DEPTH_PROGRAM "build/bench/depth"
#define FRAMES "20"
#define MORE_FRAMES "60"
#define DIFFERENCE 40
#define NEVER "3600"

/* The nanoseconds of a pair, `frames` deep. */
static int depth_time(struct bench *bench, const char *frames, const char *option,
		      const char *command, double *ns)
{
	_cleanup_(child_cleanup) struct child *target = NULL, *monitor = NULL;
	struct why *why = &bench->results.why;
	unsigned long pairs, elapsed_ns;
	char *answer;
	pid_t pid;
	int error = workload_start(&target, ARGUMENTS(DEPTH_PROGRAM, bench->pair_ms, frames), &pid,
				   why);

	if (!error)
		error = monitor_start(&monitor, pid, ARGUMENTS(option), NEVER, why);
	if (!error)
		error = child_ask(target, command, &answer);
	if (error)
		return error;
	if (sscanf(answer, "%lu %lu", &pairs, &elapsed_ns) != 2)
		return child_fail(target, -EPROTO, "did not answer with two numbers");
	*ns = (double)elapsed_ns / (double)pairs;
	return monitor_stop(monitor);
}

static int memleak_time(struct bench *bench, const char *command, double *ns)
{
	_cleanup_(child_cleanup) struct child *target = NULL, *peer = NULL;
	struct why *why = &bench->results.why;
	unsigned long pairs, elapsed_ns;
	char *answer;
	pid_t pid;
	int error = workload_start(&target, ARGUMENTS(DEPTH_PROGRAM, bench->pair_ms, FRAMES), &pid,
				   why);

	if (!error)
		error = memleak_start(&peer, target, pid, why);
	if (!error)
		error = child_ask(target, command, &answer);
	if (error)
		return error;
	if (sscanf(answer, "%lu %lu", &pairs, &elapsed_ns) != 2)
		return child_fail(target, -EPROTO, "did not answer with two numbers");
	*ns = (double)elapsed_ns / (double)pairs;
	return 0;
}

static int memleak_run(struct bench *bench)
{
	struct results *results = &bench->results;
	double same_ns, changing_ns;
	int error;

	if (results->figures[DEPTH_MEMLEAK].why.text[0])
		return 0;
	error = memleak_time(bench, "same", &same_ns);
	if (!error)
		error = memleak_time(bench, "changing", &changing_ns);
	if (!error) {
		results_add(results, DEPTH_MEMLEAK, same_ns);
		results_add(results, DEPTH_MEMLEAK_CHANGING, changing_ns);
	}
	return results_settle(results, DEPTH_MEMLEAK, DEPTH_MEMLEAK_CHANGING, error);
}

/* One allocation of each pair walks: the difference between two depths is all walk. */
static int walk_time(struct bench *bench, const char *command, enum figure frame,
		     enum figure twenty, double *shallow_ns)
{
	double deep_ns, each_ns;
	int error = depth_time(bench, FRAMES, NULL, command, shallow_ns);

	if (!error)
		error = depth_time(bench, MORE_FRAMES, NULL, command, &deep_ns);
	if (error)
		return error;
	each_ns = (deep_ns - *shallow_ns) / DIFFERENCE;
	results_add(&bench->results, frame, each_ns);
	results_add(&bench->results, twenty, each_ns * 20);
	return 0;
}

static int walk_run(struct bench *bench)
{
	double floor_ns, same_ns, changing_ns;
	int error = depth_time(bench, FRAMES, "--empty-programs", "same", &floor_ns);

	if (!error)
		error = walk_time(bench, "same", WALK_FRAME_AGAIN, WALK_20_AGAIN, &same_ns);
	if (!error)
		error = walk_time(bench, "changing", WALK_FRAME, WALK_20, &changing_ns);
	if (error)
		return error;
	results_add(&bench->results, DEPTH_FLOOR, floor_ns);
	results_add(&bench->results, DEPTH_TRACKED, same_ns);
	results_add(&bench->results, DEPTH_CHANGING, changing_ns);
	return memleak_run(bench);
}

int section_walk(struct bench *bench)
{
	int error = repeat(bench, "walk", bench->repetitions, walk_run);

	return results_settle(&bench->results, DEPTH_FLOOR, WALK_20_AGAIN, error);
}
