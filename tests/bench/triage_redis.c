// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * redis-server during a triage. Throughput on a shared machine wanders by tens of percent, so short
 * loads come in pairs, one with the monitor running and one with it stopped (SIGSTOP), in
 * alternating order, and the median of the pairs' ratios counts, with its 95 % interval from order
 * statistics. The server's CPU time per request wanders less.
 */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "monitor.h"
#include "triage.h"

#define PORT "16379"
#define REQUESTS 100000
#define REQUESTS_TEXT "100000"
/* A load must last longer than the pause between two polls. */
#define LOAD_S 6.0
#define PAIRS 24

struct load {
	double kilo_per_s;   /* requests */
	double us_of_server; /* CPU time for one */
};

/* Requests per second of SET and GET together: one line "test","rps",... for each. */
static int benchmark(double *seconds, struct why *why)
{
	_cleanup_(child_cleanup) struct child *load = NULL;
	const char *const argv[] = {"redis-benchmark", "-p",	PORT, "-t", "set,get", "-n",
				    REQUESTS_TEXT,     "--csv", NULL};
	static const char *const tests[] = {"\"SET\",\"", "\"GET\",\""};
	int error = child_start(&load, argv, why);
	char *line;

	for (size_t i = 0; i < ARRAY_SIZE(tests) && !error; i++) {
		error = child_line(load, &load->out, tests[i], &line, NULL);
		if (!error)
			*seconds += REQUESTS / strtod(line + strlen(tests[i]), NULL);
	}
	return error ? error : child_end(load);
}

static int load_run(struct load *load, struct child *server, double least_s, struct why *why)
{
	int64_t before, after, begin_ns = now_ns();
	double seconds = 0, requests = 0;
	int error = child_cpu_ns(server, &before);

	do {
		if (!error)
			error = benchmark(&seconds, why);
		requests += 2 * REQUESTS;
	} while (!error && (double)(now_ns() - begin_ns) / 1e9 < least_s);
	if (!error)
		error = child_cpu_ns(server, &after);
	if (error)
		return error;
	load->kilo_per_s = requests / seconds / 1000;
	load->us_of_server = (double)(after - before) / requests / 1000;
	return 0;
}

struct pair {
	struct child *server, *monitor;
	double least_s;
};

static int beside_run(struct load *load, const struct pair *pair, struct why *why)
{
	int error;

	kill(pair->monitor->pid, SIGCONT);
	error = load_run(load, pair->server, pair->least_s, why);
	kill(pair->monitor->pid, SIGSTOP);
	return error;
}

/* Each goes first every other time. */
static int pair_run(struct bench *bench, const struct pair *pair, int i)
{
	struct why *why = &bench->results.why;
	struct load alone, beside;
	int error = 0;

	if (i % 2)
		error = beside_run(&beside, pair, why);
	if (!error)
		error = load_run(&alone, pair->server, pair->least_s, why);
	if (!error && i % 2 == 0)
		error = beside_run(&beside, pair, why);
	if (error)
		return error;
	results_add(&bench->results, TRIAGE_REDIS_ALONE, alone.kilo_per_s);
	results_add(&bench->results, TRIAGE_REDIS_BESIDE, beside.kilo_per_s);
	results_add(&bench->results, TRIAGE_REDIS_CPU_ALONE, alone.us_of_server);
	results_add(&bench->results, TRIAGE_REDIS_CPU_BESIDE, beside.us_of_server);
	return 0;
}

static int compare(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return (left > right) - (left < right);
}

/* For the median of n values: the values of ranks (n -+ 1.96 sqrt(n)) / 2. */
static void interval_add(struct results *results)
{
	const struct samples *alone = &results->figures[TRIAGE_REDIS_ALONE];
	const struct samples *beside = &results->figures[TRIAGE_REDIS_BESIDE];
	size_t count = alone->values.count;
	double ratios[PAIRS], half = 1.96 * sqrt((double)count) / 2;

	for (size_t i = 0; i < count; i++)
		ratios[i] = alone->values.items[i] / beside->values.items[i];
	qsort(ratios, count, sizeof(*ratios), compare);
	results_add(results, TRIAGE_REDIS_LOW,
		    ratios[(size_t)fmax(floor((double)count / 2 - half), 0)]);
	results_add(results, TRIAGE_REDIS_HIGH,
		    ratios[(size_t)fmin(ceil((double)count / 2 + half), (double)count - 1)]);
}

/* Debian's redis-tools carries the server's binary, which chooses by its name. */
static int server_link(const struct bench *bench, char path[64])
{
	char program[PATH_MAX];

	snprintf(path, 64, "%s/redis-server", bench->directory);
	if (!realpath("/usr/bin/redis-check-rdb", program))
		return -errno;
	return symlink(program, path) && errno != EEXIST ? -errno : 0;
}

int triage_redis_run(struct bench *bench)
{
	_cleanup_(child_cleanup) struct child *server = NULL, *monitor = NULL;
	struct why *why = &bench->results.why;
	char path[64];
	const char *const argv[] = {path, "--port", PORT, "--save", "", "--appendonly", "no", NULL};
	struct pair pair = {.least_s = bench->quick ? 0 : LOAD_S};
	int error = server_link(bench, path), pairs = bench->quick ? 1 : PAIRS;
	struct load warm;

	if (!error)
		error = child_start(&server, argv, why);
	if (!error)
		error = child_line(server, &server->out, "", NULL, NULL);
	nanosleep(&(struct timespec){.tv_sec = 1}, NULL);
	if (!error)
		error = load_run(&warm, server, 0, why);
	if (!error)
		error = triage_start(&monitor, why);
	if (!error)
		error = child_line(monitor, &monitor->out, "{", NULL, NULL);
	pair.server = server;
	pair.monitor = monitor;
	if (!error)
		kill(monitor->pid, SIGSTOP);
	for (int i = 0; i < pairs && !error; i++) {
		progress("triage beside redis", i, pairs);
		error = pair_run(bench, &pair, i);
	}
	if (!error)
		interval_add(&bench->results);
	if (monitor)
		kill(monitor->pid, SIGCONT);
	return error ? error : monitor_stop(monitor);
}
