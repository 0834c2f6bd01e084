// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What `leakmon profile` takes from redis-server at its default of 1 %: runs without and with it in
 * turns, each of some seconds, for there is about one window a second. Twenty minutes with the
 * programs of profile_programs.c.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "bench.h"
#include "monitor.h"
#include "profile.h"
#include "redis.h"

#define REPETITIONS 11
#define REQUESTS "600000"
#define REQUESTS_QUICK "100000"

/* What redis-benchmark calls each command, and where its figures begin. */
static const struct {
	const char *name;
	enum figure alone, profiled;
} commands[] = {
	{"\"SET\"", PROFILE_SET_ALONE, PROFILE_SET},
	{"\"GET\"", PROFILE_GET_ALONE, PROFILE_GET},
	{"\"LPUSH\"", PROFILE_LPUSH_ALONE, PROFILE_LPUSH},
};

/* `"SET","12345.67","avg","min","p50","p95","p99","max"`: requests a second; of redis-benchmark's
 * lines only the largest says more than p99, so the rare ones are asked for apart. */
static void take_line(struct bench *bench, const char *line, bool profiled)
{
	double rate;

	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		size_t length = strlen(commands[i].name);

		if (!strncmp(line, commands[i].name, length) &&
		    sscanf(line + length, ",\"%lf\"", &rate) == 1)
			results_add(&bench->results,
				    profiled ? commands[i].profiled : commands[i].alone, rate);
	}
}

static int throughput(struct bench *bench, const char *socket, bool profiled)
{
	_cleanup_(child_cleanup) struct child *child = NULL;
	char *line;
	int error = child_start(&child,
				ARGUMENTS("redis-benchmark", "-s", socket, "-t", "set,get,lpush",
					  "-n", bench->quick ? REQUESTS_QUICK : REQUESTS, "-r",
					  "100000", "--csv"),
				&bench->results.why);

	for (size_t i = 0; i < ARRAY_SIZE(commands) && !error; i++) {
		do
			error = child_line(child, &child->out, "\"", &line, NULL);
		while (!error && !strncmp(line, "\"test\"", 6));
		if (!error)
			take_line(bench, line, profiled);
	}
	return error ? error : child_end(child);
}

/* "99.902% <= 0.927 milliseconds (cumulative count ...)": the first at or beyond 99.9 %. */
static int latency(struct bench *bench, const char *socket, bool profiled)
{
	_cleanup_(child_cleanup) struct child *child = NULL;
	double percent = 0, ms = 0;
	char *line;
	int error = child_start(&child,
				ARGUMENTS("redis-benchmark", "-s", socket, "-t", "set", "-n",
					  bench->quick ? REQUESTS_QUICK : REQUESTS, "-r", "100000",
					  "--precision", "3"),
				&bench->results.why);

	while (!error && percent < 99.9) {
		error = child_line(child, &child->out, "", &line, NULL);
		if (!error && sscanf(line, "%lf%% <= %lf milliseconds", &percent, &ms) != 2)
			percent = 0;
	}
	if (!error)
		results_add(&bench->results, profiled ? PROFILE_P999 : PROFILE_P999_ALONE, ms);
	return error ? error : child_end(child);
}

static void take_report(struct bench *bench, const char *line, double seconds)
{
	json_t *report = json_loads(line, 0, NULL);
	json_t *overhead = json_object_get(report, "overhead");
	json_t *monitor = json_object_get(report, "monitor");

	results_add(&bench->results, PROFILE_SPENT,
		    100 * json_number_value(json_object_get(overhead, "spent")));
	results_add(&bench->results, PROFILE_WINDOWS,
		    json_number_value(json_object_get(report, "windows")) * 60 / seconds);
	results_add(&bench->results, PROFILE_RSS,
		    json_number_value(json_object_get(monitor, "resident_bytes")) / 1e6);
	json_decref(report);
}

/* CPU time, user's and the system's, in seconds. */
static double cpu_s(pid_t pid)
{
	char path[32];
	_cleanup_fclose_ FILE *file = NULL;
	unsigned long user = 0, system = 0;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = fopen(path, "re");
	if (!file ||
	    fscanf(file, "%*d (%*[^)]) %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user,
		   &system) != 2)
		return 0;
	return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

int profile_start(struct child **monitor, pid_t pid, struct why *why)
{
	char text[16];
	int error;

	snprintf(text, sizeof(text), "%d", pid);
	error = child_start(
		monitor,
		ARGUMENTS(monitor_program(), "profile", "-p", text, "--format=json", "3600"), why);
	return error ? error
		     : child_line(*monitor, &(*monitor)->err, "leakmon: attached to PID ", NULL,
				  NULL);
}

static int measure_profiled(struct bench *bench, struct child *server, const char *socket)
{
	_cleanup_(child_cleanup) struct child *monitor = NULL;
	char *line;
	int64_t begin_ns;
	double begin_s, ms;
	int error = profile_start(&monitor, server->pid, &bench->results.why);

	if (error)
		return error;
	begin_ns = now_ns();
	begin_s = cpu_s(monitor->pid);
	error = throughput(bench, socket, true);
	if (!error)
		error = latency(bench, socket, true);
	if (!error) {
		double seconds = (double)(now_ns() - begin_ns) / 1e9;

		results_add(&bench->results, PROFILE_CPU,
			    100 * (cpu_s(monitor->pid) - begin_s) / seconds);
		error = monitor_snapshot(monitor, &ms, &line);
		if (!error)
			take_report(bench, line, seconds);
	}
	return error ? error : monitor_stop(monitor);
}

/* Each with a server of its own, which begins empty. */
static int run_one(struct bench *bench, bool profiled)
{
	_cleanup_(child_cleanup) struct child *server = NULL;
	char socket[64];
	int error;

	snprintf(socket, sizeof(socket), "%s/socket", bench->directory);
	error = redis_start(bench, &server, socket);
	if (!error)
		error = redis_wait(bench, socket);
	if (!error && profiled)
		return measure_profiled(bench, server, socket);
	if (!error)
		error = throughput(bench, socket, false);
	return error ? error : latency(bench, socket, false);
}

static int run_both(struct bench *bench)
{
	int error = run_one(bench, false);

	if (!error)
		error = run_one(bench, true);
	error = results_settle(&bench->results, PROFILE_SET_ALONE, PROFILE_RSS, error);
	return error ? error : profile_programs(bench);
}

int section_profile(struct bench *bench)
{
	return repeat(bench, "profile", bench->quick ? 1 : REPETITIONS, run_both);
}
