// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A program that leaks little and allocates much: RATE blocks a second of 100 bytes are never freed
 * (`drip`), among hundreds of thousands that live briefly (`churn`) or for a while (`hold`: a table
 * with entries replaced at random, `touch`: one that stays and is written to).
 *
 *   dripper RATE [PAUSE_US [CONTENTS [WORK]]]
 *
 * CONTENTS `zeros`: leaked blocks contain zeros only. PAUSE_US: sleep in each round of some 320
 * allocations. WORK: thousands of random numbers drawn per round, as work: without, it only
 * allocates, a million times a second and more.
 *
 * It prints "ready PID", and runs until SIGTERM; then it prints the numbers of leaked blocks,
 * of allocations, of rounds (each of which keeps one block), and the elapsed nanoseconds.
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "noise.h"

#define DRIP_BYTES 100
#define HELD 2000
#define TOUCHED 200
#define CHURNED 16
#define CHURNS 20 /* in each round, in which one block is held, too */

static volatile sig_atomic_t done;
static void *volatile last;

__attribute__((noinline)) static void drip(int zeros)
{
	char *block = malloc(DRIP_BYTES);

	if (zeros)
		memset(block, 0, DRIP_BYTES);
	else
		fill(block, DRIP_BYTES);
	last = block;
}

__attribute__((noinline)) static void churn(void)
{
	char *blocks[CHURNED];

	for (int i = 0; i < CHURNED; i++) {
		size_t size = 80 + next_random() % 48;

		blocks[i] = malloc(size);
		fill(blocks[i], size);
	}
	for (int i = 0; i < CHURNED; i++)
		free(blocks[i]);
}

__attribute__((noinline)) static void hold(char **table)
{
	size_t i = next_random() % HELD;

	free(table[i]);
	table[i] = malloc(DRIP_BYTES);
	fill(table[i], DRIP_BYTES);
}

__attribute__((noinline)) static void touch(char **table)
{
	size_t i = next_random() % TOUCHED;

	if (!table[i])
		table[i] = malloc(DRIP_BYTES);
	fill(table[i], DRIP_BYTES);
}

__attribute__((noinline)) static uint64_t work(uint64_t thousands)
{
	uint64_t sum = 0;

	for (uint64_t i = 0; i < thousands * 1000; i++)
		sum += next_random();
	return sum;
}

static void on_term(int signal)
{
	(void)signal;
	done = 1;
}

int main(int argc, char **argv)
{
	uint64_t rate = argc > 1 ? strtoull(argv[1], NULL, 10) : 10, begin, now, dripped = 0,
		 rounds = 0, thousands = argc > 4 ? strtoull(argv[4], NULL, 10) : 0;
	volatile uint64_t worked = 0;
	unsigned pause_us = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 0;
	int zeros = argc > 3 && !strcmp(argv[3], "zeros");
	char **held = calloc(HELD, sizeof(*held)), **touched = calloc(TOUCHED, sizeof(*touched));

	signal(SIGTERM, on_term);
	/* Both tables are as good as full when it begins. */
	for (int i = 0; i < HELD * 16; i++)
		hold(held);
	for (int i = 0; i < TOUCHED * 16; i++)
		touch(touched);
	printf("ready %d\n", getpid());
	fflush(stdout);
	begin = now = now_ns();
	while (!done) {
		for (int i = 0; i < CHURNS; i++)
			churn();
		rounds++;
		hold(held);
		touch(touched);
		worked += work(thousands);
		if (pause_us)
			usleep(pause_us);
		now = now_ns();
		while (dripped < (now - begin) * rate / 1000000000u) {
			drip(zeros);
			dripped++;
		}
	}
	printf("{\"dripped\":%llu,\"allocated\":%llu,\"rounds\":%llu,\"ns\":%llu}\n",
	       (unsigned long long)dripped,
	       (unsigned long long)(rounds * (CHURNS * CHURNED + 1) + dripped),
	       (unsigned long long)rounds, (unsigned long long)(now - begin));
	return 0;
}
