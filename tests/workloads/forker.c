// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * forker: `go` allocates 10 blocks and forks. The child frees 4 of the inherited blocks, allocates
 * 5, and stays until the end; the parent allocates 3 more and frees 2. "ledger" is the parent's
 * truth, `child` the child's.
 */
#include <sys/wait.h>

#include "workload.h"

enum { PARENT, CHILD };

static struct truth truth = {
	.sites = {[PARENT] = {.function = "leak_parent"}, [CHILD] = {.function = "leak_child"}},
};
static void *blocks[16];
static pid_t child;
static int to_child[2], to_parent[2];

static SITE void *leak_parent(void)
{
	truth_born(&truth, PARENT, 64);
	return OPAQUE(malloc(64));
}

static SITE void leak_child(void)
{
	truth_born(&truth, CHILD, 32);
	OPAQUE(malloc(32));
}

static void child_work(void)
{
	struct truth own = {.sites = {[CHILD] = {.function = "leak_child"}}};
	char end;

	truth = own;
	truth.pid = getpid();
	for (int i = 0; i < 4; i++) {
		free(blocks[i]);
		truth.untracked_frees++;
	}
	for (int i = 0; i < 5; i++)
		leak_child();
	if (write(to_parent[1], &truth, sizeof(truth)) != sizeof(truth))
		_exit(1);
	close(to_child[1]);
	_exit(read(to_child[0], &end, 1) == 0 ? 0 : 1);
}

static void go(void)
{
	for (int i = 0; i < 10; i++)
		blocks[i] = leak_parent();
	child = fork();
	if (child < 0)
		_exit(115);
	if (child == 0)
		child_work();
	for (int i = 10; i < 13; i++)
		blocks[i] = leak_parent();
	for (int i = 8; i < 10; i++) {
		free(blocks[i]);
		truth_died(&truth, PARENT, 64);
	}
}

static void child_truth(void)
{
	static struct truth theirs;

	if (read(to_parent[0], &theirs, sizeof(theirs)) == sizeof(theirs))
		truth_say(&theirs);
}

/* Releases the child and prints its end. */
static void end(void)
{
	int status = -1;

	close(to_child[1]);
	waitpid(child, &status, 0);
	say("child ended with status %d\n", status);
}

int main(void)
{
	static const struct command commands[] = {
		{.name = "go", .run = go},
		{.name = "child", .run = child_truth, .silent = true},
		{.name = "end", .run = end, .silent = true},
	};

	if (pipe(to_child) || pipe(to_parent))
		return 1;
	return workload_serve(commands, ARRAY_SIZE(commands), &truth);
}
