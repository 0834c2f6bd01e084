/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unique contents, for workloads with blocks that are identified by their contents. */
#ifndef LEAKMON_NOISE_H
#define LEAKMON_NOISE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

static inline uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* G. Marsaglia, "Xorshift RNGs" (2003) */
static inline uint64_t next_random(void)
{
	static uint64_t state = 88172645463325252u;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static inline void fill(void *block, size_t size)
{
	for (size_t i = 0; i + 8 <= size; i += 8) {
		uint64_t word = next_random();

		memcpy((char *)block + i, &word, 8);
	}
}

#endif
