// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * kernelmem [COUNT]: makes the kernel allocate, COUNT times each (500): pipes with a page of data
 * in them, event and signal descriptors. The test knows their sizes in the kernel.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/signalfd.h>

#include "workload.h"

#define MAX_COUNT 4000

static int pipes[MAX_COUNT][2], events[MAX_COUNT], signals[MAX_COUNT];
static size_t count;

static void must(bool right)
{
	if (!right)
		_exit(120);
}

/* Pipes of two pages: the kernel reallocates the ring, and frees the one of 16 pages. */
static void pipes_open(void)
{
	for (size_t i = 0; i < count; i++) {
		must(!pipe(pipes[i]));
		must(fcntl(pipes[i][1], F_SETPIPE_SZ, 8192) == 8192);
		must(write(pipes[i][1], "x", 1) == 1);
	}
}

static void pipes_close(void)
{
	for (size_t i = 0; i < count; i++) {
		close(pipes[i][0]);
		close(pipes[i][1]);
	}
}

static void events_open(void)
{
	sigset_t none;

	sigemptyset(&none);
	for (size_t i = 0; i < count; i++) {
		events[i] = eventfd(0, 0);
		signals[i] = signalfd(-1, &none, 0);
		must(events[i] >= 0 && signals[i] >= 0);
	}
}

static void events_close(void)
{
	for (size_t i = 0; i < count; i++) {
		close(events[i]);
		close(signals[i]);
	}
}

int main(int argc, char **argv)
{
	static const struct command commands[] = {
		{.name = "pipes", .run = pipes_open},
		{.name = "close_pipes", .run = pipes_close},
		{.name = "events", .run = events_open},
		{.name = "close_events", .run = events_close},
	};
	static const struct truth none;
	struct rlimit limit;

	count = argument(argc, argv, 1, 500);
	if (count > MAX_COUNT || getrlimit(RLIMIT_NOFILE, &limit))
		return 2;
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit))
		return 2;
	return workload_serve(commands, ARRAY_SIZE(commands), &none);
}
