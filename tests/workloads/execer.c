// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * execer [first]: `go` leaks 10 blocks of 100 bytes; `exec` replaces the program by itself with the
 * argument "second", which prints `ready` again and leaks 4 blocks of 64 bytes on `go`;
 * `exec_thread` is the same by a thread that is not the main one.
 */
#include <pthread.h>

#include "workload.h"

enum { FIRST, SECOND };

static struct truth truth = {
	.sites = {[FIRST] = {.function = "leak_first"}, [SECOND] = {.function = "leak_second"}},
};
static bool second;

static SITE void leak_first(void)
{
	OPAQUE(malloc(100));
	truth_born(&truth, FIRST, 100);
}

static SITE void leak_second(void)
{
	OPAQUE(malloc(64));
	truth_born(&truth, SECOND, 64);
}

static void go(void)
{
	for (int i = 0; i < (second ? 4 : 10); i++) {
		if (second)
			leak_second();
		else
			leak_first();
	}
}

static void replace(void)
{
	char *const arguments[] = {(char *)"execer", (char *)"second", NULL};

	execv("/proc/self/exe", arguments);
	_exit(115);
}

static void *replace_by_thread(void *context)
{
	(void)context;
	replace();
	return NULL;
}

static void exec_thread(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, replace_by_thread, NULL))
		_exit(116);
	pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
	static const struct command commands[] = {
		{.name = "go", .run = go},
		{.name = "exec", .run = replace, .silent = true},
		{.name = "exec_thread", .run = exec_thread, .silent = true},
	};

	second = argc > 1 && strcmp(argv[1], "second") == 0;
	return workload_serve(commands, ARRAY_SIZE(commands), &truth);
}
