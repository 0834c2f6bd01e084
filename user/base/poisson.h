/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bounds of a sum of independent random terms. */
#ifndef LEAKMON_BASE_POISSON_H
#define LEAKMON_BASE_POISSON_H

/*
 * Returns the `z` point of a gamma distribution of that shape and scale 1, `z` as for the normal
 * one: 1.96 is 97.5 % (E. B. Wilson and M. M. Hilferty, 1931).
 */
double gamma_quantile(double shape, double z);

struct bounds {
	double low, high;
};

/* A weighted sum over the events of a Poisson process. */
struct poisson_sum {
	double sum;
	double variance; /* sum of the squares of the weights */
	double largest;	 /* the largest possible weight */
};

/* Adds *part, the sum of an independent process, to *total. */
void poisson_add(struct poisson_sum *total, const struct poisson_sum *part);

/*
 * Returns 95 % limits of the sum's mean: F. Garwood's, Biometrika 28 (1936), if all weights are
 * equal, else those of M. P. Fay and E. J. Feuer, Statistics in Medicine 16 (1997), which keep the
 * level for any number of events, provided that no weight exceeds `largest`. Without events, they
 * bound the number missed; without events or a known weight, both are 0.
 */
struct bounds poisson_bounds(const struct poisson_sum *sum);

/*
 * Returns 95 % limits of after - before, two sums of one process at two times, between which `come`
 * was added and `gone` removed: events in both add no uncertainty, so the limits are the tighter of
 * those of come - gone and of after - before. G. Y. Zou and A. Donner, Statistics in Medicine 27
 * (2008), from the limits of either. Without come and gone (NULL), the two sums are taken as
 * independent.
 */
struct bounds poisson_growth(const struct poisson_sum *before, const struct poisson_sum *after,
			     const struct poisson_sum *come, const struct poisson_sum *gone);

#endif
