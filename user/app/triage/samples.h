/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Samples of one suspect: touched pages, mappings and threads, each with its call site. A new
 * sample at an address replaces the old one.
 *
 * Bounded: when the table is full, half of the samples are dropped at random and the others count
 * double; later ones are thinned out at the same rate. So a sum over the table is an estimate of
 * the sum over all that was sampled, at any time.
 */
#ifndef LEAKMON_TRIAGE_SAMPLES_H
#define LEAKMON_TRIAGE_SAMPLES_H

#include <stdint.h>

#include "base/hash.h"
#include "base/vec.h"

/*
 * With this many samples, the share of a site with a third of the growth is known to 1.5 percentage
 * points.
 */
#define SAMPLES_MAX 1024

struct sample {
	uint64_t address, length;
	uint64_t order; /* of arrival */
	double weight;	/* events that it represents */
	double units;	/* set by attribution: the part that still exists; 0: gone */
	uint32_t site;
};

struct samples {
	VEC(struct sample) list; /* in no order; owned */
	struct hash places;	 /* address -> index in list */
	unsigned halvings;
	uint64_t taken; /* all samples ever taken */
	uint64_t random;
};

/* The share of the growth that belongs to one site. */
struct sample_sum {
	uint32_t site;
	double units;
	size_t samples;
};

struct sample_sums {
	VEC(struct sample_sum) list; /* largest first; owned */
	double units;		     /* of all */
};

/*
 * Adds `sample`, of which address, length, weight and site count. Returns 0 or -ENOMEM (then it was
 * not added).
 */
int samples_add(struct samples *samples, const struct sample *sample);

/*
 * Drops samples without units, after attribution. Returns 0 or -ENOMEM (then the table is empty).
 */
int samples_prune(struct samples *samples);

/* Sums units * weight by site. Returns 0 or -ENOMEM (then *sums is untouched). */
int samples_sum(const struct samples *samples, struct sample_sums *sums);
void sample_sums_free(struct sample_sums *sums);

void samples_free(struct samples *samples);

#endif
