// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/poisson.h"

#include <math.h>
#include <stdbool.h>

/* The 97.5 % point of the normal distribution. */
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

/* Returns the point of the gamma distribution with this mean and variance. */
static double gamma_point(double mean, double variance, double z)
{
	double scale = variance / mean;

	return scale * gamma_quantile(mean / scale, z);
}

static bool has_events(const struct poisson_sum *sum)
{
	return sum->sum > 0 && sum->variance > 0;
}

static double low_of(const struct poisson_sum *sum)
{
	return has_events(sum) ? gamma_point(sum->sum, sum->variance, -Z) : 0;
}

/* Works without events, too, if their weight is known. */
static double high_of(const struct poisson_sum *sum)
{
	double largest = sum->largest;

	return largest > 0 ? gamma_point(sum->sum + largest, sum->variance + largest * largest, Z)
			   : 0;
}

struct bounds poisson_bounds(const struct poisson_sum *sum)
{
	return (struct bounds){low_of(sum), high_of(sum)};
}

struct bounds poisson_growth(const struct poisson_sum *before, const struct poisson_sum *after,
			     const struct poisson_sum *come, const struct poisson_sum *gone)
{
	bool flow = come && gone &&
		    come->variance + gone->variance < before->variance + after->variance;
	const struct poisson_sum *more = flow ? come : after, *less = flow ? gone : before;
	double growth = after->sum - before->sum;

	return (struct bounds){
		growth - hypot(more->sum - low_of(more), high_of(less) - less->sum),
		growth + hypot(high_of(more) - more->sum, less->sum - low_of(less)),
	};
}
