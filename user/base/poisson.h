/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bounds of a sum of independent random terms. */
#ifndef LEAKMON_BASE_POISSON_H
#define LEAKMON_BASE_POISSON_H

/* The `z` point of a gamma distribution of that shape and scale 1, `z` as of the normal one: 1.96
 * is 97.5 % (E. B. Wilson and M. M. Hilferty, 1931). */
double gamma_quantile(double shape, double z);

struct bounds {
	double low, high;
};

/* A sum over the events of a Poisson process, each of which counts for something. */
struct poisson_sum {
	double sum;
	double variance; /* sum of the squares of what the events count for */
	double largest;	 /* what one of them counts for at most */
};

/* *total += *part, of another process of events. */
void poisson_add(struct poisson_sum *total, const struct poisson_sum *part);

/*
 * 95 % limits of the sum's mean: F. Garwood's, Biometrika 28 (1936), if all events count alike,
 * else those of M. P. Fay and E. J. Feuer, Statistics in Medicine 16 (1997), which keep the level
 * however few events there are, as long as none can count for more than `largest`. Without events
 * it is known how many were missed at most; where it is not known what one counts for, 0 and 0.
 */
struct bounds poisson_bounds(const struct poisson_sum *sum);

/*
 * 95 % limits of after - before, two sums of one process at two times, between which `come` was
 * added and `gone` taken away: what is in both adds no doubt, so they are those of come - gone or
 * of after - before, whichever is known better. G. Y. Zou and A. Donner, Statistics in Medicine 27
 * (2008), from the limits of either. Without come and gone (NULL) the two have nothing in common.
 */
struct bounds poisson_growth(const struct poisson_sum *before, const struct poisson_sum *after,
			     const struct poisson_sum *come, const struct poisson_sum *gone);

#endif
