// SPDX-License-Identifier: GPL-2.0-or-later
/* A million outstanding blocks, and ten thousand sites. */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "bench.h"
#include "monitor.h"

#define BLOCKS 1000000
#define SITES 10000

/* The sum of the counters of {"CAUSE": n, …}. */
static json_int_t causes_sum(json_t *causes)
{
	json_int_t sum = 0;
	const char *cause;
	json_t *count;

	json_object_foreach(causes, cause, count) sum += json_integer_value(count);
	return sum;
}

static int scale_start(struct child **target, struct child **monitor, const char *program,
		       struct why *why)
{
	pid_t pid;
	int error = workload_start(target, ARGUMENTS(program), &pid, why);

	/* Blocks of any age: the live set is read whole. */
	if (!error)
		error = monitor_start(monitor, pid, ARGUMENTS("--older=0"), "3600", why);
	return error ? error : child_do(*target, "go");
}

static int blocks_missing(struct bench *bench, const struct child *monitor, const char *line)
{
	json_t *ledger = report_ledger(line);
	json_int_t outstanding;

	if (!ledger)
		return child_fail(monitor, -EPROTO, "reported no ledger");
	outstanding = json_integer_value(json_object_get(ledger, "outstanding"));
	json_decref(ledger);
	results_add(&bench->results, BLOCKS_MISSING, (double)llabs(BLOCKS - outstanding));
	return 0;
}

static int blocks_run(struct bench *bench)
{
	_cleanup_(child_cleanup) struct child *target = NULL, *monitor = NULL;
	double ms, mb;
	char *line;
	int error = scale_start(&target, &monitor, "build/workloads/blocks", &bench->results.why);

	for (int i = 0; i < bench->repetitions && !error; i++) {
		error = monitor_snapshot(monitor, &ms, &line);
		if (error)
			break;
		results_add(&bench->results, BLOCKS_SNAPSHOT, ms);
		error = blocks_missing(bench, monitor, line);
	}
	if (!error)
		error = monitor_peak_rss(monitor, &mb);
	if (error)
		return error;
	results_add(&bench->results, BLOCKS_RSS, mb);
	return monitor_stop(monitor);
}

int section_blocks(struct bench *bench)
{
	progress("blocks", 0, 1);
	return results_settle(&bench->results, BLOCKS_SNAPSHOT, BLOCKS_MISSING, blocks_run(bench));
}

static int sites_missing(struct bench *bench, const struct child *monitor, const char *line)
{
	json_t *ledger = report_ledger(line);
	json_int_t lost;

	if (!ledger)
		return child_fail(monitor, -EPROTO, "reported no ledger");
	lost = causes_sum(json_object_get(ledger, "lost_stacks"));
	json_decref(ledger);
	results_add(&bench->results, SITES_LOST, (double)lost);
	results_add(&bench->results, SITES_MISSING,
		    (double)llabs(SITES - (long long)report_sites(line)));
	return 0;
}

/* The first snapshot names every site; later ones find most of that done. */
static int sites_run(struct bench *bench)
{
	_cleanup_(child_cleanup) struct child *target = NULL, *monitor = NULL;
	double first_ms, later_ms;
	char *line;
	int error = scale_start(&target, &monitor, "build/workloads/sites", &bench->results.why);

	if (!error)
		error = monitor_snapshot(monitor, &first_ms, &line);
	if (!error)
		error = sites_missing(bench, monitor, line);
	if (!error)
		error = monitor_snapshot(monitor, &later_ms, &line);
	if (error)
		return error;
	results_add(&bench->results, SITES_FIRST, first_ms);
	results_add(&bench->results, SITES_LATER, later_ms);
	return monitor_stop(monitor);
}

int section_sites(struct bench *bench)
{
	int error = repeat(bench, "sites", bench->quick ? 1 : 3, sites_run);

	return results_settle(&bench->results, SITES_FIRST, SITES_LOST, error);
}
