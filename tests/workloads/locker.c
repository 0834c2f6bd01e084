// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * locker: waits for ever for a page of its own program, with its memory locked, if its file system
 * fails first and is silent then (silent_fs.c). Whoever reads its mappings waits, too.
 *
 *   wait  makes a thread that touches the page, and one that wants to map memory
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/mman.h>

#include "workload.h"

#define FAR_BYTES (8u << 20)

/* In the program's file, and not read when it starts. */
static const char far_away[FAR_BYTES] = {1};

static void *touch(void *unused)
{
	*(volatile const char *)&far_away[FAR_BYTES / 2];
	return unused;
}

/* A writer that waits keeps readers out. */
static void *map(void *unused)
{
	usleep(300000);
	mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return unused;
}

static void wait_there(void)
{
	static pthread_t threads[2];

	pthread_create(&threads[0], NULL, touch, NULL);
	pthread_create(&threads[1], NULL, map, NULL);
	usleep(600000);
}

int main(void)
{
	static const struct command commands[] = {{.name = "wait", .run = wait_there}};
	static const struct truth nothing = {0};

	return workload_serve(commands, ARRAY_SIZE(commands), &nothing);
}
