// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sharer: a process with others on its heap.
 *
 *   own      3,333 blocks of 100 bytes
 *   spawn    20 times posix_spawn("/bin/true"): none of these touches the heap
 *   vfork    a vfork child leaks 4,444 blocks of 100 bytes and ends
 *   swap     a vfork child frees 1,000 of the parent's blocks and ends
 *   go       own, spawn, vfork
 *   clone    a clone(CLONE_VM) child, which waits; "child" prints its PID
 *   work     that child leaks 444 blocks of 50 bytes, and waits
 *   hasty    another one, which leaks 444 blocks of 50 bytes at once and waits
 *   end      both end
 */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "workload.h"

#define STACK_SIZE (256 * 1024)

enum { OWN, VFORKED, CLONED };

static struct truth truth = {
	.sites = {[OWN] = {.function = "leak_own"},
		  [VFORKED] = {.function = "leak_vforked"},
		  [CLONED] = {.function = "leak_cloned"}},
};
extern char **environ;
static void *blocks[3333];
static size_t owned;
static pid_t child, hasty_child;
static int to_child[2], to_parent[2];

static SITE void *leak_own(void)
{
	truth_born(&truth, OWN, 100);
	return OPAQUE(malloc(100));
}

static SITE void leak_vforked(void)
{
	OPAQUE(malloc(100));
}

static SITE void leak_cloned(void)
{
	OPAQUE(malloc(50));
}

static void own(void)
{
	while (owned < ARRAY_SIZE(blocks))
		blocks[owned++] = leak_own();
}

static void spawn(void)
{
	char *const arguments[] = {(char *)"true", NULL};

	for (int i = 0; i < 20; i++) {
		pid_t pid;

		if (posix_spawn(&pid, "/bin/true", NULL, NULL, arguments, environ) ||
		    waitpid(pid, NULL, 0) != pid)
			_exit(115);
	}
}

/* Runs `work` in a child that has this one's memory, while this one waits. */
static SITE void in_vfork(void (*work)(void))
{
	pid_t pid = vfork();

	if (pid == 0) {
		work();
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, NULL, 0) != pid)
		_exit(116);
}

static void leak_many(void)
{
	for (int i = 0; i < 4444; i++)
		leak_vforked();
}

static void free_many(void)
{
	for (int i = 0; i < 1000; i++)
		free(blocks[--owned]);
}

static void run_vfork(void)
{
	in_vfork(leak_many);
}

static void swap(void)
{
	in_vfork(free_many);
}

static void go(void)
{
	own();
	spawn();
	run_vfork();
}

static int cloned(void *context)
{
	char order = 0;

	/* A failed test must leave no process. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	do {
		if (order || context)
			for (int i = 0; i < 444; i++)
				leak_cloned();
		if ((order || context) && write(to_parent[1], "d", 1) != 1)
			_exit(1);
		context = NULL;
	} while (read(to_child[0], &order, 1) == 1 && order != 'e');
	_exit(0);
}

static pid_t clone_one(void *context)
{
	char *stack = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);

	return stack == MAP_FAILED ? -1
				   : clone(cloned, stack + STACK_SIZE, CLONE_VM | SIGCHLD, context);
}

static void wait_for_child(void)
{
	char answer;

	if (read(to_parent[0], &answer, 1) != 1)
		_exit(117);
}

static void run_clone(void)
{
	child = clone_one(NULL);
	if (child < 0)
		_exit(118);
}

static void say_child(void)
{
	say("{\"pid\":%d}\n", child);
}

static void work(void)
{
	if (write(to_child[1], "w", 1) != 1)
		_exit(119);
	wait_for_child();
}

static void hasty(void)
{
	hasty_child = clone_one(&hasty_child);
	if (hasty_child < 0)
		_exit(120);
	wait_for_child();
}

static void end(void)
{
	pid_t pids[] = {child, hasty_child};

	for (size_t i = 0; i < ARRAY_SIZE(pids); i++) {
		if (pids[i] && (write(to_child[1], "e", 1) != 1 || waitpid(-1, NULL, 0) < 0))
			_exit(121);
	}
}

int main(void)
{
	static const struct command commands[] = {
		{.name = "own", .run = own},
		{.name = "spawn", .run = spawn},
		{.name = "vfork", .run = run_vfork},
		{.name = "swap", .run = swap},
		{.name = "go", .run = go},
		{.name = "clone", .run = run_clone},
		{.name = "child", .run = say_child, .silent = true},
		{.name = "work", .run = work},
		{.name = "hasty", .run = hasty},
		{.name = "end", .run = end},
	};

	if (pipe(to_child) || pipe(to_parent))
		return 1;
	return workload_serve(commands, ARRAY_SIZE(commands), &truth);
}
