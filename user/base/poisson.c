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

struct bounds poisson_bounds(double sum, double events)
{
	double unit = events > 0 ? sum / events : 0;

	if (!(unit > 0))
		return (struct bounds){0, 0};
	return (struct bounds){unit * gamma_quantile(events, -Z),
			       unit * gamma_quantile(events + 1, Z)};
}
