// SPDX-License-Identifier: GPL-2.0-or-later
/* The cost of a malloc and a free: untraced, under leakmon, under its peers, and next to a
 * target. */
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

static int time_untraced(struct bench *bench, const char *const *options, double *ns)
{
	_cleanup_(child_cleanup) struct child *target = NULL;
	int error = pair_start(bench, &target, NULL, &bench->results.why);

	(void)options;
	return error ? error : child_time(target, ns);
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
		error = child_time(target, ns);
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
		error = child_time(target, ns);
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
	return error ? error : child_time(target, ns);
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

	/* A failure is not retried: later samples would pair with the wrong ones. */
	if (results->figures[mode->figure].why.text[0])
		return 0;
	error = mode->run(bench, mode->options, &ns);
	if (!error)
		results_add(results, mode->figure, ns);
	return results_settle(results, mode->figure, mode->figure, error);
}

static int modes_run(struct bench *bench)
{
	int error = 0;

	for (size_t i = 0; i < ARRAY_SIZE(modes) && !error; i++)
		error = mode_run(bench, &modes[i]);
	return error;
}

int section_pairs(struct bench *bench)
{
	return repeat(bench, "pairs", bench->repetitions, modes_run);
}

/* The program's own sampler runs only while a tool is attached: that is part of the cost. */
static int sampled_run(struct bench *bench)
{
	_cleanup_(child_cleanup) struct child *target = NULL, *monitor = NULL;
	struct why *why = &bench->results.why;
	double untraced_ns, traced_ns, left_ns;
	pid_t pid;
	int error = workload_start(&target, ARGUMENTS("build/bench/sampled", bench->pair_ms), &pid,
				   why);

	if (!error)
		error = child_time(target, &untraced_ns);
	if (!error)
		error = monitor_start(&monitor, pid, NULL, NEVER, why);
	if (!error)
		error = child_time(target, &traced_ns);
	if (!error)
		error = monitor_stop(monitor);
	if (!error)
		error = child_time(target, &left_ns);
	if (error)
		return error;
	results_add(&bench->results, SAMPLED_UNTRACED, untraced_ns);
	results_add(&bench->results, SAMPLED_TRACED, traced_ns);
	results_add(&bench->results, SAMPLED_LEFT, left_ns);
	return 0;
}

int section_sampled(struct bench *bench)
{
	int error = repeat(bench, "sampled", bench->repetitions, sampled_run);

	return results_settle(&bench->results, SAMPLED_UNTRACED, SAMPLED_LEFT, error);
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
		error = child_time(bystander, &untraced_ns);
	if (!error)
		error = monitor_start(&monitor, pid, NULL, NEVER, why);
	if (!error)
		error = child_time(bystander, &traced_ns);
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
	int error = repeat(bench, "bystander", bench->repetitions, bystander_run);

	return results_settle(&bench->results, BYSTANDER_UNTRACED, BYSTANDER_TRACED, error);
}
