// SPDX-License-Identifier: GPL-2.0-or-later
/* A third-party server with its own allocator: redis-server and its jemalloc. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "bench.h"
#include "monitor.h"
#include "redis.h"

/* redis-tools carries the server: it chooses by its name. */
#define PROGRAM "/usr/bin/redis-check-rdb"

/* Many short runs: other load on the machine changes from one minute to the next. */
#define REQUESTS "10000"
#define REPETITIONS 11

enum mode { UNTRACED, TRACKED, ENTRY, MODES };

/* redis-benchmark's name of each command, and the start of its figures. */
static const struct {
	const char *name;
	enum figure figures[MODES];
} commands[] = {
	{"\"SET\"", {REDIS_SET, REDIS_SET_TRACKED, REDIS_SET_ENTRY}},
	{"\"GET\"", {REDIS_GET, REDIS_GET_TRACKED, REDIS_GET_ENTRY}},
	{"\"LPUSH\"", {REDIS_LPUSH, REDIS_LPUSH_TRACKED, REDIS_LPUSH_ENTRY}},
};

static const char *const *const options[] = {
	[TRACKED] = ARGUMENTS("--max-blocks=4000000"),
	[ENTRY] = ARGUMENTS("--max-blocks=4000000", "--probe-at=entry"),
};

int redis_start(struct bench *bench, struct child **server, const char *socket)
{
	char program[PATH_MAX], path[64];
	int error;

	snprintf(path, sizeof(path), "%s/redis-server", bench->directory);
	if (!realpath(PROGRAM, program) || (symlink(program, path) && errno != EEXIST)) {
		snprintf(bench->results.why.text, sizeof(bench->results.why.text),
			 "redis-tools is not installed");
		return -ENOENT;
	}
	unlink(socket);
	error = child_start(server,
			    ARGUMENTS(path, "--port", "0", "--unixsocket", socket, "--save", "",
				      "--dir", bench->directory),
			    &bench->results.why);
	return error ? error
		     : child_line(*server, &(*server)->out, "", NULL, NULL) /* it has begun */;
}

/* The server refuses early clients: redis-cli shows when it listens. */
int redis_wait(struct bench *bench, const char *socket)
{
	const struct timespec pause = {.tv_nsec = 50000000};
	int error = -ETIMEDOUT;

	for (int tries = 0; tries < 100 && error && error != -EINTR; tries++) {
		_cleanup_(child_cleanup) struct child *cli = NULL;

		nanosleep(&pause, NULL);
		error = child_start(&cli, ARGUMENTS("redis-cli", "-s", socket, "ping"),
				    &bench->results.why);
		if (!error)
			error = child_line(cli, &cli->out, "PONG", NULL, NULL);
	}
	if (!error)
		bench->results.why.text[0] = '\0';
	return error;
}

/* `"SET","12345.67",...`: requests per second. */
static void take_line(struct bench *bench, const char *line, enum mode mode)
{
	double rate;

	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		size_t length = strlen(commands[i].name);

		if (!strncmp(line, commands[i].name, length) &&
		    sscanf(line + length, ",\"%lf\"", &rate) == 1)
			results_add(&bench->results, commands[i].figures[mode], rate);
	}
}

static int benchmark(struct bench *bench, const char *socket, enum mode mode)
{
	_cleanup_(child_cleanup) struct child *child = NULL;
	char *line;
	int error =
		child_start(&child,
			    ARGUMENTS("redis-benchmark", "-s", socket, "-t", "set,get,lpush", "-n",
				      bench->quick ? "2000" : REQUESTS, "-r", "100000", "--csv"),
			    &bench->results.why);

	for (size_t i = 0; i < ARRAY_SIZE(commands) && !error; i++) {
		do
			error = child_line(child, &child->out, "\"", &line, NULL);
		while (!error && !strncmp(line, "\"test\"", 6));
		if (!error)
			take_line(bench, line, mode);
	}
	return error ? error : child_end(child);
}

/* Starts a fresh server for each run. */
static int mode_run(struct bench *bench, enum mode mode)
{
	_cleanup_(child_cleanup) struct child *server = NULL, *monitor = NULL;
	char socket[64];
	int error;

	snprintf(socket, sizeof(socket), "%s/socket", bench->directory);
	error = redis_start(bench, &server, socket);
	if (!error)
		error = redis_wait(bench, socket);
	if (!error && mode != UNTRACED)
		error = monitor_start(&monitor, server->pid, options[mode], "3600",
				      &bench->results.why);
	if (!error)
		error = benchmark(bench, socket, mode);
	if (!error && monitor)
		error = monitor_stop(monitor);
	return results_settle(&bench->results, commands[0].figures[mode],
			      commands[ARRAY_SIZE(commands) - 1].figures[mode], error);
}

static int modes_run(struct bench *bench)
{
	int error = 0;

	for (enum mode mode = UNTRACED; mode < MODES && !error; mode++)
		error = mode_run(bench, mode);
	return error;
}

int section_redis(struct bench *bench)
{
	return repeat(bench, "redis", bench->quick ? 1 : REPETITIONS, modes_run);
}
