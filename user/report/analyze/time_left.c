// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/analyze/time_left.h"

#include <math.h>
#include <string.h>

#include "base/cleanup.h"

#define PARTS 8
/*
 * Two-sided, 5 degrees of freedom: the drift uses one of the parts, the choice of the course two.
 */
#define STUDENT_95 2.571

/* "4 min (95 %: 1 to 60)" is no information. */
#define WIDEST 4

struct walk {
	double drift, variance, span_s;
	double halves[2];	 /* growth in each half of the course */
	double noise;		 /* variance of fluctuation at the last point */
	double bend, bend_error; /* change of the drift per second, and its error */
};

/* Interpolates the value after that share of the time. */
static double value_at(const struct trend_point *points, size_t count, double time_s)
{
	size_t i = 1;
	double share;

	while (i + 1 < count && points[i].time_s < time_s)
		i++;
	if (points[i].time_s <= points[i - 1].time_s)
		return points[i].value;
	share = (time_s - points[i - 1].time_s) / (points[i].time_s - points[i - 1].time_s);
	return points[i - 1].value +
	       fmin(fmax(share, 0), 1) * (points[i].value - points[i - 1].value);
}

/*
 * Estimates the variation of neighbouring points beside the drift that the walk does not explain.
 */
static double noise_of(const struct walk *walk, const struct trend_point *points, size_t count)
{
	double sum = 0, walked = 0;

	for (size_t i = 1; i < count; i++) {
		double time_s = points[i].time_s - points[i - 1].time_s;
		double beside = points[i].value - points[i - 1].value - walk->drift * time_s;

		sum += beside * beside;
		walked += walk->variance * time_s;
	}
	return fmax(sum - walked, 0) / (2 * (double)(count - 1));
}

/*
 * Regresses the parts' rates on their times, from their deviations from the drift: the sum of their
 * squares, and that of their products with the part's number, from the middle.
 */
static void bend_fit(struct walk *walk, double squares, double products, double part_s)
{
	const double spread = PARTS * (PARTS * PARTS - 1) / 12.0;
	double slope = products / spread;

	walk->bend = slope / part_s;
	walk->bend_error =
		sqrt(fmax(squares - slope * slope * spread, 0) / (PARTS - 2) / spread) / part_s;
}

/* Returns false if no time has passed. */
static bool walk_fit(struct walk *walk, const struct trend_point *points, size_t count)
{
	double part_s, before = points[0].value, sum = 0, products = 0;

	walk->span_s = points[count - 1].time_s - points[0].time_s;
	if (walk->span_s <= 0)
		return false;
	walk->drift = (points[count - 1].value - before) / walk->span_s;
	walk->halves[0] = walk->halves[1] = 0;
	part_s = walk->span_s / PARTS;
	for (int i = 1; i <= PARTS; i++) {
		double after = value_at(points, count, points[0].time_s + i * part_s);
		double beside = after - before - walk->drift * part_s;

		walk->halves[i > PARTS / 2] += after - before;
		sum += beside * beside / part_s;
		products += beside / part_s * (i - (PARTS + 1) / 2.0);
		before = after;
	}
	walk->variance = sum / (PARTS - 1);
	bend_fit(walk, sum / part_s, products, part_s);
	walk->noise = noise_of(walk, points, count);
	return true;
}

/* No half grows twice as fast as the other: growth has neither just begun nor just ended. */
static bool is_steady(const struct walk *walk)
{
	return 2 * fmin(walk->halves[0], walk->halves[1]) >= fmax(walk->halves[0], walk->halves[1]);
}

/* Returns whether the shorter course's drift is compatible with the longer one's. */
static bool agrees(const struct walk *longer, const struct walk *shorter)
{
	double error = STUDENT_95 * sqrt(shorter->variance / shorter->span_s);

	return fabs(longer->drift - shorter->drift) <= error;
}

/*
 * Chooses the latest points with a constant rate: from the shortest course on, doubling each time.
 */
static size_t course_choose(struct walk *walk, const struct trend_point *points, size_t count)
{
	size_t chosen = MIN(count, (size_t)TIME_LEFT_POINTS_MIN + PARTS);

	if (!walk_fit(walk, points + count - chosen, chosen))
		return 0;
	while (chosen < count) {
		size_t more = MIN(2 * chosen, count);
		struct walk longer;

		if (!walk_fit(&longer, points + count - more, more) || !agrees(&longer, walk))
			break;
		*walk = longer;
		chosen = more;
	}
	return chosen;
}

/*
 * Solves limit = drift h ± t sqrt(variance (h + h² / span) + noise): the roots of a h² - b h + c.
 */
static void solve(struct time_left *left, const struct walk *walk, double way)
{
	double spread = STUDENT_95 * STUDENT_95 * walk->variance;
	double a = walk->drift * walk->drift - spread / walk->span_s;
	double b = 2 * way * walk->drift + spread;
	double c = fmax(way * way - STUDENT_95 * STUDENT_95 * walk->noise, 0);
	double root = sqrt(fmax(b * b - 4 * a * c, 0));

	/* The smaller root, in a form without cancellation. */
	left->low = 2 * c / (b + root);
	left->high = a > 0 ? (b + root) / (2 * a) : (double)INFINITY;
}

/*
 * Accelerating growth may continue to accelerate, and arrive earlier; decelerating growth continues
 * at its present rate, at least a quarter of the drift, and arrives later.
 */
static void bend(struct time_left *left, const struct walk *walk, double way)
{
	double most = walk->bend + walk->bend_error, rate;

	if (walk->bend > 0) {
		rate = walk->drift + most * walk->span_s / 2;
		/* way = rate h + most h² / 2 */
		left->low *= fmin(
			2 * way / (rate + sqrt(rate * rate + 2 * most * way)) / left->seconds, 1);
	} else if (walk->bend < 0) {
		rate = fmax(walk->drift + walk->bend * walk->span_s / 2, walk->drift / 4);
		left->high *= fmax(way / rate / left->seconds, 1);
	}
}

void time_left_judge(struct time_left *left, const struct trend_point *points, size_t count,
		     double limit)
{
	struct walk walk;
	double way;

	memset(left, 0, sizeof(*left));
	if (count < TIME_LEFT_POINTS_MIN)
		return;
	way = limit - points[count - 1].value;
	if (way <= 0) {
		left->known = true;
		return;
	}
	left->points = course_choose(&walk, points, count);
	if (!left->points || walk.drift <= 0)
		return;
	left->per_s = walk.drift;
	left->seconds = way / walk.drift;
	solve(left, &walk, way);
	bend(left, &walk, way);
	left->known = left->high < WIDEST * left->seconds && is_steady(&walk);
}
