// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Naming a thousand stacks of python3 by a monitor that has seen none of its files before. Lines
 * need python3's debug package; without it, see the share of frames with a line.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "bench.h"
#include "monitor.h"

#define SCRIPT "tests/bench/naming.py"
/* Reports that may pass until all lines are there. */
#define MAX_REPORTS 20

/* Adds up VmHWM or VmRSS of a process and its children, in MB. */
static void rss_add(pid_t pid, const char *field, double *mb)
{
	_cleanup_fclose_ FILE *file = NULL;
	char path[64], line[128];
	unsigned long kib;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file)) {
		if (!strncmp(line, field, strlen(field)) &&
		    sscanf(line + strlen(field), ": %lu kB", &kib) == 1)
			*mb += (double)kib * 1024 / 1e6;
	}
}

static double rss_of(const struct child *monitor, const char *field)
{
	_cleanup_fclose_ FILE *file = NULL;
	char path[64];
	double mb = 0;
	int pid;

	rss_add(monitor->pid, field, &mb);
	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", monitor->pid, monitor->pid);
	file = fopen(path, "re");
	while (file && fscanf(file, "%d", &pid) == 1)
		rss_add(pid, field, &mb);
	return mb;
}

static size_t occurrences(const char *text, const char *what)
{
	size_t count = 0;

	for (; (text = strstr(text, what)); text += strlen(what))
		count++;
	return count;
}

static void frames_count(struct bench *bench, const char *line)
{
	size_t sites = report_sites(line), frames = occurrences(line, "{\"function\":"),
	       inlined = occurrences(line, "\"inlined\":true"),
	       without = occurrences(line, "\"line\":null");

	results_add(&bench->results, NAMES_SITES, (double)sites);
	if (!sites || !frames)
		return;
	results_add(&bench->results, NAMES_FRAMES, (double)(frames - inlined) / (double)sites);
	results_add(&bench->results, NAMES_WITH_LINES,
		    100.0 * (double)(frames - without) / (double)frames);
}

struct timing {
	unsigned long names_ms, lines_ms;
	bool all; /* lines are known */
};

static int timing_read(struct child *monitor, struct timing *timing)
{
	char *text, rest[32] = "";
	int error = child_line(monitor, &monitor->err, "leakmon: names after ", &text, NULL);

	if (error)
		return error;
	if (sscanf(text, "leakmon: names after %lu ms, lines after %lu ms: %31[a-z ]",
		   &timing->names_ms, &timing->lines_ms, rest) != 3)
		return child_fail(monitor, -EPROTO, "does not say how long naming took");
	timing->all = !strcmp(rest, "all");
	return 0;
}

/* Reports until all lines are known; the first is the cold one. */
static int reports_time(struct bench *bench, struct child *monitor)
{
	struct timing timing = {0};
	int64_t start_ns = now_ns();
	char *line = NULL;
	int error = 0;
	double ms;

	for (int i = 0; i < MAX_REPORTS && !error && !timing.all; i++) {
		error = monitor_snapshot(monitor, &ms, &line);
		if (!error)
			error = timing_read(monitor, &timing);
		if (!error && !i)
			results_add(&bench->results, NAMES_FUNCTIONS, (double)timing.names_ms);
	}
	if (error)
		return error;
	if (!timing.all)
		return child_fail(monitor, -ETIMEDOUT, "did not find all lines in 20 reports");
	results_add(&bench->results, NAMES_LINES, (double)(now_ns() - start_ns) / 1e6);
	frames_count(bench, line);
	return 0;
}

static int naming_run(struct bench *bench)
{
	_cleanup_(child_cleanup) struct child *target = NULL, *monitor = NULL;
	struct why *why = &bench->results.why;
	struct timespec moment = {.tv_nsec = 200000000};
	pid_t pid;
	int error = workload_start(
		&target, ARGUMENTS("env", "PYTHONMALLOC=malloc", "/usr/bin/python3", SCRIPT), &pid,
		why);

	if (!error)
		error = monitor_start(&monitor, pid, ARGUMENTS("-v", "--older=0"), "3600", why);
	if (!error)
		error = child_do(target, "go");
	if (!error)
		error = reports_time(bench, monitor);
	if (!error)
		error = child_drain(monitor, &moment);
	if (error)
		return error;
	results_add(&bench->results, NAMES_RSS, rss_of(monitor, "VmHWM"));
	results_add(&bench->results, NAMES_RSS_AFTER, rss_of(monitor, "VmRSS"));
	return monitor_stop(monitor);
}

int section_naming(struct bench *bench)
{
	int error = repeat(bench, "naming", bench->quick ? 1 : 3, naming_run);

	return results_settle(&bench->results, NAMES_SITES, NAMES_RSS_AFTER, error);
}
