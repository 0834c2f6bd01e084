/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Seeded series as /proc shows them: values in KiB, whole pages, never below zero. */
#ifndef LEAKMON_TESTS_SERIES_FIXTURE_H
#define LEAKMON_TESTS_SERIES_FIXTURE_H

#include <math.h>
#include <stdint.h>

/* splitmix64 (Sebastiano Vigna, public domain): the same numbers on every machine. */
struct random {
	uint64_t state;
};

static inline double random_unit(struct random *random)
{
	uint64_t mixed = random->state += 0x9e3779b97f4a7c15u;

	mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9u;
	mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebu;
	return (double)((mixed ^ mixed >> 31) >> 11) / 9007199254740992.0;
}

static inline double random_between(struct random *random, double low, double high)
{
	return low + (high - low) * random_unit(random);
}

/* Irwin and Hall: twelve uniform ones, less six, are normal enough. */
static inline double random_normal(struct random *random)
{
	double sum = -6;

	for (int i = 0; i < 12; i++)
		sum += random_unit(random);
	return sum;
}

/* One process' memory over time. The meaning of a field depends on the kind. */
struct course {
	double level_kib;     /* at time 0 */
	double amplitude_kib; /* amount without noise: cache, batch, step, leak per second */
	double time_s;	      /* time constant, period or point in time */
	double noise_kib;     /* standard deviation */
	double wander_kib;    /* state of a noise that remembers */
	double high_kib;      /* high-water mark of an allocator that returns nothing */
	struct random random;
};

enum course_kind {
	COURSE_IDLE,	    /* not a page moves */
	COURSE_NOISE,	    /* independent ups and downs about a level */
	COURSE_WANDER,	    /* autocorrelated noise without a trend */
	COURSE_LEAK,	    /* linear, in the steps of an allocator's arena */
	COURSE_LEAK_NOISE,  /* linear, below noise of similar size */
	COURSE_LEAK_BURSTS, /* the same, in one burst per period */
	COURSE_LEAK_GC,	    /* linear below a collector's sawtooth */
	COURSE_CACHE,	    /* exponential approach to a plateau */
	COURSE_CACHE_LINE,  /* linear until full, then level */
	COURSE_SAWTOOTH,    /* a collector: fills, is emptied */
	COURSE_BATCH,	    /* works for a part of its period, then frees it all */
	COURSE_STEP,	    /* one jump upwards */
	COURSE_SPIKE,	    /* up once and down again */
	COURSE_SHRINK,	    /* linear downwards */
	COURSE_HYSTERESIS,  /* batches under an allocator that keeps its high-water mark */
	COURSE_MAX_,
};

static const char *const course_names[COURSE_MAX_] = {
	"idle",	       "noise",	  "wander", "leak",	  "leak-noise",
	"leak-bursts", "leak-gc", "cache",  "cache-line", "sawtooth",
	"batch",       "step",	  "spike",  "shrink",	  "hysteresis",
};

static inline double course_phase(const struct course *course, double time_s)
{
	return fmod(time_s, course->time_s) / course->time_s;
}

static inline double course_batch(const struct course *course, double time_s)
{
	double phase = course_phase(course, time_s);

	return phase < 0.6 ? course->amplitude_kib * phase / 0.6 : 0;
}

static inline double course_moves(struct course *course, enum course_kind kind, double t)
{
	double a = course->amplitude_kib, noise = course->noise_kib;

	switch (kind) {
	case COURSE_NOISE:
		return noise * random_normal(&course->random);
	case COURSE_WANDER:
		course->wander_kib =
			0.9 * course->wander_kib + 0.43 * noise * random_normal(&course->random);
		return course->wander_kib;
	case COURSE_LEAK:
		return floor(a * t / 132) * 132; /* glibc grows its heap by 132 KiB */
	case COURSE_LEAK_NOISE:
		return a * t + noise * random_normal(&course->random);
	case COURSE_LEAK_BURSTS:
		return floor(t / course->time_s) * course->time_s * a;
	case COURSE_LEAK_GC:
		return a * t + 60 * a * course_phase(course, t);
	case COURSE_CACHE:
		return a * (1 - exp(-t / course->time_s)) + noise * random_normal(&course->random);
	case COURSE_CACHE_LINE:
		return a * fmin(t / course->time_s, 1) + noise * random_normal(&course->random);
	case COURSE_SAWTOOTH:
		return a * course_phase(course, t) + noise * random_normal(&course->random);
	case COURSE_BATCH:
		return course_batch(course, t);
	case COURSE_STEP:
		return (t >= course->time_s ? a : 0) + noise * random_normal(&course->random);
	case COURSE_SPIKE:
		return t >= course->time_s && t < course->time_s + 30 ? a : 0;
	case COURSE_SHRINK:
		return -a * t + noise * random_normal(&course->random);
	case COURSE_HYSTERESIS:
		course->high_kib =
			fmax(course->high_kib,
			     course_batch(course, t) * random_between(&course->random, 0.9, 1));
		return course->high_kib;
	default:
		return 0;
	}
}

/* Call it with ascending times: some kinds remember. */
static inline double course_kib(struct course *course, enum course_kind kind, double time_s)
{
	double kib = course->level_kib + course_moves(course, kind, time_s);

	return 4 * floor(fmax(kib, 0) / 4);
}

#endif
