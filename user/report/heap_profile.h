/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The heap profile that a process keeps of itself: plain data, made by the sources in
 * heap/runtime/own_profile.h. A Go program's is as of a garbage collection, others are as of the
 * reading. Every allocated byte had the same chance to be sampled, so figures are estimates with
 * limits; at a rate of 1 they are exact. All strings are untrusted, and the profile's own.
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
	uint64_t objects, bytes; /* that were sampled */
};

/* What the samples of a site stand for. The variance of one sample of weight w and size S is
 * w(w - S): w is 1/p times S, and p the chance that a block of that size was sampled. */
struct heap_weighed {
	double objects, bytes, variance; /* of bytes */
	double largest;			 /* bytes that one sample stands for at most */
};

/* Objects that one call stack allocated. */
struct heap_profile_site {
	uint64_t id;   /* of its stack and size; the same on every run of the program */
	uint64_t size; /* of an object; 0: they differ, and `weighed` has the estimate */
	struct heap_sampled allocated, freed; /* since the program began */
	struct heap_weighed weighed;	      /* in use, by the source itself */
	uint64_t *addresses; /* return addresses that have no frames yet, innermost first; owned */
	size_t depth;	     /* 0: none */
	double objects, bytes; /* in use, estimated */
	struct bounds limits;  /* of bytes, 95 % */
	struct frames frames;  /* innermost first; owned */
	/* Since the first reading, of those after it. */
	double growth;
	struct bounds growth_limits;
};

struct heap_profile {
	const char *source; /* that sampled: "Go", "jemalloc"; static */
	const char *lacks;  /* what is in no profile of this source; static; NULL: nothing */
	char version[24];   /* of the source; "": not known */
	const char *why;    /* it is not known; static; NULL: it is */
	uint64_t rate;	    /* bytes for each sample, on average; 0: not known, nothing is scaled */
	bool collected;	    /* else no collection was there yet, and all samples are in it */
	uint64_t readings;  /* before this one */
	uint64_t span_ns;   /* since the first */
	uint64_t time_ns;   /* CLOCK_MONOTONIC */
	uint64_t collected_ns; /* since the collection; 0: not known */
	uint64_t collections;
	double objects, bytes;
	struct bounds limits;
	VEC(struct heap_profile_site) sites; /* most bytes first */
	struct intern strings;
};

struct figures;

void heap_profile_free(struct heap_profile *profile);

/* What recordings have of it; estimates are recomputed from these. */
extern const struct figures heap_profile_figures, heap_profile_site_figures;

/* Scales what was sampled, sums it up and sorts it. */
void heap_profile_estimate(struct heap_profile *profile);

/* Earlier readings of one program, for comparison. Zero-initialise. */
struct heap_profile_history {
	uint64_t first_ns, readings;
	VEC(struct heap_profile_past) sites;
	struct hash index; /* ids -> places in sites, plus 1 */
};

struct heap_profile_past {
	uint64_t id;
	struct heap_sampled allocated, freed; /* at the first reading */
	struct heap_weighed weighed;	      /* likewise */
};

/* Fills in the growth, and remembers the first reading. 0 or -ENOMEM. */
int heap_profile_history_add(struct heap_profile_history *history, struct heap_profile *profile);
void heap_profile_history_free(struct heap_profile_history *history);

#endif
