// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Bursts of allocations in an idle process, 2 to 8 % of a core, and ten lost blocks in each of
 * them: arguments are the microseconds of work and of sleep.
 *
 * kind: native blocks that are lost
 * leak bursts-20us: 20 1000
 *   part: native-blocks
 *   code: session_open
 * leak bursts-60us: 60 1000
 *   part: native-blocks
 *   code: session_open
 * leak bursts-1ms: 1000 18000
 *   part: native-blocks
 *   code: session_open
 * leak bursts-10ms: 10000 180000
 *   part: native-blocks
 *   code: session_open
 * healthy bursts-closed: 1000 18000 closed
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void *volatile last;

static double now_us(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

static void session_open(uint64_t number)
{
	uint64_t *session = malloc(700);

	memset(session, 0, 700);
	session[0] = number;
	last = session;
}

int main(int count, char **arguments)
{
	double work_us = count > 2 ? atof(arguments[1]) : 1000;
	unsigned sleep_us = count > 2 ? (unsigned)atoi(arguments[2]) : 18000;

	for (uint64_t round = 0;; round++) {
		double end = now_us() + work_us;

		for (int i = 0; i < 10; i++) {
			session_open(round * 10 + (uint64_t)i);
			if (count > 3)
				free(last);
		}
		while (now_us() < end)
			free(malloc(100));
		usleep(sleep_us);
	}
}
