// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * brood [STORM]: a process with children.
 *
 *   seed    10 blocks of 64 bytes
 *   fork    one child, which waits; "child" prints its PID
 *   work    the child frees 4 blocks that it inherited, leaks 5 of 32 bytes of its own, and waits
 *   storm   STORM (2,000) children, 16 at a time, each leaks 10 blocks of 100 bytes and ends
 *   crowd   STORM children that wait until this process ends
 *   burst   20,000 children, which end at once
 *   spawn   one child by posix_spawn, another brood; "child" prints its PID
 *   late    3 more blocks of 64 bytes
 *   end     the child ends
 */
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "workload.h"

enum { SEED, OWN };

static struct truth truth = {.sites = {[SEED] = {.function = "leak_seed"}}};
static struct truth *child_truth = &truth; /* in the child: its own */
static void *blocks[16];
static size_t seeded, storm_size;
static pid_t child;
static int to_child[2], to_parent[2];

static SITE void *leak_seed(void)
{
	truth_born(&truth, SEED, 64);
	return OPAQUE(malloc(64));
}

static SITE void leak_own(void)
{
	truth_born(child_truth, OWN, 32);
	OPAQUE(malloc(32));
}

static SITE void leak_short(void)
{
	OPAQUE(malloc(100));
}

static void seed(void)
{
	while (seeded < 10)
		blocks[seeded++] = leak_seed();
}

static void late(void)
{
	for (int i = 0; i < 3; i++)
		leak_seed();
}

static void child_main(void)
{
	static struct truth own = {.sites = {[OWN] = {.function = "leak_own"}}};
	char order;

	child_truth = &own;
	own.pid = getpid();
	close(to_child[1]);
	while (read(to_child[0], &order, 1) == 1) {
		for (int i = 0; i < 4; i++)
			free(blocks[i]);
		for (int i = 0; i < 5; i++)
			leak_own();
		if (write(to_parent[1], &own, sizeof(own)) != sizeof(own))
			_exit(1);
	}
	_exit(0);
}

static void fork_one(void)
{
	child = fork();
	if (child < 0)
		_exit(115);
	if (child == 0)
		child_main();
}

static void say_child(void)
{
	say("{\"pid\":%d}\n", child);
}

static void work(void)
{
	static struct truth theirs;

	if (write(to_child[1], "w", 1) != 1 ||
	    read(to_parent[0], &theirs, sizeof(theirs)) != sizeof(theirs))
		_exit(116);
	truth_say(&theirs);
}

static void storm(void)
{
	size_t running = 0;

	for (size_t i = 0; i < storm_size; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			for (int j = 0; j < 10; j++)
				leak_short();
			_exit(0);
		}
		running += pid > 0;
		if (running == 16 && wait(NULL) > 0)
			running--;
	}
	while (running-- > 0)
		wait(NULL);
}

static void crowd(void)
{
	for (size_t i = 0; i < storm_size; i++) {
		pid_t pid = fork();

		if (pid < 0)
			_exit(117);
		if (pid == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			for (;;)
				pause();
		}
	}
}

static void burst(void)
{
	for (int i = 0; i < 20000; i++) {
		pid_t pid = fork();

		if (pid == 0)
			_exit(0);
		if (pid < 0 || waitpid(pid, NULL, 0) != pid)
			_exit(118);
	}
}

static void spawn_one(void)
{
	char *const arguments[] = {(char *)"brood", NULL}, *const environment[] = {NULL};
	posix_spawn_file_actions_t actions;

	/* The end of its input is the end of it. */
	if (posix_spawn_file_actions_init(&actions) ||
	    posix_spawn_file_actions_adddup2(&actions, to_child[0], STDIN_FILENO) ||
	    posix_spawn_file_actions_addclose(&actions, to_child[1]) ||
	    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0) ||
	    posix_spawn(&child, "/proc/self/exe", &actions, NULL, arguments, environment))
		_exit(119);
	posix_spawn_file_actions_destroy(&actions);
}

static void end(void)
{
	close(to_child[1]);
	waitpid(child, NULL, 0);
}

int main(int argc, char **argv)
{
	static const struct command commands[] = {
		{.name = "seed", .run = seed},
		{.name = "fork", .run = fork_one},
		{.name = "child", .run = say_child, .silent = true},
		{.name = "work", .run = work, .silent = true},
		{.name = "storm", .run = storm},
		{.name = "crowd", .run = crowd},
		{.name = "burst", .run = burst},
		{.name = "spawn", .run = spawn_one},
		{.name = "late", .run = late},
		{.name = "end", .run = end},
	};

	storm_size = argument(argc, argv, 1, 2000);
	if (pipe(to_child) || pipe(to_parent))
		return 1;
	return workload_serve(commands, ARRAY_SIZE(commands), &truth);
}
