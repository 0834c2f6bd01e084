// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/analyze/verdict.h"

#include <math.h>

#include "base/cleanup.h"

#define KIB 1024.0

/*
 * A site: less than its quantum is noise in a search for leaks. Tables fill for minutes, such as a
 * JVM's table of compiled methods, up to 96 KB in a small server: below that it is called growing.
 * Not a share of the process's memory, which is known only from the attach on.
 *
 * A process, by polls: /proc may lag by 32 pages per CPU (percpu counters since Linux 6.2), glibc
 * takes memory in steps of 132 KiB, and a quantity that fluctuates by hundreds of KiB rises for
 * minutes now and then. Slower leaks show in longer windows. Servers open files and start threads
 * one by one as work comes.
 */
#define POLLED(amount, least)                                                                      \
	{                                                                                          \
		amount, 0.002, GROWTH_READINGS_MIN, least, 0, 0                                    \
	}

static const struct verdict_limits all_limits[] = {
	[SUBJECT_SITE] = {512, 0, TREND_POINTS_MIN, 128 * KIB, 10, 20},
	[SUBJECT_RESIDENT] = {64 * KIB, 0, 6, 0, 0, 0},
	[SUBJECT_QUANTITY + QUANTITY_HEAP] = POLLED(1024 * KIB, 1024 * KIB),
	[SUBJECT_QUANTITY + QUANTITY_MAPPING] = POLLED(16, 32),
	[SUBJECT_QUANTITY + QUANTITY_THREADS] = POLLED(4, 8),
	[SUBJECT_QUANTITY + QUANTITY_FILES] = POLLED(16, 32),
	[SUBJECT_QUANTITY + QUANTITY_CHARGED] = POLLED(1024 * KIB, 1024 * KIB),
};
_Static_assert(ARRAY_SIZE(all_limits) == SUBJECT_MAX_, "limits for every subject");

const struct verdict_limits *verdict_limits(enum verdict_subject subject)
{
	return &all_limits[subject];
}

struct trend_options verdict_options(enum verdict_subject subject, double held)
{
	const struct verdict_limits *limits = &all_limits[subject];

	return (struct trend_options){fmax(limits->quantum, limits->quantum_share * held),
				      limits->readings_min};
}

/* Minimum number of steps to estimate a deviation. */
#define STEPS_MIN 6

/*
 * Computes the deviation of the steps about the rate, whatever the pauses; by the median, so that
 * one jump does not show.
 */
static double deviation_of(const struct trend_point *points, size_t count, double per_s)
{
	double steps[TREND_POINTS_MAX];

	if (count <= STEPS_MIN)
		return 0;
	for (size_t i = 1; i < count; i++)
		steps[i - 1] = fabs(points[i].value - points[i - 1].value -
				    per_s * (points[i].time_s - points[i - 1].time_s));
	return 1.4826 * trend_median(steps, count - 1);
}

static bool grows(const struct trend_point *points, size_t count, double per_s, double quantum)
{
	double deviation = fmax(quantum / 2, deviation_of(points, count, per_s)), ratio = 0;
	double accept = log((1 - EARLY_MISSED) / EARLY_FALSE);
	double reject = log(EARLY_MISSED / (1 - EARLY_FALSE));

	for (size_t i = 1; i < count; i++) {
		double step = (points[i].value - points[i - 1].value) / deviation;

		/*
		 * Slightly more than half of the threshold, so that two steps can decide and one
		 * cannot.
		 */
		ratio += fmin(step - 0.5, 0.51 * accept);
		if (ratio >= accept)
			return points[count - 1].value > points[0].value;
		if (ratio <= reject)
			ratio = 0;
	}
	return false;
}

void early_judge(struct early *early, const struct trend_point *points, size_t count,
		 double quantum)
{
	*early = (struct early){0};
	if (count < EARLY_READINGS_MIN || count > TREND_POINTS_MAX ||
	    points[count - 1].time_s <= points[0].time_s)
		return;
	early->readings = count;
	early->span_s = points[count - 1].time_s - points[0].time_s;
	early->per_s = trend_theil_sen(points, count, 0).slope;
	early->grows = early->per_s > 0 && grows(points, count, early->per_s, quantum);
}

/* Earlier verdicts. */

/* A quarter of a window is rejudged, reading by reading. */
#define READINGS_BACK 16

/* One or two readings may be chance; this many in a row are not. */
#define PERSISTENT 3

/* A test at every reading meets a chance of one in a thousand sooner or later. */
#define P_SURE 1e-4

/* A level series has outgrown its level by a quantum, and by this many times its jitter. */
#define LEVEL_LEFT 3.0

/* The verdict, and the evidence against it. */
struct memory {
	enum trend_verdict verdict;
	unsigned contrary; /* consecutive readings */
	double level;	   /* its maximum while not growing */
	double margin;	   /* uncertain growth must exceed the level by this */
};

static void level_note(struct memory *memory, const struct trend *trend, double quantum)
{
	memory->level = trend->maximum;
	memory->margin = MAX(quantum, LEVEL_LEFT * trend->jitter);
}

static void turn(struct memory *memory, enum trend_verdict verdict)
{
	memory->verdict = verdict;
	memory->contrary = 0;
}

static void remember_level(struct memory *memory, const struct trend *trend, double quantum)
{
	if (trend_is_suspect(memory->verdict)) {
		if (++memory->contrary < PERSISTENT)
			return;
	}
	turn(memory, trend->verdict);
	level_note(memory, trend, quantum);
}

static void remember_growth(struct memory *memory, const struct trend *trend)
{
	if (!trend_is_suspect(memory->verdict)) {
		double margin = trend->verdict == TREND_LEAKING ? 0 : memory->margin;

		if (++memory->contrary < PERSISTENT || trend->p >= P_SURE ||
		    trend->maximum < memory->level + margin)
			return;
	} else if (memory->verdict == TREND_LEAKING && trend->verdict == TREND_GROWING) {
		if (trend->keeps_leaking)
			memory->contrary = 0;
		else
			memory->contrary++;
		if (memory->contrary < PERSISTENT)
			return;
	}
	turn(memory, trend->verdict);
}

static void remember(struct memory *memory, const struct trend *trend, double quantum, bool first)
{
	if (memory->verdict == TREND_TOO_EARLY) {
		turn(memory, trend->verdict);
		/* The previous verdict is unknown: assume no more than is certain. */
		if (!first && trend->verdict == TREND_GROWING && trend->p >= P_SURE)
			turn(memory, TREND_STEADY);
		level_note(memory, trend, quantum);
	} else if (trend_is_suspect(trend->verdict)) {
		remember_growth(memory, trend);
	} else if (memory->verdict == TREND_LEAKING && trend->keeps_leaking) {
		memory->contrary = 0;
	} else {
		remember_level(memory, trend, quantum);
	}
}

/* Returns whether all earlier readings agree, or are level: the common, cheap case. */
static bool is_settled(const struct trend *trend, const struct trend_point *points, size_t count,
		       size_t back, const struct trend_options *options)
{
	const size_t ends[] = {1, PERSISTENT - 1, back};
	bool suspect = trend_is_suspect(trend->verdict);

	if (!suspect && trend->growth < options->quantum)
		return true; /* no rise at all */
	if (trend->p >= P_SURE && suspect)
		return false;
	for (size_t i = 0; i < (suspect ? 3 : 2); i++) {
		struct trend before;

		if (back < ends[i])
			return false;
		trend_judge(&before, points, count - ends[i], options);
		if (suspect ? before.verdict != trend->verdict || before.p >= P_SURE
			    : trend_is_suspect(before.verdict) || before.keeps_leaking)
			return false;
	}
	return suspect || !trend->keeps_leaking;
}

/*
 * Judges one window by trend_judge(), and by the verdicts at its earlier ends: at most
 * VERDICT_POINTS.
 */
static void verdict_of_window(struct trend *trend, const struct trend_point *points, size_t count,
			      const struct trend_options *options)
{
	size_t needed = options->points_min ? options->points_min : TREND_POINTS_MIN, back;
	struct memory memory = {.verdict = TREND_TOO_EARLY};
	bool first = count <= needed + READINGS_BACK;

	trend_judge(trend, points, count, options);
	back = count > needed ? MIN(count - needed, (size_t)READINGS_BACK) : 0;
	if (is_settled(trend, points, count, back, options))
		return;
	for (; back > 0; back--) {
		struct trend before;

		trend_judge(&before, points, count - back, options);
		remember(&memory, &before, options->quantum, first);
	}
	remember(&memory, trend, options->quantum, first);
	trend->verdict = memory.verdict;
	trend->confidence = trend_confidence(trend);
}

/* Several windows. */

/* The last third grew by less than this share of the middle one's: it slows down. */
#define SLOWING 0.6

/* A tail is no faster than the last third of the growth before it, with room for noise. */
#define TAIL_MARGIN 1.5

/* Returns the highest point of the window's later half that is older than `before_s`. */
static double maximum_before(const struct verdict_window *window, double before_s)
{
	double maximum = 0;

	for (size_t i = window->count / 2; i < window->count; i++) {
		if (window->points[i].time_s < before_s)
			maximum = MAX(maximum, window->points[i].value);
	}
	return maximum;
}

static bool is_tail(const struct trend *coarse, const struct trend *fine)
{
	double tail = coarse->thirds[2] / (coarse->span_s / 3);

	return coarse->verdict == TREND_PLATEAU &&
	       coarse->thirds[2] <= SLOWING * coarse->thirds[1] &&
	       fine->slope <= MAX(tail, 0) * TAIL_MARGIN;
}

/* Returns whether the growth in the finer window is part of something older. */
static bool explains(const struct verdict_window *coarse, const struct verdict_window *fine,
		     bool next)
{
	const struct trend *older = &coarse->trend;
	/* Means cut off peaks: allows for the gain from one to the next, and half of that. */
	double tip = coarse->count > 1
			     ? 1.5 * fine->trend.slope * older->span_s / (double)(coarse->count - 1)
			     : 0;

	if (older->verdict == TREND_CHURNING && fine->trend.last <= older->maximum + tip)
		return true;
	/* Only recent values: a peak of hours ago must not hide a leak of today. */
	if (next && older->verdict != TREND_TOO_EARLY && !trend_is_suspect(older->verdict) &&
	    fine->trend.last <=
		    maximum_before(coarse, fine->points[0].time_s) + (older->falls >= 2 ? tip : 0))
		return true;
	return is_tail(older, &fine->trend);
}

static bool is_unexplained_suspect(const struct verdict_window *windows, size_t count, size_t i)
{
	if (!trend_is_suspect(windows[i].trend.verdict))
		return false;
	for (size_t above = i + 1; above < count; above++) {
		if (explains(&windows[above], &windows[i], above == i + 1))
			return false;
	}
	return true;
}

/* Returns the longest window with growth that no longer one explains; `count`: no growth. */
static size_t deciding(const struct verdict_window *windows, size_t count)
{
	for (size_t i = count; i-- > 0;) {
		if (is_unexplained_suspect(windows, count, i))
			return i;
	}
	return count;
}

/* Without growth, the longest window with a verdict names it. */
static size_t telling(const struct verdict_window *windows, size_t count)
{
	size_t found = 0;

	for (size_t i = 1; i < count; i++) {
		if (windows[i].trend.verdict != TREND_TOO_EARLY &&
		    !trend_is_suspect(windows[i].trend.verdict) &&
		    windows[i].trend.verdict >= windows[found].trend.verdict)
			found = i;
	}
	return found;
}

/* A longer window begins with few points: a finer one's certainty prevails. */
static bool finer_says_leaking(const struct verdict_window *windows, size_t count, size_t decided)
{
	for (size_t i = 0; i < decided; i++) {
		if (windows[i].trend.verdict == TREND_LEAKING &&
		    is_unexplained_suspect(windows, count, i))
			return true;
	}
	return false;
}

void verdict_judge(struct judgement *judgement, struct verdict_window *windows, size_t count,
		   const struct trend_options *options)
{
	struct trend *evidence = &judgement->evidence;
	struct trend_options coarser = *options;

	coarser.points_min = 0;
	for (size_t i = 0; i < count; i++)
		verdict_of_window(&windows[i].trend, windows[i].points, windows[i].count,
				  i ? &coarser : options);
	judgement->window = deciding(windows, count);
	if (judgement->window < count) {
		*evidence = windows[judgement->window].trend;
		if (evidence->keeps_leaking &&
		    finer_says_leaking(windows, count, judgement->window))
			evidence->verdict = TREND_LEAKING;
		return;
	}
	judgement->window = telling(windows, count);
	*evidence = windows[judgement->window].trend;
	/* Growth that an older window explains, and that has no other verdict. */
	if (trend_is_suspect(evidence->verdict)) {
		evidence->verdict = TREND_CHURNING;
		evidence->confidence = 0;
	}
}
