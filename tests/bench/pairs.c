// SPDX-License-Identifier: GPL-2.0-or-later
/* What a malloc and a free cost: untraced, under leakmon, under its peers, and next to a target. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "bench.h"
#include "monitor.h"
#include "peer.h"

#define PAIR_PROGRAM "build/bench/pair"
/* No report while a cost is measured. */
#define NEVER "3600"

static int pair_start(const struct bench *bench, struct child **target, pid_t *pid, struct why *why)
{
	return workload_start(target, ARGUMENTS(PAIR_PROGRAM, bench->pair_ms), pid, why);
}

static int pair_time(struct child *target, double *ns)
{
	unsigned long pairs, elapsed_ns;
	char *answer;
	int error = child_ask(target, "time", &answer);

	if (error)
		return error;
	if (sscanf(answer, "%lu %lu", &pairs, &elapsed_ns) != 2)
		return child_fail(target, -EPROTO, "did not answer with two numbers");
	*ns = (double)elapsed_ns / (double)pairs;
	return 0;
}

static int time_untraced(struct bench *bench, const char *const *options, double *ns)
{
	_cleanup_(child_cleanup) struct child *target = NULL;
	int error = pair_start(bench, &target, NULL, &bench->results.why);

	(void)options;
	return error ? error : pair_time(target, ns);
}

static int time_monitored(struct bench *bench, const char *const *options, double *ns)
{
	_cleanup_(child_cleanup) struct child *target = NULL, *monitor = NULL;
	struct why *why = &bench->results.why;
	pid_t pid;
	int error = pair_start(bench, &target, &pid, why);

	if (!error)
		error = monitor_start(&monitor, pid, options, NEVER, why);
	if (!error)
		error = pair_time(target, ns);
	return error ? error : monitor_stop(monitor);
}

static int time_heaptrack(struct bench *bench, const char *const *options, double *ns)
{
	_cleanup_(child_cleanup) struct child *target = NULL;
	char output[64];
	int error;

	(void)options;
	snprintf(output, sizeof(output), "%s/heaptrack", bench->directory);
	error = workload_start(&target,
			       ARGUMENTS("heaptrack", "-o", output, PAIR_PROGRAM, bench->pair_ms),
			       NULL, &bench->results.why);
	if (!error)
		error = pair_time(target, ns);
	if (error)
		return error;
	if (dprintf(target->in, "quit\n") < 0)
		return child_fail(target, -EPIPE, "takes no more commands");
	return child_end(target);
}

static int time_memleak(struct bench *bench, const char *const *options, double *ns)
{
	_cleanup_(child_cleanup) struct child *target = NULL, *peer = NULL;
	struct why *why = &bench->results.why;
	pid_t pid;
	int error = pair_start(bench, &target, &pid, why);

	(void)options;
	if (!error)
		error = memleak_start(&peer, target, pid, why);
	return error ? error : pair_time(target, ns);
}

struct mode {
	enum figure figure;
	int (*run)(struct bench *bench, const char *const *options, double *ns);
	const char *options[MONITOR_OPTIONS];
};

static const struct mode modes[] = {
	{PAIR_UNTRACED, time_untraced, {NULL}},
	{PAIR_TRACKED, time_monitored, {NULL}},
	{PAIR_FLOOR, time_monitored, {"--empty-programs"}},
	{PAIR_ENTRY, time_monitored, {"--probe-at=entry"}},
	{PAIR_ENTRY_FLOOR, time_monitored, {"--probe-at=entry", "--empty-programs"}},
	{PAIR_HEAPTRACK, time_heaptrack, {NULL}},
	{PAIR_MEMLEAK, time_memleak, {NULL}},
};

static int mode_run(struct bench *bench, const struct mode *mode)
{
	struct results *results = &bench->results;
	double ns;
	int error;

	/* What failed once is not tried again: later samples would stand beside the wrong ones. */
	if (results->figures[mode->figure].why.text[0])
		return 0;
	error = mode->run(bench, mode->options, &ns);
	if (!error)
		results_add(results, mode->figure, ns);
	return results_settle(results, mode->figure, mode->figure, error);
}

int section_pairs(struct bench *bench)
{
	int error = 0;

	for (int i = 0; i < bench->repetitions && !error; i++) {
		progress("pairs", i, bench->repetitions);
		for (size_t j = 0; j < ARRAY_SIZE(modes) && !error; j++)
			error = mode_run(bench, &modes[j]);
	}
	return error;
}

static int bystander_run(struct bench *bench)
{
	_cleanup_(child_cleanup) struct child *target = NULL, *bystander = NULL, *monitor = NULL;
	struct why *why = &bench->results.why;
	double untraced_ns, traced_ns;
	pid_t pid;
	int error = pair_start(bench, &target, &pid, why);

	if (!error)
		error = pair_start(bench, &bystander, NULL, why);
	if (!error)
		error = pair_time(bystander, &untraced_ns);
	if (!error)
		error = monitor_start(&monitor, pid, NULL, NEVER, why);
	if (!error)
		error = pair_time(bystander, &traced_ns);
	if (!error)
		error = monitor_stop(monitor);
	if (error)
		return error;
	results_add(&bench->results, BYSTANDER_UNTRACED, untraced_ns);
	results_add(&bench->results, BYSTANDER_TRACED, traced_ns);
	return 0;
}

int section_bystander(struct bench *bench)
{
	int error = 0;

	for (int i = 0; i < bench->repetitions && !error; i++) {
		progress("bystander", i, bench->repetitions);
		error = bystander_run(bench);
	}
	return results_settle(&bench->results, BYSTANDER_UNTRACED, BYSTANDER_TRACED, error);
}
