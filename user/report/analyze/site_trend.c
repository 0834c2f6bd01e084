// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/analyze/site_trend.h"

#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "report/analyze/verdict.h"

/* Of a longer history, evenly spaced points: a trough between two of them is missed. */
#define POINTS_MAX 320
/* Windows of report/analyze/verdict.h that this few points fill. */
#define SITE_WINDOWS 2
/* A site keeps no block if its oldest is younger than this share of the time it has held some. */
#define KEPT_SHARE 0.5
/* With this many blocks freed per block held, none of the original blocks is left. */
#define TURNOVER_MIN 1.0
/*
 * The series is cut into this many parts; low points that rise from each to the next are chance in
 * one of 40,320 cases.
 */
#define PARTS 8
#define PART_POINTS_MIN 8
/*
 * Factors on the 95 % limits by which growth must exceed chance: since verdicts are re-examined
 * again and again, 99.9 %; and 67 % in the latter half of its time.
 */
#define HITS_SURE (3.29 / 1.96)
#define HITS_LATEST (0.97 / 1.96)
#define NS_PER_S 1e9

static double seconds_at(const struct history *history, size_t time)
{
	return (double)(history->times.items[time].monotonic_ns -
			history->times.items[0].monotonic_ns) /
	       NS_PER_S;
}

/*
 * Picks points from the time `from` on, including the first and the latest. Returns their number.
 */
static size_t points_pick(const struct history *history, const struct history_series *series,
			  size_t from, struct trend_point points[POINTS_MAX])
{
	size_t times = history->times.count - from, count = MIN(times, POINTS_MAX);

	for (size_t i = 0; i < count; i++) {
		size_t time = from + (count > 1 ? i * (times - 1) / (count - 1) : 0);

		points[i] = (struct trend_point){
			.time_s = seconds_at(history, time),
			.value = (double)history_point_at(series, time).bytes,
		};
	}
	return count;
}

static void fate_of_blocks(struct site_trend *trend, const struct history_series *series)
{
	struct history_point last = series->points.items[series->points.count - 1], first = {0};
	double allocated, freed, held;

	/* Blocks of the very first snapshot were allocated before the series began. */
	if (!series->first)
		first = series->points.items[0];
	allocated =
		(double)(last.allocated_count - MIN(last.allocated_count, first.allocated_count));
	freed = (double)(last.freed_count - MIN(last.freed_count, first.freed_count));
	held = (double)last.allocated_count - (double)last.freed_count;
	trend->turnover = freed / MAX(held, 1);
	if (allocated <= 0)
		trend->survival = -1;
	else
		/* Without further knowledge, frees are assumed to hit the old blocks first. */
		trend->survival = MAX(allocated - freed, 0) / allocated;
}

/* Returns how long the site has held memory without interruption, in seconds. */
static double held_for_s(const struct history *history, const struct history_series *series)
{
	size_t i = series->points.count;

	while (i && series->points.items[i - 1].count)
		i--;
	if (i == series->points.count)
		return 0;
	return seconds_at(history, history->times.count - 1) -
	       seconds_at(history, series->first + i);
}

/* Computes the average bytes and blocks held over some points. */
static void held_on_average(const struct history_series *series, size_t from, size_t to,
			    double *bytes, double *count)
{
	*bytes = *count = 0;
	for (size_t i = from; i < to; i++) {
		*bytes += (double)series->points.items[i].bytes / (double)(to - from);
		*count += (double)series->points.items[i].count / (double)(to - from);
	}
}

/*
 * Returns whether at least half of the growth comes from larger blocks, not from more of them:
 * lengthening messages of a queue, an array that is copied to a larger place again and again. Such
 * blocks are always young, so their age proves nothing.
 */
static bool blocks_grow(const struct history_series *series)
{
	size_t points = series->points.count, part = points / 4;
	double bytes, count, bytes_before, count_before;

	if (!part)
		return false;
	held_on_average(series, 0, part, &bytes_before, &count_before);
	held_on_average(series, points - part, points, &bytes, &count);
	if (count_before <= 0 || count <= 0 || bytes <= bytes_before)
		return false;
	return bytes - count * (bytes_before / count_before) >= (bytes - bytes_before) / 2;
}

static bool keeps_no_block(const struct site_trend *trend, const struct history *history,
			   const struct history_series *series)
{
	uint64_t oldest_ns = series->points.items[series->points.count - 1].oldest_ns;
	double held_s = held_for_s(history, series);

	return oldest_ns && held_s > 0 && (double)oldest_ns / NS_PER_S < KEPT_SHARE * held_s &&
	       trend->turnover >= TURNOVER_MIN;
}

/*
 * Returns whether the unfreed base grows, below all fluctuation: a working set hides a slow leak
 * from every statistic of the whole, but not from its low points.
 */
static bool low_points_rise(const struct trend_point *points, size_t count)
{
	double before = 0, first = 0, low = 0;

	if (count < (size_t)PARTS * PART_POINTS_MIN)
		return false;
	for (size_t part = 0; part < PARTS; part++) {
		size_t from = part * count / PARTS, to = (part + 1) * count / PARTS;

		low = points[from].value;
		for (size_t i = from; i < to; i++)
			low = MIN(low, points[i].value);
		if (part && low <= before)
			return false;
		if (!part)
			first = low;
		before = low;
	}
	return low - first >= verdict_limits(SUBJECT_SITE)->quantum;
}

static enum trend_verdict verdict_of(const struct site_trend *trend, const struct history *history,
				     const struct history_series *series)
{
	enum trend_verdict verdict = trend->trend.verdict;

	bool hides_growth =
		trend->low_points_rise &&
		(verdict == TREND_CHURNING || verdict == TREND_ONE_OFF || verdict == TREND_STEADY);

	if (hides_growth)
		verdict = TREND_GROWING;
	if (trend_is_suspect(verdict) && !trend->blocks_grow &&
	    keeps_no_block(trend, history, series))
		return TREND_CHURNING;
	if (verdict == TREND_STEADY && trend->turnover >= TURNOVER_MIN)
		return TREND_CHURNING;
	return verdict;
}

/* The latest points, and all of them in groups: the remainder comes after the last full group. */
static void windows_fill(struct verdict_window windows[SITE_WINDOWS],
			 const struct trend_point *points, size_t count)
{
	size_t latest = MIN(count, VERDICT_POINTS), groups = count / VERDICT_FOLD;

	windows[0].count = latest;
	memcpy(windows[0].points, points + count - latest, latest * sizeof(*points));
	windows[1].count = MIN(groups, VERDICT_POINTS);
	for (size_t i = 0; i < windows[1].count; i++) {
		struct trend_point *mean = &windows[1].points[i];

		*mean = (struct trend_point){0};
		for (size_t j = 0; j < VERDICT_FOLD; j++) {
			mean->time_s += points[i * VERDICT_FOLD + j].time_s / VERDICT_FOLD;
			mean->value += points[i * VERDICT_FOLD + j].value / VERDICT_FOLD;
		}
	}
}

/*
 * Without growth, the original points describe the course best; most sites of a long run never
 * change, and need no more.
 */
static void judge_bytes(struct trend *trend, const struct trend_point *points, size_t count,
			const struct trend_options *options)
{
	struct verdict_window windows[SITE_WINDOWS];
	struct judgement judgement;

	trend_judge(trend, points, count, options);
	if (trend->maximum - trend->minimum < options->quantum)
		return;
	windows_fill(windows, points, count);
	verdict_judge(&judgement, windows, SITE_WINDOWS, options);
	if (trend_is_suspect(trend->verdict) || trend_is_suspect(judgement.evidence.verdict) ||
	    judgement.evidence.verdict == TREND_TOO_EARLY)
		*trend = judgement.evidence;
}

static struct poisson_sum hits_of(double bytes, double hit_bytes)
{
	bytes = MAX(bytes, 0);
	return (struct poisson_sum){bytes, bytes * hit_bytes, hit_bytes};
}

/* Returns the point span_s before the latest one. */
static struct history_point point_before(const struct history *history,
					 const struct history_series *series, double span_s)
{
	size_t time = history->times.count - 1;
	double since_s = seconds_at(history, time) - span_s;

	while (time && seconds_at(history, time - 1) >= since_s - 1e-3)
		time--;
	return history_point_at(series, time);
}

/* The growth of a site in hits of a sampler, and its 95 % limits. */
struct hits_growth {
	double sum;
	struct bounds limits;
};

static struct hits_growth hits_growth(const struct history_point *first,
				      const struct history_point *last, double hit_bytes)
{
	struct poisson_sum before = hits_of((double)first->bytes, hit_bytes);
	struct poisson_sum after = hits_of((double)last->bytes, hit_bytes);
	struct poisson_sum come =
		hits_of((double)last->allocated_bytes - (double)first->allocated_bytes, hit_bytes);
	struct poisson_sum gone =
		hits_of((double)last->freed_bytes - (double)first->freed_bytes, hit_bytes);

	return (struct hits_growth){after.sum - before.sum,
				    poisson_growth(&before, &after, &come, &gone)};
}

/* Returns whether its limits, widened by `times` from those of 95 %, include zero. */
static bool may_be_chance(const struct hits_growth *growth, double times)
{
	return growth->sum - times * (growth->sum - growth->limits.low) <= 0;
}

/*
 * Computes the growth of a site in a program that samples itself, and whether it may be chance: one
 * sample adds half a MiB at once. Growth must also have continued to the end: memory held at the
 * attach is sampled only as new blocks replace it.
 */
static void growth_by_hits(struct site_trend *trend, const struct history *history,
			   const struct history_series *series, double hit_bytes)
{
	double span_s = trend->trend.span_s;
	struct history_point last = series->points.items[series->points.count - 1];
	struct history_point first = point_before(history, series, span_s);
	struct history_point middle = point_before(history, series, span_s / 2);
	struct hits_growth growth = hits_growth(&first, &last, hit_bytes);
	struct hits_growth latest = hits_growth(&middle, &last, hit_bytes);

	trend->hits = growth.sum / hit_bytes;
	trend->growth_limits = growth.limits;
	trend->too_few_hits =
		may_be_chance(&growth, HITS_SURE) || may_be_chance(&latest, HITS_LATEST);
}

/* Judges the readings from the time `from` on. For samples, less than one sample is noise. */
static void series_judge(struct site_trend *trend, const struct history *history,
			 const struct history_series *series, size_t from, double hit_bytes)
{
	struct trend_options options = verdict_options(SUBJECT_SITE, 0);
	struct trend_point points[POINTS_MAX];
	size_t count;

	*trend = (struct site_trend){.survival = -1, .integral_byte_s = series->integral_byte_s};
	if (!series->points.count)
		return;
	options.quantum = MAX(options.quantum, hit_bytes);
	count = points_pick(history, series, from, points);
	judge_bytes(&trend->trend, points, count, &options);
	if (trend->trend.verdict == TREND_TOO_EARLY && trend->trend.minimum < trend->trend.maximum)
		early_judge(&trend->early, points, MIN(count, TREND_POINTS_MAX), options.quantum);
	fate_of_blocks(trend, series);
	trend->low_points_rise = low_points_rise(points, count);
	trend->blocks_grow = trend->turnover >= TURNOVER_MIN && blocks_grow(series);
	trend->verdict = verdict_of(trend, history, series);
	if (hit_bytes <= 0)
		return;
	growth_by_hits(trend, history, series, hit_bytes);
	trend->early.grows &= !trend->too_few_hits;
}

/* This few more blocks are no growth yet, unless they are large or the blocks themselves grow; */
#define BLOCKS_MIN 4
#define BLOCKS_LARGE (64 * 1024.0)
/* nor is this small a share of the process's memory. */
#define PROCESS_SHARE 1e-4

/* Returns the growth since its minimum. */
static struct history_point gained(const struct history_site *site)
{
	const struct history_series *series = &site->series;
	struct history_point last = series->points.items[series->points.count - 1], low = last;

	for (size_t i = 0; i < series->points.count; i++) {
		low.bytes = MIN(low.bytes, series->points.items[i].bytes);
		low.count = MIN(low.count, series->points.items[i].count);
	}
	/* Before its first point it held nothing. */
	if (series->first)
		low.bytes = low.count = 0;
	return (struct history_point){.bytes = last.bytes - low.bytes,
				      .count = last.count - low.count};
}

static bool grew_too_little(const struct history *history, const struct history_site *site)
{
	struct history_point gain = gained(site);
	const struct history_series *all;
	double held = 0;

	if (gain.count < BLOCKS_MIN && (double)gain.bytes < BLOCKS_LARGE &&
	    !blocks_grow(&site->series))
		return true;
	if (site->process_index < history->processes.count) {
		all = &history->processes.items[site->process_index].series;
		held = all->points.count ? (double)all->points.items[all->points.count - 1].bytes
					 : 0;
	}
	return (double)gain.bytes < PROCESS_SHARE * held;
}

/* For samples, limits decide whether growth is too small, not the number of blocks. */
static void doubt_growth(struct site_trend *trend, const struct history *history,
			 const struct history_site *site)
{
	bool suspect = trend_is_suspect(trend->verdict);

	trend->too_few_hits &= suspect;
	trend->too_little = suspect && site->hit_bytes <= 0 && grew_too_little(history, site);
	if (trend->too_few_hits || trend->too_little)
		trend->verdict = TREND_STEADY;
}

/* -------- replacement of untracked blocks */

static double tracked_blocks(const struct history_process *process, size_t time)
{
	return (double)history_point_at(&process->series, time).count;
}

/*
 * A cache that was full at the attach keeps its size, but blocks from before the attach are not
 * tracked: their replacement, for hours if they are seldom evicted, looks like growth. It is
 * replacement if untracked blocks were freed, at least half as many as the site has gained within
 * `span_s`, and the process holds hardly more blocks than before. A leak beside such a cache adds
 * to those.
 */
static bool replaces_untracked_blocks(const struct history *history,
				      const struct history_site *site, double span_s)
{
	const struct history_process *process = &history->processes.items[site->process_index];
	struct trend_point gained[TREND_POINTS_MAX], held[TREND_POINTS_MAX];
	size_t latest = history->times.count - 1, from = latest, count;
	double rate, freed;

	while (from && seconds_at(history, latest) - seconds_at(history, from - 1) <= span_s + 1e-3)
		from--;
	count = MIN(latest - from + 1, (size_t)TREND_POINTS_MAX);
	for (size_t i = 0; i < count; i++) {
		size_t time = from + (count > 1 ? i * (latest - from) / (count - 1) : 0);

		gained[i].time_s = held[i].time_s = seconds_at(history, time);
		gained[i].value = (double)history_point_at(&site->series, time).count;
		held[i].value = (double)history_live_at(process, time);
	}
	rate = trend_theil_sen(gained, count, 0).slope;
	freed = tracked_blocks(process, latest) - tracked_blocks(process, from) -
		(double)(history_live_at(process, latest) - history_live_at(process, from));
	return rate > 0 &&
	       freed >= rate / 2 * (seconds_at(history, latest) - seconds_at(history, from)) &&
	       trend_theil_sen(held, count, 0).slope < rate / 2;
}

static void doubt_leak(struct site_trend *trend, const struct history *history,
		       const struct history_site *site)
{
	const struct verdict_limits *limits = verdict_limits(SUBJECT_SITE);
	bool leaking = trend->verdict == TREND_LEAKING;

	trend->gained = (double)gained(site).bytes;
	trend->too_short = leaking && trend->trend.span_s < (site_trend_is_young(trend)
								     ? limits->leaking_young_s
								     : limits->leaking_s);
	trend->too_small = leaking && trend->gained < limits->leaking;
	trend->replaces = leaking && site->family == FAMILY_HEAP && !trend->blocks_grow &&
			  site->process_index < history->processes.count &&
			  replaces_untracked_blocks(history, site, trend->trend.span_s);
	if (trend->too_short || trend->too_small || trend->replaces)
		trend->verdict = TREND_GROWING;
}

static void judge_alone(struct site_trend *trend, const struct history *history,
			const struct history_site *site)
{
	const struct history_series *series = &site->series;
	const struct history_process *process =
		site->process_index < history->processes.count
			? &history->processes.items[site->process_index]
			: NULL;
	uint64_t count;

	/* Zero before its process existed is no evidence. */
	series_judge(trend, history, series,
		     process ? MIN(process->series.first, series->first) : 0, site->hit_bytes);
	if (!series->points.count)
		return;
	if (process)
		trend->process_age_s = (double)process->age_ns / NS_PER_S;
	doubt_leak(trend, history, site);
	doubt_growth(trend, history, site);
	count = series->points.items[series->points.count - 1].count;
	trend->has_ages = count && series->points.items[series->points.count - 1].oldest_ns;
	for (size_t i = 0; trend->has_ages && i < SITE_AGES_MAX_; i++)
		trend->older_share[i] = MIN((double)site->ages[i] / (double)count, 1.0);
}

static void judge_merged(struct site_trend *trend, const struct history *history,
			 const struct history_merged *merged, const struct history_site *site)
{
	const struct history_series *series = &merged->site.series;
	struct site_trend whole;

	judge_alone(&whole, history, &merged->site);
	if (!trend_is_suspect(whole.verdict) || whole.verdict <= trend->verdict ||
	    trend->gained < SITE_MERGED_SHARE * whole.gained)
		return;
	trend->verdict = whole.verdict;
	trend->too_short = whole.too_short;
	trend->too_small = whole.too_small;
	trend->replaces = whole.replaces;
	trend->too_little = false;
	trend->merged = (struct merged_trend){
		.stacks = merged->stacks,
		.native = site->native,
		.bytes = series->points.items[series->points.count - 1].bytes,
		.trend = whole.trend,
		.per_s = whole.trend.slope * trend->gained / MAX(whole.gained, 1),
	};
	trend->gained = whole.gained;
}

void site_trend_of(struct site_trend *trend, const struct history *history,
		   const struct history_site *site)
{
	judge_alone(trend, history, site);
	if (site->merged && site->series.points.count)
		judge_merged(trend, history, &history->merged.items[site->merged - 1], site);
}

void site_trend_of_process(struct site_trend *trend, const struct history *history,
			   const struct history_process *process)
{
	series_judge(trend, history, &process->series, process->series.first, 0);
}

/* -------- the lasting part of a site */

struct level_window level_window(const struct history *history, size_t at, size_t span)
{
	size_t size = MIN(MAX(span / LEVEL_SHARE, (size_t)1), (size_t)LEVEL_SNAPSHOTS) - 1;
	size_t behind = history->times.count - 1 - at;
	size_t before = MIN(size - MIN(size / 2, behind), at);

	return (struct level_window){
		.first = at - before,
		.at = at,
		.last = at + MIN(size - before, behind),
	};
}

static void range_of(struct level *level, const struct history_series *series,
		     const struct level_window *window)
{
	struct history_point point = history_point_at(series, window->at);

	level->low_bytes = level->high_bytes = point.bytes;
	level->low_count = level->high_count = point.count;
	for (size_t i = window->first; i <= window->last; i++) {
		point = history_point_at(series, i);
		level->low_bytes = MIN(level->low_bytes, point.bytes);
		level->high_bytes = MAX(level->high_bytes, point.bytes);
		level->low_count = MIN(level->low_count, point.count);
		level->high_count = MAX(level->high_count, point.count);
	}
}

struct steps {
	size_t up, all;
	bool down; /* ever, as far as known */
};

static struct steps steps_count(const struct history_series *series,
				const struct level_window *window)
{
	struct steps steps = {.all = window->last - window->first};

	for (size_t i = window->first; i < window->last; i++) {
		struct history_point from = history_point_at(series, i);
		struct history_point to = history_point_at(series, i + 1);

		steps.up += to.bytes > from.bytes || to.count > from.count;
	}
	for (size_t i = 1; i < series->points.count && !steps.down; i++)
		steps.down = series->points.items[i].bytes < series->points.items[i - 1].bytes ||
			     series->points.items[i].count < series->points.items[i - 1].count;
	return steps;
}

/* Takes the minimum of the latest LEVEL_HELD snapshots up to this one, within the window. */
static void held_lately(struct level *level, const struct history_series *series,
			const struct level_window *window)
{
	for (size_t i = window->first; i <= window->at; i++) {
		struct history_point point = history_point_at(series, i);

		if (window->at - i >= LEVEL_HELD)
			continue;
		level->bytes = MIN(level->bytes, point.bytes);
		level->count = MIN(level->count, point.count);
	}
}

static double seconds_between(const struct history *history, size_t from, size_t to)
{
	return ((double)history->times.items[to].monotonic_ns -
		(double)history->times.items[from].monotonic_ns) /
	       NS_PER_S;
}

/* Takes the minimum, plus the growth from there to the snapshot; at most the amount present. */
static void low_points(struct level *level, const struct history *history,
		       const struct history_site *site, const struct level_window *window)
{
	struct history_point now = history_point_at(&site->series, window->at);
	struct site_trend trend;
	double bytes = (double)now.bytes, growth;

	site_trend_of(&trend, history, site);
	growth = site_trend_growth(&trend);
	level->bytes = level->low_bytes;
	level->count = level->low_count;
	level->grows = growth > 0;
	if (!level->grows || !now.bytes)
		return;
	for (size_t i = window->first; i <= window->last; i++)
		bytes = fmin(bytes, (double)history_point_at(&site->series, i).bytes +
					    growth * seconds_between(history, i, window->at));
	level->bytes = MAX((uint64_t)fmax(bytes, 0), MIN(level->low_bytes, now.bytes));
	level->count =
		(uint64_t)round((double)level->bytes / (double)now.bytes * (double)now.count);
}

void level_of(struct level *level, const struct history *history, const struct history_site *site,
	      const struct level_window *window)
{
	struct history_point now = history_point_at(&site->series, window->at);
	struct steps steps = steps_count(&site->series, window);

	*level = (struct level){.bytes = now.bytes, .count = now.count};
	range_of(level, &site->series, window);
	if (steps.down)
		low_points(level, history, site, window);
	else if (2 * steps.up < steps.all)
		held_lately(level, &site->series, window);
}
