// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What `leakmon profile` takes from redis-server at its default of 1 %: runs without and with it in
 * turns, each of some seconds, for there is about one window a second. Twenty minutes with the
 * programs of profile_programs.c.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "bench.h"
#include "monitor.h"
#include "profile.h"
#include "redis.h"

#define REPETITIONS 11
#define REQUESTS 600000
#define REQUESTS_QUICK 100000

struct server {
	struct child *child;
	char socket[64], requests[16]; /* of each command */
};

/* What redis-benchmark calls each command, and where its figures begin. */
static const struct {
	const char *name;
	enum figure alone, profiled;
} commands[] = {
	{"\"SET\"", PROFILE_SET_ALONE, PROFILE_SET},
	{"\"GET\"", PROFILE_GET_ALONE, PROFILE_GET},
	{"\"LPUSH\"", PROFILE_LPUSH_ALONE, PROFILE_LPUSH},
};

/*
 * The server and its client have a CPU each, where there are two, under a profile and without. Left
 * to themselves, they may share one for a while after each window, while the other CPU idles.
 */
enum role { SERVER, CLIENT };

static void pin(pid_t pid, enum role role)
{
	cpu_set_t cpus;
	int others = role;

	if (sched_getaffinity(0, sizeof(cpus), &cpus) || CPU_COUNT(&cpus) < 2)
		return;
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &cpus) && others-- != 0)
			CPU_CLR(cpu, &cpus);
	sched_setaffinity(pid, sizeof(cpus), &cpus);
}

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

static int commands_run(struct bench *bench, const struct server *server, bool profiled)
{
	_cleanup_(child_cleanup) struct child *child = NULL;
	char *line;
	int error = child_start(&child,
				ARGUMENTS("redis-benchmark", "-s", server->socket, "-t",
					  "set,get,lpush", "-n", server->requests, "-r", "100000",
					  "--csv"),
				&bench->results.why);

	if (!error)
		pin(child->pid, CLIENT);
	for (size_t i = 0; i < ARRAY_SIZE(commands) && !error; i++) {
		do
			error = child_line(child, &child->out, "\"", &line, NULL);
		while (!error && !strncmp(line, "\"test\"", 6));
		if (!error)
			take_line(bench, line, profiled);
	}
	return error ? error : child_end(child);
}

/* Throughput wanders with the machine; the server's CPU time for a request wanders less. */
static int throughput(struct bench *bench, const struct server *server, bool profiled)
{
	int64_t before, after;
	int error = child_cpu_ns(server->child, &before);

	if (!error)
		error = commands_run(bench, server, profiled);
	if (!error)
		error = child_cpu_ns(server->child, &after);
	if (!error)
		results_add(&bench->results, profiled ? PROFILE_SERVER : PROFILE_SERVER_ALONE,
			    (double)(after - before) / 1e3 / (double)ARRAY_SIZE(commands) /
				    atof(server->requests));
	return error;
}

/* "99.902% <= 0.927 milliseconds (cumulative count ...)": the first at or beyond 99.9 %. */
static int latency(struct bench *bench, const struct server *server, bool profiled)
{
	_cleanup_(child_cleanup) struct child *child = NULL;
	double percent = 0, ms = 0;
	char *line;
	int error =
		child_start(&child,
			    ARGUMENTS("redis-benchmark", "-s", server->socket, "-t", "set", "-n",
				      server->requests, "-r", "100000", "--precision", "3"),
			    &bench->results.why);

	if (!error)
		pin(child->pid, CLIENT);
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

static int measure(struct bench *bench, const struct server *server, bool profiled)
{
	int error = throughput(bench, server, profiled);

	return error ? error : latency(bench, server, profiled);
}

static int measure_profiled(struct bench *bench, const struct server *server)
{
	_cleanup_(child_cleanup) struct child *monitor = NULL;
	char *line;
	int64_t begin_ns, before, after;
	double ms;
	int error = profile_start(&monitor, server->child->pid, &bench->results.why);

	begin_ns = now_ns();
	if (!error)
		error = child_cpu_ns(monitor, &before);
	if (!error)
		error = measure(bench, server, true);
	if (!error)
		error = child_cpu_ns(monitor, &after);
	if (!error) {
		double elapsed_ns = (double)(now_ns() - begin_ns);

		results_add(&bench->results, PROFILE_CPU,
			    100 * (double)(after - before) / elapsed_ns);
		error = monitor_snapshot(monitor, &ms, &line);
		if (!error)
			take_report(bench, line, elapsed_ns / 1e9);
	}
	return error ? error : monitor_stop(monitor);
}

/* Each with a server of its own, which begins empty. */
static int run_one(struct bench *bench, bool profiled)
{
	_cleanup_(child_cleanup) struct child *child = NULL;
	struct server server;
	int error;

	snprintf(server.socket, sizeof(server.socket), "%s/socket", bench->directory);
	snprintf(server.requests, sizeof(server.requests), "%d",
		 bench->quick ? REQUESTS_QUICK : REQUESTS);
	error = redis_start(bench, &child, server.socket);
	server.child = child;
	if (!error)
		error = redis_wait(bench, server.socket);
	if (error)
		return error;
	pin(child->pid, SERVER);
	return profiled ? measure_profiled(bench, &server) : measure(bench, &server, false);
}

/* Each is first every other time: a machine gets slower, or faster, while they run. */
static int run_both(struct bench *bench)
{
	bool profiled = bench->results.figures[PROFILE_SET].values.count % 2;
	int error = run_one(bench, profiled);

	if (!error)
		error = run_one(bench, !profiled);
	error = results_settle(&bench->results, PROFILE_SET_ALONE, PROFILE_RSS, error);
	return error ? error : profile_programs(bench);
}

int section_profile(struct bench *bench)
{
	return repeat(bench, "profile", bench->quick ? 1 : REPETITIONS, run_both);
}
