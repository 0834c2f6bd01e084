// SPDX-License-Identifier: GPL-2.0-or-later
/* A program that nobody here wrote, from its start to its end: sqlite3 with a fixed script. */
#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "bench.h"
#include "monitor.h"

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

static const struct {
	enum figure figure;
	int (*run)(struct bench *bench, double *seconds);
} modes[] = {
	{SQLITE_UNTRACED, run_untraced},
	{SQLITE_LEAKMON, run_leakmon},
	{SQLITE_HEAPTRACK, run_heaptrack},
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
