// SPDX-License-Identifier: GPL-2.0-or-later
/* A third-party program from start to end: sqlite3 with a fixed script. */
#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "bench.h"
#include "monitor.h"
#include "peer.h"

#define SCRIPT ".read tests/bench/sqlite.sql"
#define SQLITE "sqlite3", "-batch", "-init", "/dev/null", ":memory:", SCRIPT

static int run_to_end(struct child *child, double *seconds)
{
	int error = child_end(child);

	if (!error)
		*seconds = (double)(now_ns() - child->started_ns) / 1e9;
	return error;
}

static int run_untraced(struct bench *bench, double *seconds)
{
	_cleanup_(child_cleanup) struct child *child = NULL;
	int error = child_start(&child, ARGUMENTS(SQLITE), &bench->results.why);

	return error ? error : run_to_end(child, seconds);
}

static int add_allocations(struct bench *bench, const struct child *child, const char *line)
{
	json_t *ledger = report_ledger(line);
	json_int_t count;

	if (!ledger)
		return child_fail(child, -EPROTO, "reported no ledger");
	count = json_integer_value(json_object_get(ledger, "allocations"));
	json_decref(ledger);
	results_add(&bench->results, SQLITE_ALLOCATIONS, (double)count);
	return 0;
}

static int run_leakmon(struct bench *bench, double *seconds)
{
	_cleanup_(child_cleanup) struct child *child = NULL;
	char *line;
	int error = child_start(&child,
				ARGUMENTS(monitor_program(), "--format=json", "3600", "--", SQLITE),
				&bench->results.why);

	if (!error)
		error = child_line(child, &child->out, "{", &line, NULL);
	if (!error)
		error = add_allocations(bench, child, line);
	return error ? error : run_to_end(child, seconds);
}

static int run_heaptrack(struct bench *bench, double *seconds)
{
	_cleanup_(child_cleanup) struct child *child = NULL;
	char output[64];
	int error;

	snprintf(output, sizeof(output), "%s/heaptrack-sqlite", bench->directory);
	error = child_start(&child, ARGUMENTS("heaptrack", "-o", output, SQLITE),
			    &bench->results.why);
	return error ? error : run_to_end(child, seconds);
}

/* The script alone: sqlite3 and its monitor are already running. */
static int run_script(struct child *child, double *seconds)
{
	int64_t start_ns = now_ns();
	int error;

	if (dprintf(child->in, SCRIPT "\n.print done\n") < 0)
		return child_fail(child, -EPIPE, "takes no more commands");
	error = child_line(child, &child->out, "done", NULL, NULL);
	if (!error)
		*seconds = (double)(now_ns() - start_ns) / 1e9;
	return error;
}

static int sqlite_start(struct child **child, struct why *why)
{
	int error = child_start(
		child, ARGUMENTS("sqlite3", "-batch", "-init", "/dev/null", ":memory:"), why);

	if (!error && dprintf((*child)->in, ".print ready\n") < 0)
		error = child_fail(*child, -EPIPE, "takes no commands");
	return error ? error : child_line(*child, &(*child)->out, "ready", NULL, NULL);
}

static int run_alone(struct bench *bench, double *seconds)
{
	_cleanup_(child_cleanup) struct child *child = NULL;
	int error = sqlite_start(&child, &bench->results.why);

	return error ? error : run_script(child, seconds);
}

static int run_attached(struct bench *bench, double *seconds)
{
	_cleanup_(child_cleanup) struct child *child = NULL, *monitor = NULL;
	int error = sqlite_start(&child, &bench->results.why);

	if (!error)
		error = monitor_start(&monitor, child->pid, NULL, "3600", &bench->results.why);
	if (!error)
		error = run_script(child, seconds);
	return error ? error : monitor_stop(monitor);
}

static int run_memleak(struct bench *bench, double *seconds)
{
	_cleanup_(child_cleanup) struct child *child = NULL, *peer = NULL;
	int error = sqlite_start(&child, &bench->results.why);

	if (!error)
		error = memleak_start(&peer, NULL, child->pid, &bench->results.why);
	return error ? error : run_script(child, seconds);
}

static const struct {
	enum figure figure;
	int (*run)(struct bench *bench, double *seconds);
} modes[] = {
	{SQLITE_SCRIPT, run_alone},    {SQLITE_ATTACHED, run_attached},
	{SQLITE_MEMLEAK, run_memleak}, {SQLITE_UNTRACED, run_untraced},
	{SQLITE_LEAKMON, run_leakmon}, {SQLITE_HEAPTRACK, run_heaptrack},
};

static int mode_run(struct bench *bench, size_t mode)
{
	struct results *results = &bench->results;
	enum figure figure = modes[mode].figure;
	double seconds;
	int error;

	if (results->figures[figure].why.text[0])
		return 0;
	error = modes[mode].run(bench, &seconds);
	if (!error)
		results_add(results, figure, seconds);
	return results_settle(results, figure, figure, error);
}

static int modes_run(struct bench *bench)
{
	int error = 0;

	for (size_t i = 0; i < ARRAY_SIZE(modes) && !error; i++)
		error = mode_run(bench, i);
	return error;
}

int section_sqlite(struct bench *bench)
{
	return repeat(bench, "sqlite", bench->repetitions, modes_run);
}
