// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * restless: a heap that never stops changing. It holds 1,000 blocks of 1,000 bytes, prints "ready
 * PID", and grows its heap by 1 MB per millisecond until SIGTERM, so that the arena outgrows its
 * mapping before both are read: its large data is searched for arenas before libc's is.
 */
#include "workload.h"

#include <malloc.h>
#include <signal.h>

#define HELD 1000
#define HELD_BYTES 1000
#define STEPS 4096
#define STEP_BYTES 60000
#define TABLE_WORDS (2 << 20)

static volatile sig_atomic_t done;
static uint64_t table[TABLE_WORDS];

static void on_term(int signal)
{
	(void)signal;
	done = 1;
}

static void grow_and_trim(void)
{
	static void *steps[STEPS];

	for (size_t i = 0; i < STEPS && !done; i++) {
		steps[i] = OPAQUE(malloc(STEP_BYTES));
		usleep(50);
	}
	for (size_t i = STEPS; i-- > 0;) {
		free(steps[i]);
		steps[i] = NULL;
	}
}

int main(void)
{
	static void *held[HELD];

	signal(SIGTERM, on_term);
	mallopt(M_TRIM_THRESHOLD, 4096);
	mallopt(M_TOP_PAD, 0);
	mallopt(M_MMAP_THRESHOLD, 1 << 20);
	for (size_t i = 0; i < TABLE_WORDS; i++)
		table[i] = i;
	for (size_t i = 0; i < HELD; i++)
		held[i] = OPAQUE(malloc(HELD_BYTES));
	printf("ready %d\n", getpid());
	fflush(stdout);
	while (!done)
		grow_and_trim();
	return held[0] && table[1] ? 0 : 1;
}
