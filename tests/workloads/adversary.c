// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Deceptions for a check of blocks from outside: a site for each, some of which grow.
 *
 *   grow_mapped     blocks of 300 KB, mapped by malloc, that stay
 *   grow_in_thread  blocks of threads that end, and stay
 *   grow_touched    blocks that stay, and are written to all the time
 *   grow_equal      blocks that stay; all bytes of all of them are equal
 *   same_place      freed, and soon allocated again by the same site, with other contents
 *   first_of_two, second_of_two    alternating at the same places
 *   zeros           freed after a while; contents are zeros
 *   mapped          of 300 KB, unmapped again
 *   quiet           a size class that is unused after SIGUSR1
 *   in_child        of a forked child, which ends
 *
 * It prints "ready PID" and runs until SIGTERM; then it prints the number of blocks of each growing
 * site, and the elapsed time: {"ns":n,"grown":n}.
 */
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "noise.h"

#define PLACES 64
#define BIG 300000
#define NOINLINE __attribute__((noinline))

static volatile sig_atomic_t done, is_quiet;
static void *volatile last;

/* The rest is left as it is: large blocks would cost time. */
static void fill_head(void *block, size_t size)
{
	fill(block, size < 64 ? size : 64);
}

NOINLINE static void *grow_mapped(void)
{
	void *block = malloc(BIG);

	fill_head(block, BIG);
	return block;
}

NOINLINE static void *grow_in_thread(void *unused)
{
	void *block = malloc(88);

	(void)unused;
	fill_head(block, 88);
	return block;
}

NOINLINE static void *grow_touched(void)
{
	void *block = malloc(136);

	fill_head(block, 136);
	return block;
}

NOINLINE static void *grow_equal(void)
{
	void *block = malloc(120);

	memset(block, 0x55, 120);
	return block;
}

NOINLINE static void *same_place(void)
{
	void *block = malloc(200);

	fill_head(block, 200);
	return block;
}

NOINLINE static void *first_of_two(void)
{
	void *block = malloc(264);

	fill_head(block, 264);
	return block;
}

NOINLINE static void *second_of_two(void)
{
	void *block = malloc(264);

	fill_head(block, 264);
	return block;
}

NOINLINE static void *zeros(void)
{
	void *volatile block = calloc(1, 312);

	return block;
}

NOINLINE static void *mapped(void)
{
	void *block = malloc(BIG + 4096);

	fill_head(block, BIG);
	return block;
}

NOINLINE static void *quiet(void)
{
	void *block = malloc(1400);

	fill_head(block, 1400);
	return block;
}

NOINLINE static void *in_child(void)
{
	void *block = malloc(168);

	fill_head(block, 168);
	return block;
}

/* Each comes once more where one of them goes. */
static void turn(void **places, void *(*make)(void))
{
	size_t i = next_random() % PLACES;

	free(places[i]);
	places[i] = make();
}

static void fork_one(void)
{
	pid_t child = fork();

	if (!child) {
		for (int i = 0; i < 20; i++)
			last = in_child();
		_exit(0);
	}
	while (child > 0 && waitpid(child, NULL, 0) < 0)
		;
}

static void on_signal(int signal)
{
	if (signal == SIGTERM)
		done = 1;
	else
		is_quiet = 1;
}

/* The dying sites, one round. */
static void churn(void)
{
	static void *same[PLACES], *pair[PLACES], *zero[PLACES], *big[PLACES], *still[PLACES];

	for (int i = 0; i < 20; i++) {
		turn(same, same_place);
		turn(pair, i % 2 ? first_of_two : second_of_two);
		turn(zero, zeros);
	}
	turn(big, mapped);
	for (size_t i = 0; i < PLACES; i++) {
		free(still[i]);
		still[i] = is_quiet ? NULL : quiet();
	}
}

/* Blocks of each kind per second. */
#define RATE 100
#define MOST 100000

static void *touched[MOST];

static void grow(size_t i)
{
	pthread_t thread;

	last = grow_mapped();
	last = grow_equal();
	touched[i] = grow_touched();
	if (!pthread_create(&thread, NULL, grow_in_thread, NULL))
		pthread_join(thread, NULL);
}

int main(void)
{
	uint64_t begin, now, grown = 0, rounds = 0;

	/* Else glibc maps nothing of that size any more once one was freed. */
	mallopt(M_MMAP_THRESHOLD, 128 * 1024);
	signal(SIGTERM, on_signal);
	signal(SIGUSR1, on_signal);
	printf("ready %d\n", getpid());
	fflush(stdout);
	begin = now = now_ns();
	while (!done && grown < MOST) {
		churn();
		for (size_t i = 0; i < grown; i++)
			fill_head(touched[i], 8);
		for (now = now_ns(); grown < (now - begin) * RATE / 1000000000u; grown++)
			grow(grown);
		if (rounds++ % 256 == 0)
			fork_one();
		usleep(50);
	}
	printf("{\"ns\":%llu,\"grown\":%llu}\n", (unsigned long long)(now - begin),
	       (unsigned long long)grown);
	return 0;
}
