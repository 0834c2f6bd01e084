// SPDX-License-Identifier: GPL-2.0-or-later
/* Time that leakmon takes to attach and to detach. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "bench.h"
#include "monitor.h"
#include "peer.h"

#define TARGET_PROGRAM "build/bench/pair"

struct way {
	const char *option;
	enum figure attach, stop, detach;
};

static const struct way ways[] = {
	{"--attach=multi", ATTACH_MULTI, STOP_MULTI, DETACH_MULTI},
	{"--attach=perf", ATTACH_PERF, STOP_PERF, DETACH_PERF},
};

static double ms_since(int64_t start_ns)
{
	return (double)(now_ns() - start_ns) / 1e6;
}

/*
 * The kernel removes the breakpoints before the process is gone, so its end is the end of
 * detaching.
 */
static int detach_time(struct results *results, const struct way *way, struct child *monitor)
{
	int64_t stop_ns = now_ns(), report_ns = 0;
	int error;

	if (kill(monitor->pid, SIGTERM))
		return child_fail(monitor, -errno, "was gone already");
	error = child_line(monitor, &monitor->out, "{", NULL, NULL);
	report_ns = now_ns();
	if (!error)
		error = child_end(monitor);
	if (error)
		return error;
	results_add(results, way->stop, ms_since(stop_ns));
	results_add(results, way->detach, ms_since(report_ns));
	return 0;
}

static int way_run(struct bench *bench, const struct way *way)
{
	_cleanup_(child_cleanup) struct child *target = NULL, *monitor = NULL;
	struct why *why = &bench->results.why;
	pid_t pid;
	int error = workload_start(&target, ARGUMENTS(TARGET_PROGRAM), &pid, why);

	if (!error)
		error = monitor_start(&monitor, pid, ARGUMENTS(way->option), "3600", why);
	if (error)
		return error;
	results_add(&bench->results, way->attach, ms_since(monitor->started_ns));
	return detach_time(&bench->results, way, monitor);
}

static int launch_run(struct bench *bench)
{
	_cleanup_(child_cleanup) struct child *monitor = NULL;
	/* The launched program speaks through the monitor's own pipes. */
	int error = workload_start(
		&monitor,
		ARGUMENTS(monitor_program(), "--format=json", "3600", "--", TARGET_PROGRAM), NULL,
		&bench->results.why);

	if (error)
		return error;
	results_add(&bench->results, LAUNCH, ms_since(monitor->started_ns));
	if (dprintf(monitor->in, "quit\n") < 0)
		return child_fail(monitor, -EPIPE, "takes no more commands");
	return child_end(monitor);
}

static int start_end_run(struct bench *bench)
{
	_cleanup_(child_cleanup) struct child *monitor = NULL;
	int error = child_start(&monitor,
				ARGUMENTS(monitor_program(), "--format=json", "3600", "--", "true"),
				&bench->results.why);

	if (!error)
		error = child_end(monitor);
	if (!error)
		results_add(&bench->results, START_END, ms_since(monitor->started_ns));
	return error;
}

/* Without options: by the best method of this kernel. */
static int usual_run(struct bench *bench)
{
	_cleanup_(child_cleanup) struct child *target = NULL, *monitor = NULL;
	struct why *why = &bench->results.why;
	pid_t pid;
	int error = workload_start(&target, ARGUMENTS(TARGET_PROGRAM), &pid, why);
	double attach_ms;
	int64_t stop_ns;

	if (!error)
		error = monitor_start(&monitor, pid, NULL, "3600", why);
	if (error)
		return error;
	attach_ms = ms_since(monitor->started_ns);
	stop_ns = now_ns();
	error = monitor_stop(monitor);
	if (error)
		return error;
	results_add(&bench->results, ATTACH, attach_ms);
	results_add(&bench->results, EXIT, ms_since(stop_ns));
	return 0;
}

static int memleak_run(struct bench *bench)
{
	_cleanup_(child_cleanup) struct child *target = NULL, *peer = NULL;
	struct why *why = &bench->results.why;
	pid_t pid;
	int error = workload_start(&target, ARGUMENTS(TARGET_PROGRAM), &pid, why);
	double attach_ms;
	int64_t stop_ns;

	if (!error)
		error = memleak_start(&peer, target, pid, why);
	if (error)
		return error;
	attach_ms = ms_since(peer->started_ns);
	stop_ns = now_ns();
	if (kill(peer->pid, SIGTERM))
		return child_fail(peer, -errno, "was gone already");
	error = child_end(peer);
	if (error && error != -EPROTO) /* however it ends */
		return error;
	results_add(&bench->results, MEMLEAK_ATTACH, attach_ms);
	results_add(&bench->results, MEMLEAK_EXIT, ms_since(stop_ns));
	return 0;
}

static const struct {
	enum figure first, last;
	int (*run)(struct bench *bench);
} runs[] = {
	{START_END, START_END, start_end_run},
	{ATTACH, EXIT, usual_run},
	{MEMLEAK_ATTACH, MEMLEAK_EXIT, memleak_run},
	{LAUNCH, LAUNCH, launch_run},
};

static int ways_run(struct bench *bench)
{
	struct results *results = &bench->results;
	int error = 0;

	for (size_t i = 0; i < ARRAY_SIZE(runs) && !error; i++) {
		if (!results->figures[runs[i].last].why.text[0])
			error = results_settle(results, runs[i].first, runs[i].last,
					       runs[i].run(bench));
	}
	for (size_t i = 0; i < ARRAY_SIZE(ways) && !error; i++) {
		if (!results->figures[ways[i].detach].why.text[0])
			error = results_settle(results, ways[i].attach, ways[i].detach,
					       way_run(bench, &ways[i]));
	}
	return error;
}

int section_lifecycle(struct bench *bench)
{
	return repeat(bench, "lifecycle", bench->repetitions, ways_run);
}
