/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is known of a sum whose terms came by chance, each by itself. */
#ifndef LEAKMON_BASE_POISSON_H
#define LEAKMON_BASE_POISSON_H

/* The `z` point of a gamma distribution of that shape and scale 1, `z` as of the normal one: 1.96
 * is 97.5 % (E. B. Wilson and M. M. Hilferty, 1931). */
double gamma_quantile(double shape, double z);

struct bounds {
	double low, high;
};

/*
 * 95 % limits of a sum that rests on `events` (which need not be whole) of a Poisson process: F.
 * Garwood's, Biometrika 28 (1936), for events that count alike; for others, `events` is the square
 * of the sum by its variance (M. P. Fay and E. J. Feuer, Statistics in Medicine 16, 1997). Without
 * events nothing is known: 0 and 0.
 */
struct bounds poisson_bounds(double sum, double events);

#endif
