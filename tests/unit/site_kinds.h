/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Seeded sites that allocate and free in eighteen patterns, block by block, so that bytes, counts,
 * frees and the age of the oldest block are consistent as in a real program.
 */
#ifndef LEAKMON_TESTS_SITE_KINDS_H
#define LEAKMON_TESTS_SITE_KINDS_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "report/analyze/trend.h"
#include "report/snapshot.h"

enum site_behaviour {
	LEAK_STEADY,
	LEAK_SLOW,	/* below the noise of a working set */
	LEAK_PARTIAL,	/* one block in a hundred is never freed */
	LEAK_LUMPS,	/* nothing for a while, then many at once */
	LEAK_BATCHES,	/* a batch job that forgets a few each time */
	STEP,		/* one jump, kept */
	START_UP,	/* all at the start */
	WARM_UP,	/* linear until full */
	WARM_UP_SLOWER, /* exponential approach */
	CACHE,		/* linear until full, then every new block evicts the oldest */
	WORKING_SET,	/* a fixed number of short-lived blocks */
	SAWTOOTH,	/* filled, emptied at once */
	BATCHES,	/* works for a part of its period */
	NOISE,
	SPIKE, /* up once and down again */
	BURST, /* a crowd comes, stays for a while and leaves */
	SHRINK,
	RISING_TRAFFIC, /* blocks with a fixed lifetime, at a rising rate */
	BEHAVIOURS,
};

/* Bits of enum trend_verdict that are right for a behaviour. */
#define RIGHT(verdict) (1u << TREND_##verdict)

static const struct {
	const char *name;
	unsigned right;
	bool leaks;
} behaviours[BEHAVIOURS] = {
	[LEAK_STEADY] = {"leak", RIGHT(LEAKING), true},
	[LEAK_SLOW] = {"leak, slow, noisy", RIGHT(LEAKING) | RIGHT(GROWING), true},
	[LEAK_PARTIAL] = {"leak, 1 of 100", RIGHT(LEAKING), true},
	[LEAK_LUMPS] = {"leak in lumps", RIGHT(LEAKING) | RIGHT(GROWING), true},
	[LEAK_BATCHES] = {"leak under batches", RIGHT(LEAKING) | RIGHT(GROWING), true},
	[STEP] = {"step", RIGHT(ONE_OFF), false},
	[START_UP] = {"start-up", RIGHT(STEADY), false},
	[WARM_UP] = {"warm-up", RIGHT(PLATEAU), false},
	[WARM_UP_SLOWER] = {"warm-up, slowing", RIGHT(PLATEAU), false},
	[CACHE] = {"cache, turning over", RIGHT(PLATEAU) | RIGHT(CHURNING), false},
	[WORKING_SET] = {"working set", RIGHT(CHURNING), false},
	[SAWTOOTH] = {"sawtooth", RIGHT(CHURNING), false},
	[BATCHES] = {"batches", RIGHT(CHURNING), false},
	[NOISE] = {"noise", RIGHT(CHURNING) | RIGHT(STEADY), false},
	[SPIKE] = {"spike", RIGHT(CHURNING) | RIGHT(STEADY) | RIGHT(ONE_OFF), false},
	[BURST] = {"burst", RIGHT(CHURNING) | RIGHT(STEADY) | RIGHT(PLATEAU), false},
	[SHRINK] = {"shrinking", RIGHT(STEADY) | RIGHT(CHURNING), false},
	[RISING_TRAFFIC] = {"rising traffic", RIGHT(CHURNING) | RIGHT(GROWING), false},
};

/* splitmix64 (Sebastiano Vigna, public domain). */
static inline uint64_t kinds_random(uint64_t *state)
{
	uint64_t mixed = *state += 0x9e3779b97f4a7c15u;

	mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9u;
	mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebu;
	return mixed ^ mixed >> 31;
}

/* Outstanding allocations of one tick. */
#define SITE_TICKS_MAX 4096
struct simulated_site {
	enum site_behaviour behaviour;
	uint64_t random, size, rate, period, moment, limit;
	uint64_t allocated, freed;
	uint32_t held[SITE_TICKS_MAX]; /* by tick, modulo */
	uint64_t tick;
};

static inline void simulated_init(struct simulated_site *site, enum site_behaviour behaviour,
				  uint64_t seed)
{
	memset(site, 0, sizeof(*site));
	site->behaviour = behaviour;
	site->random = seed * 1000003 + behaviour;
	site->size = 16 + kinds_random(&site->random) % 2000;
	site->rate = 1 + kinds_random(&site->random) % 50;
	site->period = 8 + kinds_random(&site->random) % 12;
	site->moment = 40 + kinds_random(&site->random) % 40;
	site->limit = 200 + kinds_random(&site->random) % 2000;
}

static inline uint64_t simulated_live(const struct simulated_site *site)
{
	return site->allocated - site->freed;
}

static inline void simulated_allocate(struct simulated_site *site, uint64_t count)
{
	site->held[site->tick % SITE_TICKS_MAX] += (uint32_t)count;
	site->allocated += count;
}

/* `count` blocks: the oldest ones first, or the latest. Blocks older than all ticks stay. */
static inline void simulated_free(struct simulated_site *site, uint64_t count, bool oldest)
{
	uint64_t ticks = site->tick < SITE_TICKS_MAX ? site->tick + 1 : SITE_TICKS_MAX;

	for (uint64_t i = 0; i < ticks && count; i++) {
		uint64_t at = oldest ? site->tick + 1 - ticks + i : site->tick - i;
		uint32_t *held = &site->held[at % SITE_TICKS_MAX];
		uint64_t taken = *held < count ? *held : count;

		*held -= (uint32_t)taken;
		site->freed += taken;
		count -= taken;
	}
}

static inline void simulated_target(struct simulated_site *site, uint64_t live)
{
	uint64_t now = simulated_live(site);

	if (live > now)
		simulated_allocate(site, live - now);
	else
		simulated_free(site, now - live, true);
}

static inline void simulated_act(struct simulated_site *site)
{
	uint64_t t = site->tick, rate = site->rate, noise = kinds_random(&site->random);
	uint64_t phase = t % site->period;

	switch (site->behaviour) {
	case LEAK_STEADY:
		simulated_allocate(site, rate);
		break;
	case LEAK_SLOW:
		/* A working set of 40 +- 40, which varies, on top of the lasting blocks. */
		simulated_free(site, simulated_live(site) - (t ? t - 1 : 0), false);
		simulated_allocate(site, 1 + noise % 80);
		break;
	case LEAK_PARTIAL:
		simulated_allocate(site, 100 * rate);
		simulated_free(site, 99 * rate, false);
		break;
	case LEAK_LUMPS:
		if (!phase)
			simulated_allocate(site, rate * site->period);
		break;
	case LEAK_BATCHES:
		if (phase)
			simulated_allocate(site, rate * 10);
		else
			simulated_free(site, rate * 10 * (site->period - 1) - rate, false);
		break;
	case STEP:
		if (!t)
			simulated_allocate(site, site->limit / 10);
		if (t == site->moment)
			simulated_allocate(site, site->limit);
		break;
	case START_UP:
		if (!t)
			simulated_allocate(site, site->limit);
		break;
	case WARM_UP:
		if (t < site->moment)
			simulated_allocate(site, rate);
		break;
	case WARM_UP_SLOWER:
		simulated_target(site,
				 (uint64_t)((double)site->limit *
					    (1 - exp(-(double)t * 5 / (double)site->moment))));
		break;
	case CACHE:
		simulated_allocate(site, rate);
		if (t >= site->moment)
			simulated_free(site, rate, true);
		break;
	case WORKING_SET:
		simulated_free(site, simulated_live(site), true);
		simulated_allocate(site, site->limit);
		break;
	case SAWTOOTH:
		if (!phase)
			simulated_free(site, simulated_live(site), true);
		simulated_allocate(site, rate);
		break;
	case BATCHES:
		simulated_target(site, phase < site->period / 2 ? rate * (phase + 1) * 4 : 0);
		break;
	case NOISE:
		simulated_target(site, site->limit + noise % (site->limit / 4));
		break;
	case SPIKE:
		simulated_target(site,
				 site->limit / 10 + (t == site->moment || t == site->moment + 1
							     ? site->limit
							     : 0));
		break;
	case BURST:
		simulated_target(site,
				 site->limit / 10 + (t >= site->moment && t < site->moment + 20
							     ? site->limit + noise % 50
							     : noise % 10));
		break;
	case SHRINK:
		simulated_target(site, t < 400 ? site->limit * (400 - t) / 100 : 0);
		break;
	case RISING_TRAFFIC:
		simulated_allocate(site, rate + t * rate / 20);
		if (t >= 10)
			simulated_free(site, rate + (t - 10) * rate / 20, true);
		break;
	default:
		break;
	}
}

/* One tick of tick_ns: acts, and fills the numbers of `numbers`. */
static inline void simulated_step(struct simulated_site *site, uint64_t tick_ns,
				  struct site *numbers)
{
	uint64_t ticks, oldest = 0;

	site->held[site->tick % SITE_TICKS_MAX] = 0;
	simulated_act(site);
	numbers->count = simulated_live(site);
	numbers->bytes = numbers->count * site->size;
	numbers->allocated_count = site->allocated;
	numbers->allocated_bytes = site->allocated * site->size;
	numbers->freed_count = site->freed;
	numbers->freed_bytes = site->freed * site->size;
	ticks = site->tick < SITE_TICKS_MAX ? site->tick + 1 : SITE_TICKS_MAX;
	memset(numbers->ages, 0, sizeof(numbers->ages));
	for (uint64_t i = 0; i < ticks; i++) {
		uint32_t held = site->held[(site->tick - i) % SITE_TICKS_MAX];

		/* Half a tick after it was allocated. */
		for (size_t age = 0; held && age < SITE_AGES_MAX_; age++) {
			if (i * tick_ns + tick_ns / 2 >= site_age_limits_ns[age])
				numbers->ages[age] += held;
		}
		if (held)
			oldest = i * tick_ns + tick_ns / 2;
	}
	numbers->oldest_ns = oldest;
	site->tick++;
}

#endif
