// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/pace.h"

#include <math.h>

/* What "lately" means of CPU time; of windows, the newest counts for a third. */
#define MEMORY_S 60.0
#define WEIGHT (1.0 / 3)
/* A window is worth opening for so many births, and for so much tracking beside the attach. */
#define BIRTHS_WANTED 2000.0
/* But not so many that they cost more than this: a process may free all day and allocate nothing.
 */
#define BIRTHS_COST_MAX_S 0.02
#define ATTACH_TIMES 2.0
/* A window may cost so many times what is counted of it: most where the scheduler packs the process
 * and who waits for it onto one CPU (see "What it costs" in user/doc/profile.md). */
#define UNCOUNTED 1.5
/* A window is closed early when it costs so many times what was thought. */
#define SURPRISE 3.0
/* A window is not closed early before it has cost this. */
#define ALLOWANCE_MIN_S 0.02

/* splitmix64 (Sebastiano Vigna, public domain). */
static double random_unit(struct pace *pace)
{
	uint64_t mixed = pace->random += 0x9e3779b97f4a7c15u;

	mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9u;
	mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebu;
	return (double)((mixed ^ mixed >> 31) >> 11) / 9007199254740992.0;
}

static void draw_next(struct pace *pace)
{
	pace->hazard = 0;
	pace->next = -log1p(-random_unit(pace));
}

void pace_begin(struct pace *pace, double limit, double attach_s, uint64_t seed)
{
	*pace = (struct pace){.limit = limit / UNCOUNTED,
			      .attach_s = attach_s,
			      .last_s = -1,
			      .loss = 1,
			      .random = seed};
	draw_next(pace);
	pace->next = fmin(pace->next, 0.5); /* the first one need not be waited for */
}

static double clamp(double value, double low, double high)
{
	return fmin(fmax(value, low), high);
}

double pace_length_s(const struct pace *pace)
{
	double length = PACE_WINDOW_MAX_S;

	if (!pace->windows)
		return PACE_WINDOW_MIN_S;
	/* Long enough for both; one that costs next to nothing lasts as long as it may. */
	if (pace->loss > 0)
		length = fmin(length, BIRTHS_COST_MAX_S / pace->loss);
	if (pace->births_per_s > 0)
		length = fmin(length, BIRTHS_WANTED / pace->births_per_s);
	if (pace->loss > 0)
		length = fmax(length, ATTACH_TIMES * pace->attach_s / pace->loss);
	return clamp(length, PACE_WINDOW_MIN_S, PACE_WINDOW_MAX_S);
}

static double expected_cost_s(const struct pace *pace)
{
	return pace->attach_s + pace_length_s(pace) * pace->loss;
}

double pace_allowance_s(const struct pace *pace)
{
	return fmax(SURPRISE * expected_cost_s(pace), ALLOWANCE_MIN_S);
}

bool pace_step(struct pace *pace, double now_s, double cpu_s)
{
	double elapsed_s = now_s - pace->last_s, used_s = fmax(cpu_s - pace->clock_s, 0);
	bool first = pace->last_s < 0;

	if (!first && elapsed_s <= 0)
		return false;
	pace->clock_s = fmax(cpu_s, pace->clock_s);
	pace->last_s = now_s;
	if (first)
		return false;
	/* What came before is forgotten the sooner, the less there was of it. */
	pace->watched_s += elapsed_s;
	pace->used_s += used_s;
	pace->share += (used_s / elapsed_s - pace->share) *
		       fmax(-expm1(-elapsed_s / MEMORY_S), fmin(elapsed_s / pace->watched_s, 1));
	pace->hazard +=
		elapsed_s * (pace->limit * pace->share + pace->granted) / expected_cost_s(pace);
	if (pace->hazard < pace->next && !(pace->granted > 0 && !pace->windows))
		return false;
	draw_next(pace);
	return pace->spent_s + expected_cost_s(pace) <=
	       pace->limit * pace->used_s + pace->granted * (pace->watched_s + PACE_AHEAD_S);
}

void pace_spend(struct pace *pace, const struct pace_window *window)
{
	double weight = pace->windows ? WEIGHT : 1;

	pace->spent_s += window->attach_s + window->hits_s;
	if (window->births_s <= 0)
		return;
	pace->attach_s += (window->attach_s - pace->attach_s) * weight;
	pace->loss += (window->births_hits_s / window->births_s - pace->loss) * weight;
	if (window->births < 0)
		return;
	pace->births_per_s += (window->births / window->births_s - pace->births_per_s) * weight;
	pace->windows++;
}

double pace_spent(const struct pace *pace)
{
	return pace->used_s > 0 ? pace->spent_s / pace->used_s : 0;
}
