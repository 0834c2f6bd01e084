// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/poisson.h"

#include <math.h>

/* 97.5 % of the normal distribution */
#define Z 1.959963985

double gamma_quantile(double shape, double z)
{
	double root = 1 - 1 / (9 * shape) + z / (3 * sqrt(shape));

	return root > 0 ? shape * root * root * root : 0;
}

void poisson_add(struct poisson_sum *total, const struct poisson_sum *part)
{
	total->sum += part->sum;
	total->variance += part->variance;
	total->largest = fmax(total->largest, part->largest);
}

/* The point of the gamma distribution that has this mean and variance. */
static double gamma_point(double mean, double variance, double z)
{
	double scale = variance / mean;

	return scale * gamma_quantile(mean / scale, z);
}

struct bounds poisson_bounds(const struct poisson_sum *sum)
{
	double largest = sum->largest;

	if (!(sum->sum > 0) || !(sum->variance > 0))
		return (struct bounds){0, 0};
	return (struct bounds){
		gamma_point(sum->sum, sum->variance, -Z),
		gamma_point(sum->sum + largest, sum->variance + largest * largest, Z),
	};
}
