// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The cost of `leakmon profile` for redis-server at its default of 1 %: each command without and
 * with it in turns, on one server, long enough for some windows.
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

#define REQUESTS 2000000 /* per command: some 10 s */
#define REQUESTS_QUICK 100000
#define REQUESTS_WARM 200000

struct server {
	struct child *child;
	char socket[64];
	int requests;
};

/*
 * Time of a request at the client, CPU time of the server, and the slowest of 1,000: sums over the
 * runs.
 */
struct service {
	double runs, request_s, cpu_us, p999_ms;
};

static const struct command {
	const char *name;
	enum figure alone, profiled;
} commands[] = {
	{"set", PROFILE_SET_ALONE, PROFILE_SET},
	{"get", PROFILE_GET_ALONE, PROFILE_GET},
	{"lpush", PROFILE_LPUSH_ALONE, PROFILE_LPUSH},
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

/* "99.902% <= 0.927 milliseconds (cumulative count ...)", of which the first at or beyond 99.9 %
 * counts, and then "  throughput summary: 12345.67 requests per second". */
static int read_service(struct child *client, struct service *service)
{
	double percent = 0, ms = 0, rate = 0;
	char *line;
	int error = 0;

	while (!error && !rate) {
		error = child_line(client, &client->out, "", &line, NULL);
		if (error)
			return error;
		if (percent < 99.9 && sscanf(line, "%lf%% <= %lf milliseconds", &percent, &ms) != 2)
			percent = 0;
		sscanf(line, " throughput summary: %lf", &rate);
	}
	service->runs++;
	service->request_s += 1 / rate;
	service->p999_ms += ms;
	return 0;
}

/* Throughput wanders with the machine; the server's CPU time for a request wanders less. */
static int command_run(struct bench *bench, const struct server *server, const char *command,
		       int requests, struct service *service)
{
	_cleanup_(child_cleanup) struct child *client = NULL;
	char count[16];
	int64_t before, after;
	int error = child_cpu_ns(server->child, &before);

	snprintf(count, sizeof(count), "%d", requests);
	if (!error)
		error = child_start(&client,
				    ARGUMENTS("redis-benchmark", "-s", server->socket, "-t",
					      command, "-n", count, "-r", "100000", "--precision",
					      "3"),
				    &bench->results.why);
	if (error)
		return error;
	pin(client->pid, CLIENT);
	error = read_service(client, service);
	if (!error)
		error = child_end(client);
	if (!error)
		error = child_cpu_ns(server->child, &after);
	if (!error)
		service->cpu_us += (double)(after - before) / 1e3 / requests;
	return error;
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

/*
 * Runs it warm first: the start of a monitor, and after-effects of the previous run, do not count.
 */
static int command_measure(struct bench *bench, const struct server *server, const char *command,
			   struct service *service)
{
	struct service warm = {0};
	int error = command_run(bench, server, command, REQUESTS_WARM, &warm);

	return error ? error : command_run(bench, server, command, server->requests, service);
}

/* Runs the command under a profile, with leakmon's own cost and counts. */
static int command_profiled(struct bench *bench, const struct server *server, const char *command,
			    struct service *service)
{
	_cleanup_(child_cleanup) struct child *monitor = NULL;
	char *line;
	int64_t begin_ns, before, after;
	double ms, elapsed_ns;
	int error = profile_start(&monitor, server->child->pid, &bench->results.why);

	begin_ns = now_ns();
	if (!error)
		error = child_cpu_ns(monitor, &before);
	if (!error)
		error = command_measure(bench, server, command, service);
	if (!error)
		error = child_cpu_ns(monitor, &after);
	elapsed_ns = (double)(now_ns() - begin_ns);
	if (!error)
		error = monitor_snapshot(monitor, &ms, &line);
	if (error)
		return error;
	results_add(&bench->results, PROFILE_CPU, 100 * (double)(after - before) / elapsed_ns);
	take_report(bench, line, elapsed_ns / 1e9);
	return monitor_stop(monitor);
}

/* Without, with, with, without, and the reverse every other time: drift of the machine or of a
 * growing list is then the same for both. */
static int compare(struct bench *bench, const struct server *server, const struct command *command,
		   struct service services[2])
{
	bool reversed = bench->results.figures[command->profiled].values.count % 2;
	int error = 0;

	for (int turn = 0; turn < 4 && !error; turn++) {
		bool profiled = (turn == 1 || turn == 2) != reversed;

		error = profiled ? command_profiled(bench, server, command->name, &services[true])
				 : command_measure(bench, server, command->name, &services[false]);
	}
	return error;
}

static void add_services(struct results *results, struct service services[][2])
{
	double cpu_us[2] = {0};

	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		for (int profiled = false; profiled <= true; profiled++) {
			const struct service *service = &services[i][profiled];

			results_add(results, profiled ? commands[i].profiled : commands[i].alone,
				    service->runs / service->request_s);
			cpu_us[profiled] += service->cpu_us / service->runs;
		}
	results_add(results, PROFILE_SERVER_ALONE, cpu_us[false] / ARRAY_SIZE(commands));
	results_add(results, PROFILE_SERVER, cpu_us[true] / ARRAY_SIZE(commands));
	results_add(results, PROFILE_P999_ALONE,
		    services[0][false].p999_ms / services[0][false].runs);
	results_add(results, PROFILE_P999, services[0][true].p999_ms / services[0][true].runs);
}

static int compare_all(struct bench *bench, const struct server *server)
{
	struct service services[ARRAY_SIZE(commands)][2] = {0};
	int error = 0;

	for (size_t i = 0; i < ARRAY_SIZE(commands) && !error; i++)
		error = compare(bench, server, &commands[i], services[i]);
	if (!error)
		add_services(&bench->results, services);
	return error;
}

static int run_redis(struct bench *bench)
{
	_cleanup_(child_cleanup) struct child *child = NULL;
	struct server server = {.requests = bench->quick ? REQUESTS_QUICK : REQUESTS};
	int error;

	snprintf(server.socket, sizeof(server.socket), "%s/socket", bench->directory);
	error = redis_start(bench, &child, server.socket);
	server.child = child;
	if (!error)
		error = redis_wait(bench, server.socket);
	if (error)
		return error;
	pin(child->pid, SERVER);
	return compare_all(bench, &server);
}

static int run_all(struct bench *bench)
{
	return results_settle(&bench->results, PROFILE_SET_ALONE, PROFILE_RSS, run_redis(bench));
}

int section_profile(struct bench *bench)
{
	return repeat(bench, "profile", bench->quick ? 1 : PROFILE_REPETITIONS, run_all);
}
