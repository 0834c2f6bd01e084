/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Confidence intervals (95 %) of what is estimated from windows and from samples.
 *
 *   rates      a ratio estimator over windows: the sum of counts over the sum of lengths (W. G.
 *              Cochran, Sampling Techniques, 3rd ed. 1977, chapter 6), each count a sum of inverse
 *              probabilities (D. G. Horvitz and D. J. Thompson, JASA 47, 1952). The limits are
 * those of M. P. Fay and E. J. Feuer, Statistics in Medicine 16 (1997), for weighted sums of
 *              counts: gamma quantiles, which for weights of one are F. Garwood's (1936). Their
 *              variance is that between windows where that is larger: programs work in bursts. Few
 *              windows widen them as Student's t does.
 *   shares     E. B. Wilson, JASA 22 (1927)
 *   survival   E. L. Kaplan and P. Meier, JASA 53 (1958), over the ages at which blocks are looked
 *              at; all are looked at at the same ages, where the estimator of interval-censored
 *              times (B. W. Turnbull, JRSS B 38, 1976) comes to the same. Variance: M. Greenwood
 *              (1926); limits: K. J. Rothman, J. Chronic Diseases 31 (1978), Wilson's for as many
 *              samples as that variance is worth, which holds where none has died, too.
 *   products   G. Y. Zou and A. Donner, Statistics in Medicine 27 (2008): limits recovered from
 *              those of the factors, on the scale of logarithms
 */
#ifndef LEAKMON_PROFILE_INTERVALS_H
#define LEAKMON_PROFILE_INTERVALS_H

#include <stddef.h>

#include "report/profile_report.h"

/* For all windows that count. */
struct window_sums {
	double windows;
	double time_s; /* what they are worth of the process's time */
	double wall_s; /* what they took: more, where probes slowed it */
	double time2;  /* of the squares of their lengths */
};

/* For what was counted in them, weighted; windows in which nothing was add nothing. */
struct count_sums {
	double sum;
	double sum2;	    /* of the squares of each window's count */
	double by_time;	    /* of each window's count times its length */
	double weights2;    /* of the squares of the weights */
	double weight_most; /* the largest weight */
};

void window_sums_add(struct window_sums *sums, double length_s, double wall_s);
/* The contents of one window: `count`, from weights with a sum of squares of weights2. */
void count_sums_add(struct count_sums *sums, double length_s, double count, double weights2,
		    double weight_most);
/* *total += *part */
void window_sums_join(struct window_sums *total, const struct window_sums *part);
void count_sums_join(struct count_sums *total, const struct count_sums *part);

/* Per second. Without windows nothing is known: 0, from 0 to infinity. */
struct interval interval_rate(const struct count_sums *counts, const struct window_sums *windows);

/* The same of what may be negative: by the variance between windows alone. Of fewer than two
 * windows the limits are infinite. */
struct interval interval_balance(const struct count_sums *counts,
				 const struct window_sums *windows);

/* A share of `samples` (which need not be whole), 0..1. Without samples: from 0 to 1. */
struct interval interval_share(double share, double samples);

/* Blocks between one look and the next. */
struct life_cell {
	float at_risk;	/* that were alive at the look before, weighted, and were looked at again */
	float alive;	/* and those still alive then */
	float weights2; /* of the squares of the weights of those at risk */
};

/* How many equally weighted samples a cell is worth (L. Kish, Survey Sampling, 1965). */
double life_cell_samples(const struct life_cell *cell);

/* The share of what was alive at look `from` that is so at look `to`: cells from+1..to. */
struct interval interval_survival(const struct life_cell *cells, size_t from, size_t to);

/* For two estimates that do not depend on each other; no limit may be negative. */
struct interval interval_product(const struct interval *a, const struct interval *b);

/* The 97.5 % point of Student's t. Infinite without a degree of freedom. */
double student_t(double freedom);

#endif
