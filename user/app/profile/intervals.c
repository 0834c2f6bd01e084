// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/profile/intervals.h"

#include <math.h>

#include "base/poisson.h"

/* 97.5 % of the normal distribution */
#define Z 1.959963985

void window_sums_add(struct window_sums *sums, double length_s, double wall_s)
{
	sums->windows++;
	sums->time_s += length_s;
	sums->wall_s += wall_s;
	sums->time2 += length_s * length_s;
}

void count_sums_add(struct count_sums *sums, double length_s, double count, double weights2,
		    double weight_most)
{
	sums->sum += count;
	sums->sum2 += count * count;
	sums->by_time += count * length_s;
	sums->weights2 += weights2;
	sums->weight_most = fmax(sums->weight_most, weight_most);
}

void window_sums_join(struct window_sums *total, const struct window_sums *part)
{
	total->windows += part->windows;
	total->time_s += part->time_s;
	total->wall_s += part->wall_s;
	total->time2 += part->time2;
}

void count_sums_join(struct count_sums *total, const struct count_sums *part)
{
	total->sum += part->sum;
	total->sum2 += part->sum2;
	total->by_time += part->by_time;
	total->weights2 += part->weights2;
	total->weight_most = fmax(total->weight_most, part->weight_most);
}

/* G. W. Hill, CACM 13 (1970), first terms; a table of exact values for few degrees of freedom. */
double student_t(double freedom)
{
	static const double few[] = {INFINITY, 12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469};
	double z3 = Z * Z * Z, z5 = z3 * Z * Z;

	if (freedom < 7)
		return few[freedom > 0 ? (size_t)freedom : 0];
	return Z + (z3 + Z) / (4 * freedom) + (5 * z5 + 16 * z3 + 3 * Z) / (96 * freedom * freedom);
}

/* Returns the variance of the sum over windows of count - rate * length, about zero. */
static double residual_variance(const struct count_sums *counts, const struct window_sums *windows,
				double rate)
{
	double squares = counts->sum2 - 2 * rate * counts->by_time + rate * rate * windows->time2;

	return fmax(squares, 0) * windows->windows / fmax(windows->windows - 1, 1);
}

/*
 * Probes slow work that a process does at its own pace, but not work by the clock. So the rate per
 * unit of effective time is the upper bound, and the rate per clock time the lower.
 */
static double clock_share(const struct window_sums *windows)
{
	return windows->wall_s > windows->time_s ? windows->time_s / windows->wall_s : 1;
}

struct interval interval_rate(const struct count_sums *counts, const struct window_sums *windows)
{
	struct interval rate = {.high = INFINITY};
	double most = fmax(counts->weight_most, 1), variance, between, quantile = Z, above;

	if (windows->time_s <= 0)
		return rate;
	rate.estimate = counts->sum / windows->time_s;
	between = residual_variance(counts, windows, rate.estimate);
	variance = fmax(counts->weights2, between);
	/* Counts that scatter no more than chance need no degrees of freedom from the number of
	 * windows. */
	if (between > counts->weights2)
		quantile = student_t(windows->windows - 1);
	if (isinf(quantile))
		quantile = student_t(1);
	if (counts->sum > 0 && variance > 0)
		rate.low = gamma_quantile(counts->sum * counts->sum / variance, -quantile) *
			   variance / counts->sum / windows->time_s;
	above = counts->sum + most;
	variance += most * most;
	rate.high = gamma_quantile(above * above / variance, quantile) * variance / above /
		    windows->time_s;
	rate.low = fmin(rate.low, rate.estimate) * clock_share(windows);
	rate.high = fmax(rate.high, rate.estimate);
	rate.estimate *= sqrt(clock_share(windows));
	return rate;
}

struct interval interval_balance(const struct count_sums *counts, const struct window_sums *windows)
{
	struct interval balance = {.low = -INFINITY, .high = INFINITY};
	double half;

	if (windows->time_s <= 0)
		return balance;
	balance.estimate = counts->sum / windows->time_s;
	if (windows->windows < 2) {
		balance.estimate *= sqrt(clock_share(windows));
		return balance;
	}
	half = student_t(windows->windows - 1) *
	       sqrt(residual_variance(counts, windows, balance.estimate)) / windows->time_s;
	balance.low = balance.estimate - half;
	balance.high = balance.estimate + half;
	balance.low *= balance.low > 0 ? clock_share(windows) : 1;
	balance.high *= balance.high < 0 ? clock_share(windows) : 1;
	balance.estimate *= sqrt(clock_share(windows));
	return balance;
}

struct interval interval_share(double share, double samples)
{
	struct interval interval = {share, 0, 1};
	double middle, half, scale;

	if (samples <= 0)
		return interval;
	scale = 1 / (1 + Z * Z / samples);
	middle = scale * (share + Z * Z / (2 * samples));
	half = scale * Z * sqrt(share * (1 - share) / samples + Z * Z / (4 * samples * samples));
	interval.low = share > 0 ? fmax(middle - half, 0) : 0;
	interval.high = share < 1 ? fmin(middle + half, 1) : 1;
	return interval;
}

double life_cell_samples(const struct life_cell *cell)
{
	return cell->weights2 > 0 ? (double)cell->at_risk * cell->at_risk / cell->weights2 : 0;
}

struct interval interval_survival(const struct life_cell *cells, size_t from, size_t to)
{
	double survival = 1, greenwood = 0, samples = INFINITY;

	for (size_t i = from + 1; i <= to; i++) {
		double worth = life_cell_samples(&cells[i]), share;

		if (worth <= 0)
			return (struct interval){survival, 0, 1};
		share = fmin((double)cells[i].alive / cells[i].at_risk, 1);
		samples = fmin(samples, worth);
		survival *= share;
		if (share <= 0)
			return interval_share(0, worth);
		greenwood += (1 - share) / (share * worth);
	}
	if (isinf(samples))
		return (struct interval){1, 1, 1};
	if (greenwood > 0)
		samples = fmin((1 - survival) / (survival * greenwood), samples / survival);
	return interval_share(survival, samples);
}

/* Returns the squared distance of a limit on the logarithmic scale. */
static double distance2(double estimate, double limit)
{
	double distance = log(limit / estimate);

	return distance * distance;
}

struct interval interval_product(const struct interval *a, const struct interval *b)
{
	struct interval product = {a->estimate * b->estimate, 0, a->high * b->high};

	if (product.estimate <= 0)
		return product;
	if (a->low > 0 && b->low > 0)
		product.low =
			product.estimate *
			exp(-sqrt(distance2(a->estimate, a->low) + distance2(b->estimate, b->low)));
	product.high = product.estimate *
		       exp(sqrt(distance2(a->estimate, a->high) + distance2(b->estimate, b->high)));
	return product;
}
