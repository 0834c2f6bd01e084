/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Confidence intervals (95 %) of estimates from windows and from samples.
 *
 *   rates      a ratio estimator over windows: the sum of counts over the sum of lengths (W. G.
 *              Cochran, Sampling Techniques, 3rd ed. 1977, chapter 6), each count a sum of inverse
 *              probabilities (D. G. Horvitz and D. J. Thompson, JASA 47, 1952). The limits are
 *              those of M. P. Fay and E. J. Feuer, Statistics in Medicine 16 (1997), for weighted
 *              sums of counts: gamma quantiles, which for weights of one are F. Garwood's (1936).
 *              Their variance is that between windows where it is larger: programs work in bursts.
 *              With few windows they widen as Student's t does.
 *   shares     E. B. Wilson, JASA 22 (1927)
 *   survival   E. L. Kaplan and P. Meier, JASA 53 (1958), over the ages of looks; all blocks are
 *              looked at at the same ages, so the estimator for interval-censored times (B. W.
 *              Turnbull, JRSS B 38, 1976) gives the same. Variance: M. Greenwood (1926); limits:
 *              K. J. Rothman, J. Chronic Diseases 31 (1978), Wilson's for the effective number of
 *              samples of that variance, valid even without a death.
 *   products   G. Y. Zou and A. Donner, Statistics in Medicine 27 (2008): limits recovered from
 *              those of the factors, on the logarithmic scale
 */
#ifndef LEAKMON_PROFILE_INTERVALS_H
#define LEAKMON_PROFILE_INTERVALS_H

#include <stddef.h>

#include "report/profile_report.h"

/* Sums over all windows that count. */
struct window_sums {
	double windows;
	double time_s; /* effective time of the process */
	double wall_s; /* clock time: longer where probes slowed the process */
	double time2;  /* sum of the squares of their lengths */
};

/* Weighted counts of the windows; windows without any add nothing. */
struct count_sums {
	double sum;
	double sum2;	    /* sum of the squares of each window's count */
	double by_time;	    /* sum of each window's count times its length */
	double weights2;    /* sum of the squares of the weights */
	double weight_most; /* the largest weight */
};

void window_sums_add(struct window_sums *sums, double length_s, double wall_s);
/* Adds one window's contents: `count`, from weights with a sum of squares of weights2. */
void count_sums_add(struct count_sums *sums, double length_s, double count, double weights2,
		    double weight_most);
/* Add *part to *total. */
void window_sums_join(struct window_sums *total, const struct window_sums *part);
void count_sums_join(struct count_sums *total, const struct count_sums *part);

/* Returns the rate per second. Without windows it is unknown: 0, from 0 to infinity. */
struct interval interval_rate(const struct count_sums *counts, const struct window_sums *windows);

/*
 * Returns the rate of a count that may be negative, from the variance between windows alone. With
 * fewer than two windows the limits are infinite.
 */
struct interval interval_balance(const struct count_sums *counts,
				 const struct window_sums *windows);

/*
 * Returns the interval of a share, 0..1, of `samples` (need not be whole). Without samples: from 0
 * to 1.
 */
struct interval interval_share(double share, double samples);

/* Blocks between two successive looks. */
struct life_cell {
	float at_risk;	/* weight of blocks alive at the previous look that were looked at again */
	float alive;	/* weight of those still alive */
	float weights2; /* sum of the squares of the weights at risk */
};

/*
 * Returns the number of equally weighted samples that a cell is worth (L. Kish, Survey Sampling,
 * 1965).
 */
double life_cell_samples(const struct life_cell *cell);

/*
 * Returns the share of blocks alive at look `from` that are still alive at look `to`: cells
 * from+1..to.
 */
struct interval interval_survival(const struct life_cell *cells, size_t from, size_t to);

/* Returns the product of two independent estimates; no limit may be negative. */
struct interval interval_product(const struct interval *a, const struct interval *b);

/* Returns the 97.5 % point of Student's t; infinite without a degree of freedom. */
double student_t(double freedom);

#endif
