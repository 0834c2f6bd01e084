// SPDX-License-Identifier: GPL-2.0-or-later
/* The cost of an idle monitor. */
#include <errno.h>
#include <time.h>

#include "base/cleanup.h"
#include "bench.h"
#include "monitor.h"

#define INTERVAL "5"
#define INTERVALS 4

struct moment {
	int64_t wall_ns, cpu_ns;
};

/* From the end of one report to the end of the next, so that each sample holds exactly one. */
static int next_report(struct child *monitor, clockid_t clock, struct moment *moment)
{
	struct timespec cpu;
	int error = child_line(monitor, &monitor->out, "{", NULL, NULL);

	if (error)
		return error;
	if (clock_gettime(clock, &cpu))
		return child_fail(monitor, -errno, "has no CPU clock");
	moment->wall_ns = now_ns();
	moment->cpu_ns = cpu.tv_sec * INT64_C(1000000000) + cpu.tv_nsec;
	return 0;
}

static int intervals_run(struct bench *bench, struct child *monitor)
{
	int count = bench->quick ? 1 : INTERVALS, error;
	struct moment last, next;
	clockid_t clock;

	if (clock_getcpuclockid(monitor->pid, &clock))
		return child_fail(monitor, -ESRCH, "has no CPU clock");
	error = next_report(monitor, clock, &last);
	for (int i = 0; i < count && !error; i++) {
		progress("idle", i, count);
		error = next_report(monitor, clock, &next);
		if (error)
			break;
		results_add(&bench->results, IDLE_CPU,
			    100.0 * (double)(next.cpu_ns - last.cpu_ns) /
				    (double)(next.wall_ns - last.wall_ns));
		last = next;
	}
	return error;
}

/* The target holds something, so that the reports are real; then it is quiet. */
static int idle_run(struct bench *bench)
{
	_cleanup_(child_cleanup) struct child *target = NULL, *monitor = NULL;
	struct why *why = &bench->results.why;
	double mb;
	pid_t pid;
	int error = workload_start(&target, ARGUMENTS("build/workloads/leak"), &pid, why);

	if (!error)
		error = monitor_start(&monitor, pid, NULL, INTERVAL, why);
	if (!error)
		error = child_do(target, "go");
	if (!error)
		error = intervals_run(bench, monitor);
	if (!error)
		error = monitor_peak_rss(monitor, &mb);
	if (error)
		return error;
	results_add(&bench->results, IDLE_RSS, mb);
	return monitor_stop(monitor);
}

int section_idle(struct bench *bench)
{
	return results_settle(&bench->results, IDLE_CPU, IDLE_RSS, idle_run(bench));
}
