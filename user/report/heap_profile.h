/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The heap profile that a process keeps of itself: plain data, made by the sources in
 * heap/runtime/own_profile.h. A Go program's is as of a garbage collection, others are as of the
 * reading. Every allocated byte had the same chance to be sampled, so figures are estimates with
 * limits; at a rate of 1 they are exact. All strings are untrusted, and owned by the profile.
 */
#ifndef LEAKMON_REPORT_HEAP_PROFILE_H
#define LEAKMON_REPORT_HEAP_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/poisson.h"
#include "base/vec.h"
#include "process/symbol/intern.h"
#include "process/symbol/symbolizer.h"

struct heap_sampled {
	uint64_t objects, bytes; /* sampled */
};

/*
 * The amount that a site's samples represent. The variance of one sample of weight w and size S is
 * w(w - S): w is 1/p times S, and p the chance that a block of that size was sampled.
 */
struct heap_weighed {
	double objects, bytes, variance; /* of bytes */
	double largest;			 /* upper bound of the bytes that one sample represents */
};

/* Objects allocated by one call stack. */
struct heap_profile_site {
	uint64_t id;   /* of its stack and size; the same on every run of the program */
	uint64_t size; /* of an object; 0: sizes differ, and `weighed` has the estimate */
	struct heap_sampled allocated, freed; /* since the program began */
	struct heap_weighed weighed;	      /* in use, as weighed by the source */
	uint64_t *addresses;   /* return addresses without frames yet, innermost first; owned */
	size_t depth;	       /* 0: none */
	double objects, bytes; /* in use, estimated */
	struct bounds limits;  /* of bytes, 95 % */
	struct frames frames;  /* innermost first; owned */
	/* Growth since the first reading, for later readings. */
	double growth;
	struct bounds growth_limits;
};

struct heap_profile {
	const char *source;    /* the sampler: "Go", "jemalloc"; static */
	const char *lacks;     /* missing from all profiles of this source; static; NULL: nothing */
	char version[24];      /* of the source; "": unknown */
	const char *why;       /* why it is unknown; static; NULL: known */
	uint64_t rate;	       /* average bytes per sample; 0: unknown, nothing is scaled */
	bool collected;	       /* else before the first collection, with all samples */
	uint64_t readings;     /* before this one */
	uint64_t span_ns;      /* since the first reading */
	uint64_t time_ns;      /* CLOCK_MONOTONIC */
	uint64_t collected_ns; /* since the collection; 0: unknown */
	uint64_t collections;
	double objects, bytes;
	struct bounds limits;
	VEC(struct heap_profile_site) sites; /* most bytes first */
	struct intern strings;
};

struct figures;

void heap_profile_free(struct heap_profile *profile);

/* Figures in recordings; estimates are recomputed from these. */
extern const struct figures heap_profile_figures, heap_profile_site_figures;

/* Scales the samples, sums them up and sorts the sites. */
void heap_profile_estimate(struct heap_profile *profile);

/* Earlier readings of one program, for comparison. Zero-initialise. */
struct heap_profile_history {
	uint64_t first_ns, readings;
	VEC(struct heap_profile_past) sites;
	struct hash index; /* id -> index in sites, plus 1 */
};

struct heap_profile_past {
	uint64_t id;
	struct heap_sampled allocated, freed; /* at the first reading */
	struct heap_weighed weighed;	      /* at the first reading */
};

/* Fills in the growth, and remembers the first reading. Returns 0 or -ENOMEM. */
int heap_profile_history_add(struct heap_profile_history *history, struct heap_profile *profile);
void heap_profile_history_free(struct heap_profile_history *history);

#endif
