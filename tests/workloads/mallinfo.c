// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * mallinfo: fills malloc in one way after the other, and prints glibc's own statistics while it is
 * idle. `truth` answers with mallinfo2's fields and the kernel's figures for the heap.
 *
 *   mixed    blocks of many sizes, every third freed: bins, and a top
 *   fast     freed blocks beyond the thread caches: fast bins
 *   cache    a full tcache, and nothing else free
 *   arenas   64 threads, each with an arena of its own, which live on
 *   mapped   blocks above the mmap threshold
 *   drop     frees all but every 1000th block of `mixed`
 *   trim     malloc_trim(0)
 */
#include "mixed_blocks.h"

#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>

#define THREADS 64
#define MAPPED 5
#define FAST_BLOCKS 400

static void *mapped[MAPPED], *fast[FAST_BLOCKS], *cached[64][7];
static pthread_barrier_t filled;
static const struct mix mix = {.count = 30000, .smallest = 24, .sizes = 97, .step = 40};

static void mixed(void)
{
	mixed_make(&mix);
}

static void drop(void)
{
	mixed_drop(&mix);
}

/* The first seven of a size go into the cache. */
static void fill_fast(void)
{
	for (size_t i = 0; i < FAST_BLOCKS; i++)
		fast[i] = make(24 + i % 5 * 16);
	for (size_t i = 0; i < FAST_BLOCKS; i++)
		free(fast[i]);
}

static void fill_cache(void)
{
	for (size_t i = 0; i < 7 * 64; i++)
		cached[i % 64][i / 64] = make(i % 64 * 16 + 24);
	for (size_t i = 0; i < 7 * 64; i++)
		free(cached[i % 64][i / 64]);
}

static void *run(void *context)
{
	void *own[200];

	(void)context;
	for (size_t i = 0; i < ARRAY_SIZE(own); i++)
		own[i] = make(100 + i * 40);
	for (size_t i = 0; i < ARRAY_SIZE(own); i += 2)
		free(own[i]);
	pthread_barrier_wait(&filled);
	for (;;)
		pause();
	return NULL;
}

/* Their arenas are as many: 8 per CPU would be the limit. */
static void arenas(void)
{
	mallopt(M_ARENA_MAX, THREADS + 1);
	pthread_barrier_init(&filled, NULL, THREADS + 1);
	for (size_t i = 0; i < THREADS; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, run, NULL))
			abort();
	}
	pthread_barrier_wait(&filled);
}

static void map(void)
{
	for (size_t i = 0; i < MAPPED; i++)
		mapped[i] = make((256 << 10) + i * 100000);
}

static void trim(void)
{
	malloc_trim(0);
}

/* Returns its anonymous pages; without stdio, which would allocate. */
static unsigned long anonymous(void)
{
	static char text[4096];
	int fd = open("/proc/self/smaps_rollup", O_RDONLY);
	char *at;
	ssize_t got;

	got = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[got > 0 ? got : 0] = '\0';
	at = strstr(text, "\nAnonymous:");
	return at ? strtoul(at + 11, NULL, 10) * 1024 : 0;
}

static void print_truth(void)
{
	struct mallinfo2 info = mallinfo2();

	say("{\"arena\":%zu,\"hblks\":%zu,\"hblkhd\":%zu,\"fsmblks\":%zu,\"uordblks\":%zu,"
	    "\"fordblks\":%zu,\"keepcost\":%zu,\"anonymous\":%lu}\n",
	    info.arena, info.hblks, info.hblkhd, info.fsmblks, info.uordblks, info.fordblks,
	    info.keepcost, anonymous());
}

int main(void)
{
	static const struct command commands[] = {
		{.name = "mixed", .run = mixed},
		{.name = "fast", .run = fill_fast},
		{.name = "cache", .run = fill_cache},
		{.name = "arenas", .run = arenas},
		{.name = "mapped", .run = map},
		{.name = "drop", .run = drop},
		{.name = "trim", .run = trim},
		{.name = "truth", .run = print_truth, .silent = true},
	};
	static const struct truth truth = {0};

	return workload_serve(commands, ARRAY_SIZE(commands), &truth);
}
