// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * leakmon without a target, on real processes: its cost on a node of 200, its effect on a server on
 * the same machine, and the time until it reports the one among 100 that leaks 1 MiB a minute. The
 * confusion matrix over seeded scenarios is tests/unit/test_triage_detection.c.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "bench.h"
#include "monitor.h"
#include "triage.h"

#define GROWER "build/workloads/grower"
#define COST_PROCESSES 200
#define DETECT_PROCESSES 100
#define DETECT_S 180.0
#define CROWD_PROCESSES "10000"
#define CROWD_S 50.0

struct node {
	VEC(struct child *) children;
};

static void node_end(struct node *node)
{
	for (size_t i = 0; i < node->children.count; i++)
		child_cleanup(&node->children.items[i]);
	vec_free(&node->children);
}

static int node_add(struct node *node, const char *const *argv, pid_t *pid, struct why *why)
{
	struct child **slot = vec_push(&node->children);

	return slot ? workload_start(slot, argv, pid, why) : -ENOMEM;
}

/* Caches that fill within a minute, batches of 5 to 20 s, and processes that sleep. */
static int node_start(struct node *node, int count, struct why *why)
{
	int error = 0;
	pid_t pid;

	for (int i = 0; i < count && !error; i++) {
		char size[16], time[16];
		const char *const cache[] = {GROWER, "cache", size, time, NULL};
		const char *const batch[] = {GROWER, "batch", size, time, NULL};
		const char *const idle[] = {GROWER, "idle", NULL};

		snprintf(size, sizeof(size), "%d", 2000 + 311 * (i % 50));
		snprintf(time, sizeof(time), "%d", i % 3 ? 10 + i % 50 : 5000 + 150 * (i % 100));
		error = node_add(node, i % 3 == 0 ? batch : i % 3 == 1 ? cache : idle, &pid, why);
	}
	return error;
}

int triage_start(struct child **monitor, struct why *why)
{
	return child_start(monitor, ARGUMENTS(monitor_program(), "--format", "json", "5"), why);
}

/* From the second report on: the start is paid once. */
static int cost_measure(struct bench *bench, struct child *monitor)
{
	int count = bench->quick ? 1 : 12;
	int64_t cpu_before, cpu_after, wall_before = 0;
	int error = child_line(monitor, &monitor->out, "{", NULL, NULL);

	for (int i = 0; i < count && !error; i++) {
		progress("triage", i, count);
		wall_before = now_ns();
		error = child_cpu_ns(monitor, &cpu_before);
		if (!error)
			error = child_line(monitor, &monitor->out, "{", NULL, NULL);
		if (!error)
			error = child_cpu_ns(monitor, &cpu_after);
		if (!error)
			results_add(&bench->results, TRIAGE_CPU,
				    100.0 * (double)(cpu_after - cpu_before) /
					    (double)(now_ns() - wall_before));
	}
	return error;
}

static int cost_run(struct bench *bench)
{
	_cleanup_(node_end) struct node node = {0};
	_cleanup_(child_cleanup) struct child *monitor = NULL;
	struct why *why = &bench->results.why;
	double mb;
	int error = node_start(&node, COST_PROCESSES, why);

	if (!error)
		error = triage_start(&monitor, why);
	if (!error)
		error = cost_measure(bench, monitor);
	if (!error)
		error = monitor_peak_rss(monitor, &mb);
	if (error)
		return error;
	results_add(&bench->results, TRIAGE_RSS, mb);
	return monitor_stop(monitor);
}

/* 10,000 processes from one; the share is of everything since the start. */
static int crowd_run(struct bench *bench)
{
	_cleanup_(child_cleanup) struct child *crowd = NULL, *monitor = NULL;
	const char *count = bench->quick ? "500" : CROWD_PROCESSES;
	struct why *why = &bench->results.why;
	double seconds = bench->quick ? 5 : CROWD_S;
	int64_t begin_ns, cpu;
	pid_t pid;
	int error = workload_start(&crowd, ARGUMENTS("build/workloads/brood", count), &pid, why);

	if (!error)
		error = child_do(crowd, "crowd");
	begin_ns = now_ns();
	if (!error)
		error = triage_start(&monitor, why);
	while (!error && (double)(now_ns() - begin_ns) / 1e9 < seconds) {
		error = child_line(monitor, &monitor->out, "{", NULL, NULL);
		progress("triage of 10,000, seconds", (int)((now_ns() - begin_ns) / 1000000000),
			 (int)seconds);
	}
	if (!error)
		error = child_cpu_ns(monitor, &cpu);
	if (error)
		return error;
	results_add(&bench->results, TRIAGE_CROWD,
		    100.0 * (double)cpu / (double)(now_ns() - begin_ns));
	return monitor_stop(monitor);
}

/* Returns the rank of `pid`, 0: not accused, and the number of other accused processes. */
static unsigned rank_read(const char *line, pid_t pid, const struct node *node, unsigned *accused)
{
	json_t *report = json_loads(line, 0, NULL), *entry;
	unsigned rank = 0;
	size_t i;

	*accused = 0;
	json_array_foreach(json_object_get(report, "processes"), i, entry)
	{
		json_t *growth = json_object_get(entry, "growth");
		const char *verdict = json_string_value(json_object_get(growth, "verdict"));
		json_int_t other = json_integer_value(json_object_get(entry, "pid"));
		bool ours = false;

		for (size_t j = 0; j < node->children.count; j++)
			ours |= node->children.items[j]->pid == other;
		if (!verdict ||
		    (strcmp(verdict, "leaking") != 0 && strcmp(verdict, "growing") != 0))
			continue;
		if (other == pid)
			rank = (unsigned)i + 1;
		else
			*accused += ours;
	}
	json_decref(report);
	return rank;
}

static int detect_run(struct bench *bench)
{
	_cleanup_(node_end) struct node node = {0};
	_cleanup_(child_cleanup) struct child *monitor = NULL;
	struct why *why = &bench->results.why;
	unsigned rank = 0, accused = 0;
	double elapsed_s = 0, first_s = NAN;
	int error = node_start(&node, DETECT_PROCESSES - 1, why);
	int64_t begin_ns = now_ns();
	char *line;
	pid_t pid = 0;

	if (!error) /* 17 KiB a second, 1 MiB a minute */
		error = node_add(&node, ARGUMENTS(GROWER, "leak", "17"), &pid, why);
	if (!error)
		error = triage_start(&monitor, why);
	while (!error && elapsed_s < (bench->quick ? 5 : DETECT_S)) {
		error = child_line(monitor, &monitor->out, "{", &line, NULL);
		if (error)
			break;
		elapsed_s = (double)(now_ns() - begin_ns) / 1e9;
		rank = rank_read(line, pid, &node, &accused);
		first_s = rank != 1 ? NAN : isnan(first_s) ? elapsed_s : first_s;
		progress("triage detection, seconds", (int)elapsed_s, (int)DETECT_S);
	}
	if (error || bench->quick)
		return error;
	results_add(&bench->results, TRIAGE_RANK, rank);
	results_add(&bench->results, TRIAGE_FIRST, first_s);
	results_add(&bench->results, TRIAGE_ACCUSED, accused);
	return monitor_stop(monitor);
}

int section_triage(struct bench *bench)
{
	struct results *results = &bench->results;
	int error = results_settle(results, TRIAGE_CPU, TRIAGE_RSS, cost_run(bench));

	if (!error)
		error = results_settle(results, TRIAGE_REDIS_ALONE, TRIAGE_REDIS_CPU_BESIDE,
				       triage_redis_run(bench));
	if (!error)
		error = results_settle(results, TRIAGE_CROWD, TRIAGE_CROWD, crowd_run(bench));
	if (!error)
		error = results_settle(results, TRIAGE_RANK, TRIAGE_ACCUSED, detect_run(bench));
	return error;
}
