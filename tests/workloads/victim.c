// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Takes memory until the kernel kills it, and keeps the account of it where others can read it
 * afterwards: a file of 64-bit counts (argument 1), mapped shared. `go` never answers; `stroll` is
 * the same at 3 MB a second at most.
 *
 * leak() keeps every block; cache() keeps 64 of them; churn() keeps none. Blocks are counted before
 * they are written to: no page that is missing comes between a block and its count, but for those
 * that malloc itself touches, and then it has not returned yet.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "workload.h"

#define BLOCK 5000
#define CACHED 64
#define CACHE_BLOCK 3000

static volatile uint64_t *leaked;
static void *cached[CACHED];

static SITE void leak(void)
{
	char *block = OPAQUE(malloc(BLOCK));

	leaked[0]++;
	memset(block, 1, BLOCK);
}

static SITE void cache(unsigned round)
{
	void **slot = &cached[round % CACHED];

	free(*slot);
	*slot = OPAQUE(malloc(CACHE_BLOCK));
	memset(*slot, 2, CACHE_BLOCK);
}

static SITE void churn(void)
{
	free(OPAQUE(malloc(700)));
}

static void go(void)
{
	for (unsigned round = 0;; round++) {
		leak();
		cache(round);
		churn();
	}
}

static void stroll(void)
{
	for (unsigned round = 0;; round++) {
		leak();
		cache(round);
		churn();
		if (round % 2)
			usleep(3000);
	}
}

static void *wait_for_ever(void *argument)
{
	(void)argument;
	pause();
	return NULL;
}

static void start_threads(uint64_t count)
{
	pthread_attr_t small;
	pthread_t thread;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 64 << 10);
	while (count--)
		pthread_create(&thread, &small, wait_for_ever, NULL);
}

int main(int argc, char **argv)
{
	static const struct command commands[] = {{.name = "go", .run = go},
						  {.name = "stroll", .run = stroll}};
	static struct truth truth;
	int fd = open(argc > 1 ? argv[1] : "", O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0 || ftruncate(fd, sizeof(*leaked)))
		return 1;
	leaked = mmap(NULL, sizeof(*leaked), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (leaked == MAP_FAILED)
		return 1;
	leaked[0] = 0;
	start_threads(argument(argc, argv, 2, 0));
	return workload_serve(commands, ARRAY_SIZE(commands), &truth);
}
