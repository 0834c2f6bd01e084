/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A program's own sampler by OpenTelemetry's contract: a Poisson process over the allocated bytes,
 * and the probes that report samples, built with the system's sys/sdt.h. WITHOUT_FREE: it lacks
 * otel_memory:free. BY_HITS: weights of the contract until August 2026, SAMPLE_BYTES for each hit.
 */
#ifndef LEAKMON_WORKLOAD_SAMPLER_H
#define LEAKMON_WORKLOAD_SAMPLER_H

#define _SDT_HAS_SEMAPHORES 1
#include <sys/sdt.h>

#include <stddef.h>
#include <stdint.h>

#define SAMPLE_BYTES (512 << 10)

/* Raised by the kernel while a tool is attached. */
unsigned short otel_memory_alloc_semaphore __attribute__((section(".probes")));
#ifndef WITHOUT_FREE
unsigned short otel_memory_free_semaphore __attribute__((section(".probes")));
#endif

static uint64_t random_state = 1;
static double until_sample;

static uint64_t random_next(void)
{
	random_state ^= random_state >> 12;
	random_state ^= random_state << 25;
	random_state ^= random_state >> 27;
	return random_state * 0x2545F4914F6CDD1Dull;
}

/* For 0 < x: images of containers have no libm. */
static double natural_log(double x)
{
	int exponent = 0;
	double t, power, sum = 0;

	for (; x < 1; x *= 2)
		exponent--;
	t = (x - 1) / (x + 1);
	power = t;
	for (int i = 1; i < 41; i += 2, power *= t * t)
		sum += power / i;
	return 2 * sum + exponent * 0.693147180559945309;
}

static double exponential(void)
{
	double uniform = (double)((random_next() >> 11) + 1) / 9007199254740993.0;

	return -natural_log(uniform) * SAMPLE_BYTES;
}

static void sampler_start(uint64_t seed)
{
	random_state = seed * 0x9E3779B97F4A7C15ull + 1;
	until_sample = exponential();
}

/* How often the process hits these bytes. */
static inline uint64_t hits(size_t size)
{
	uint64_t count = 0;

	until_sample -= (double)size;
	while (until_sample <= 0) {
		count++;
		until_sample += exponential();
	}
	return count;
}

#ifdef BY_HITS
/* Returns the bytes that a sampled allocation represents, or 0 for an unsampled one. */
static inline uint64_t sample_weight(size_t size)
{
	return hits(size) * SAMPLE_BYTES;
}
#else
/* 1 - e^-x, for 0 < x */
static double chance_of(double x)
{
	double power = 1, sum = 0;
	int halved = 0;

	for (; x > 0.25; x /= 2)
		halved++;
	for (int i = 1; i < 14; i++) {
		power *= -x / i;
		sum -= power;
	}
	/* 1 - (1 - sum)^2 */
	for (; halved; halved--)
		sum *= 2 - sum;
	return sum;
}

/* Returns the bytes that a sampled allocation represents, or 0 for an unsampled one. */
static inline uint64_t sample_weight(size_t size)
{
	double chance = chance_of((double)size / SAMPLE_BYTES);

	return hits(size) ? (uint64_t)((double)size / chance + 0.5) : 0;
}
#endif

#endif
