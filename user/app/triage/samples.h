/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Samples of one suspect: pages that were touched, mappings, threads, each with the site
 * that brought it. One that comes again at the same address replaces what was there.
 *
 * Bounded: when the table is full, each second one is dropped by chance, and the others count for
 * two; what comes later is thinned out alike. So a sum over the table estimates the sum over
 * everything that was sampled, whenever it came.
 */
#ifndef LEAKMON_TRIAGE_SAMPLES_H
#define LEAKMON_TRIAGE_SAMPLES_H

#include <stdint.h>

#include "base/hash.h"
#include "base/vec.h"

/* A site of a third of the growth is known to 1.5 percent points with so many. */
#define SAMPLES_MAX 1024

struct sample {
	uint64_t address, length;
	uint64_t order; /* of arrival */
	double weight;	/* events that it stands for */
	double units;	/* set by weighing: what there is of it now; 0: it is gone */
	uint32_t site;
};

struct samples {
	VEC(struct sample) list; /* in no order; owned */
	struct hash places;	 /* address -> index in list */
	unsigned halvings;
	uint64_t taken; /* all that ever came */
	uint64_t random;
};

/* How much of the growth one site is answerable for. */
struct sample_sum {
	uint32_t site;
	double units;
	size_t samples;
};

struct sample_sums {
	VEC(struct sample_sum) list; /* largest first; owned */
	double units;		     /* of all */
};

/* The address, length, weight and site of `sample` count. 0 or -ENOMEM (then it is not in). */
int samples_add(struct samples *samples, const struct sample *sample);

/* After weighing: forgets what is gone. 0 or -ENOMEM (then the table is empty). */
int samples_prune(struct samples *samples);

/* Adds up units * weight by site. 0 or -ENOMEM (then *sums is untouched). */
int samples_sum(const struct samples *samples, struct sample_sums *sums);
void sample_sums_free(struct sample_sums *sums);

void samples_free(struct samples *samples);

#endif
