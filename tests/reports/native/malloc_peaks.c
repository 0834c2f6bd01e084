// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * No leak: memory stays with malloc. `peaks`: ever larger batches, all freed but the
 * highest block. `threads`: threads come and go, with arenas of their own. `pool`: blocks wait in a
 * list for reuse, at a plateau. `realloc`: one buffer that changes its size up and down.
 *
 * kind: memory that the allocator keeps
 * healthy malloc-peaks: peaks
 * healthy malloc-arenas: threads
 * healthy block-pool: pool
 *   warm: 15
 * healthy realloc-up-and-down: realloc
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BATCH 20000

static void *blocks[BATCH], *pool[2000], *highest;
static unsigned peak = 1000, pooled, random_state = 1;

static unsigned random_below(unsigned limit)
{
	random_state = random_state * 1103515245 + 12345;
	return (random_state >> 16) % limit;
}

static void peak_step(void)
{
	for (unsigned i = 0; i < peak; i++)
		memset(blocks[i] = malloc(2000), 'p', 2000);
	free(highest);
	highest = blocks[peak - 1];
	for (unsigned i = 0; i < peak - 1; i++)
		free(blocks[i]);
	if (peak < BATCH)
		peak += 10;
}

static void *thread_run(void *unused)
{
	void *own[300];

	for (unsigned i = 0; i < 300; i++)
		memset(own[i] = malloc(1500), 't', 1500);
	usleep(20000);
	for (unsigned i = 0; i < 300; i++)
		free(own[i]);
	return unused;
}

static void threads_step(void)
{
	pthread_t threads[12];
	unsigned count = 1 + random_below(12);

	for (unsigned i = 0; i < count; i++)
		pthread_create(&threads[i], NULL, thread_run, NULL);
	for (unsigned i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
}

static void pool_step(void)
{
	for (unsigned i = 0; i < 500 && pooled; i++)
		memset(pool[random_below(pooled)], 'o', 4000);
	while (pooled < 2000)
		pool[pooled++] = calloc(1, 4000);
	for (; pooled > 1000; pooled--)
		free(pool[pooled - 1]);
}

static void realloc_step(void)
{
	static void *buffer;
	size_t size = 1 + random_below(4 << 20);

	buffer = realloc(buffer, size);
	memset(buffer, 'r', size);
}

static const struct {
	const char *name;
	void (*step)(void);
} modes[] = {
	{"peaks", peak_step},
	{"threads", threads_step},
	{"pool", pool_step},
	{"realloc", realloc_step},
};

int main(int count, char **arguments)
{
	for (size_t i = 0; count > 1 && i < sizeof(modes) / sizeof(*modes); i++)
		while (!strcmp(modes[i].name, arguments[1])) {
			modes[i].step();
			usleep(100000);
		}
	return 2;
}
