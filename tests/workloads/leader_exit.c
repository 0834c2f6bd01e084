// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * leader_exit: `leave` ends the main thread; the process continues in the other one, which reads
 * the commands. `go` leaks 6 blocks of 80 bytes, before and after.
 */
#include <pthread.h>

#include "workload.h"

static struct truth truth = {.sites[0] = {.function = "leak_worker"}};
static pthread_barrier_t leave;
static pthread_t leader;

static SITE void leak_worker(void)
{
	OPAQUE(malloc(80));
	truth_born(&truth, 0, 80);
}

static void go(void)
{
	for (int i = 0; i < 6; i++)
		leak_worker();
}

static void leader_leave(void)
{
	pthread_barrier_wait(&leave);
	pthread_join(leader, NULL);
}

static void *worker(void *unused)
{
	static const struct command commands[] = {
		{.name = "go", .run = go},
		{.name = "leave", .run = leader_leave},
	};

	_exit(workload_serve(commands, ARRAY_SIZE(commands), &truth));
	return unused;
}

static void *leave_at_once(void *unused)
{
	pthread_exit(unused);
}

int main(void)
{
	pthread_t thread;

	/* The first pthread_exit() loads libgcc_s, which allocates: do that now. */
	if (pthread_create(&thread, NULL, leave_at_once, NULL) || pthread_join(thread, NULL))
		return 1;
	leader = pthread_self();
	pthread_barrier_init(&leave, NULL, 2);
	if (pthread_create(&thread, NULL, worker, NULL))
		return 1;
	pthread_barrier_wait(&leave);
	pthread_exit(NULL);
}
