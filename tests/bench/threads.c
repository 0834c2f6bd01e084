// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The cost that `leakmon threads` adds to a pthread_create and its join. One process is measured
 * before the attach, during it and after it, so that its memory layout is the same; untraced is the
 * mean of before and after.
 */
#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "bench.h"
#include "monitor.h"

static int threads_start(struct child **monitor, pid_t pid, struct why *why)
{
	char pid_text[16];
	int error;

	snprintf(pid_text, sizeof(pid_text), "%d", pid);
	error = child_start(monitor,
			    ARGUMENTS(monitor_program(), "threads", "-p", pid_text, "3600"), why);
	return error ? error
		     : child_line(*monitor, &(*monitor)->err, "leakmon: attached", NULL, NULL);
}

static int measure(struct bench *bench)
{
	_cleanup_(child_cleanup) struct child *target = NULL, *monitor = NULL;
	struct why *why = &bench->results.why;
	double before, during, after;
	pid_t pid;
	int error = workload_start(
		&target, ARGUMENTS("build/bench/pair", bench->pair_ms, "threads"), &pid, why);

	if (!error)
		error = child_time(target, &before);
	if (!error)
		error = threads_start(&monitor, pid, why);
	if (!error)
		error = child_time(target, &during);
	if (!error)
		error = monitor_stop(monitor);
	if (!error)
		error = child_time(target, &after);
	if (error)
		return error;
	results_add(&bench->results, THREAD_UNTRACED, (before + after) / 2);
	results_add(&bench->results, THREAD_TRACKED, during);
	return 0;
}

int section_threads(struct bench *bench)
{
	int error = repeat(bench, "threads", bench->repetitions, measure);

	return results_settle(&bench->results, THREAD_UNTRACED, THREAD_TRACKED, error);
}
