// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The cost of `leakmon profile` for two third-party programs, at its default of 1 %: sqlite3 and
 * python3, which wait until it is attached and then do fixed work of some
 * seconds. Runs without and with it in turns.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "bench.h"
#include "monitor.h"
#include "profile.h"

#define ROUNDS 40 /* some 9 s */
#define ROUNDS_QUICK 2

static const char python_work[] =
	"import sys, json\n"
	"for line in sys.stdin:\n"
	"  for i in range(int(line) * 2400):\n"
	"    text = json.dumps([{'id': i + j, 'name': 'n%d' % (i * j), 'tags': ['a' * (j % 90)] * "
	"3}\n"
	"                       for j in range(40)])\n"
	"    rows = [dict(row, total=len(row['tags'])) for row in json.loads(text)]\n"
	"  print('done', flush=True)\n";

/* Returns a command for that many rounds of work, answered with one line. The caller frees it. */
static char *sqlite_command(int rounds)
{
	static const char round[] = ".read tests/bench/sqlite.sql\nDROP TABLE orders;\n";
	char *text = malloc((size_t)rounds * sizeof(round) + 64);

	if (!text)
		return NULL;
	strcpy(text, ".output /dev/null\n");
	for (int i = 0; i < rounds; i++)
		strcat(text, round);
	return strcat(text, ".output stdout\n.print done");
}

static char *python_command(int rounds)
{
	char *text = malloc(16);

	if (text)
		snprintf(text, 16, "%d", rounds);
	return text;
}

static const struct program {
	const char *const *argv;
	char *(*command)(int rounds);
	enum figure alone, profiled;
} programs[] = {
	{ARGUMENTS("sqlite3", "-batch", "-init", "/dev/null", ":memory:"), sqlite_command,
	 PROFILE_SQLITE_ALONE, PROFILE_SQLITE},
	{ARGUMENTS("env", "PYTHONMALLOC=malloc", "python3", "-c", python_work), python_command,
	 PROFILE_PYTHON_ALONE, PROFILE_PYTHON},
};

static int work(const struct program *program, struct child *child, int rounds, double *seconds)
{
	_cleanup_free_ char *command = program->command(rounds);
	int64_t begin_ns = now_ns();
	int error;

	if (!command)
		return -ENOMEM;
	error = child_do(child, command);
	*seconds = (double)(now_ns() - begin_ns) / 1e9;
	return error;
}

static int run_program(struct bench *bench, const struct program *program, bool profiled)
{
	_cleanup_(child_cleanup) struct child *child = NULL, *monitor = NULL;
	double seconds;
	int error = child_start(&child, program->argv, &bench->results.why);

	/* It has become the program, and is warm. */
	if (!error)
		error = work(program, child, 1, &seconds);
	if (!error && profiled)
		error = profile_start(&monitor, child->pid, &bench->results.why);
	if (!error)
		error = work(program, child, bench->quick ? ROUNDS_QUICK : ROUNDS, &seconds);
	if (!error && profiled)
		error = monitor_stop(monitor);
	if (!error)
		results_add(&bench->results, profiled ? program->profiled : program->alone,
			    1 / seconds);
	return error;
}

static int run_all(struct bench *bench)
{
	int error = 0;

	for (size_t i = 0; i < ARRAY_SIZE(programs) && !error; i++) {
		error = run_program(bench, &programs[i], false);
		if (!error)
			error = run_program(bench, &programs[i], true);
	}
	return results_settle(&bench->results, PROFILE_SQLITE_ALONE, PROFILE_PYTHON_RATIO, error);
}

int section_programs(struct bench *bench)
{
	return repeat(bench, "programs", bench->quick ? 1 : PROFILE_REPETITIONS, run_all);
}
