// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/profile/site_figures.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "report/analyze/verdict.h"

/* A drop below this share of the blocks at a quarter of the age is a loss. */
#define FLAT_SHARE 0.9
#define FLAT_LOW 0.6
/*
 * The share of blocks that outlive their window which must reach a leak's age: a little of the
 * freed memory is never reused, and looks unchanged for ever.
 */
#define LEAK_SHARE 0.002
/*
 * A site with this share of dead blocks among the unchanged ones does not leak; and the least
 * number of deaths for that.
 */
#define HIDDEN_DEAD_SHARE 0.5
#define BURIALS_LEAST 2
/* Estimates of recent rates need this many windows. */
#define RECENT_WINDOWS 8
#define LOOKED_WINDOWS 4

double profile_age_s(size_t age)
{
	if (age <= PROFILE_AGE_SETTLED)
		return age ? (double)(1u << (age - 1)) : 0;
	return 64 * pow(1.25, (double)(age - PROFILE_AGE_SETTLED));
}

/* -------- epochs */

static double epoch_length_s(unsigned merges)
{
	return ldexp(PROFILE_EPOCH_S, (int)merges);
}

/* Returns the epoch of a time within the range of the process's figures. */
static size_t epoch_of(unsigned merges, double at_s)
{
	double epoch = fmax(at_s, 0) / epoch_length_s(merges);

	return epoch < PROFILE_EPOCHS ? (size_t)epoch : PROFILE_EPOCHS - 1;
}

static void process_epoch_join(struct process_epoch *epoch, const struct process_epoch *next)
{
	window_sums_join(&epoch->windows, &next->windows);
	window_sums_join(&epoch->settled, &next->settled);
	count_sums_join(&epoch->balance, &next->balance);
}

static void site_epoch_join(struct site_epoch *epoch, const struct site_epoch *next)
{
	count_sums_join(&epoch->births, &next->births);
	epoch->birth_bytes += next->birth_bytes;
}

static void settled_join(struct settled_epoch *epoch, const struct settled_epoch *next)
{
	for (size_t i = 0; i < SURVIVOR_MAX_; i++)
		count_sums_join(&epoch->blocks[i], &next->blocks[i]);
	epoch->bytes += next->bytes;
}

/* Joins neighbours; the second half becomes free. */
#define EPOCHS_MERGE(epochs, join)                                                                 \
	do {                                                                                       \
		for (size_t i_ = 0; i_ < PROFILE_EPOCHS / 2; i_++) {                               \
			typeof((epochs)[0]) joined_ = (epochs)[2 * i_];                            \
                                                                                                   \
			join(&joined_, &(epochs)[2 * i_ + 1]);                                     \
			(epochs)[i_] = joined_;                                                    \
		}                                                                                  \
		memset(&(epochs)[PROFILE_EPOCHS / 2], 0,                                           \
		       PROFILE_EPOCHS / 2 * sizeof((epochs)[0]));                                  \
	} while (0)

static void process_make_room(struct process_figures *process, double at_s)
{
	while (at_s >= epoch_length_s(process->merges) * PROFILE_EPOCHS) {
		EPOCHS_MERGE(process->epochs, process_epoch_join);
		process->merges++;
	}
}

/* Merges as often as the process has. */
static void site_merge(struct site_figures *site, const struct process_figures *process)
{
	for (; site->merges < process->merges; site->merges++) {
		if (site->looks)
			EPOCHS_MERGE(site->looks->settled, settled_join);
		EPOCHS_MERGE(site->epochs, site_epoch_join);
	}
}

/* -------- counting */

int site_figures_follow(struct site_figures *site)
{
	if (!site->looks)
		site->looks = calloc(1, sizeof(*site->looks));
	return site->looks ? 0 : -ENOMEM;
}

void site_figures_free(struct site_figures *site)
{
	free(site->looks);
	site->looks = NULL;
}

void process_figures_window(struct process_figures *process, const struct profile_window *window,
			    double balance)
{
	struct process_epoch *epoch;

	process_make_room(process, window->at_s);
	epoch = &process->epochs[epoch_of(process->merges, window->at_s)];
	if (process->tracked_s <= 0)
		process->first_s = window->at_s;
	process->tracked_s += window->length_s;
	process->last_s = fmax(process->last_s, window->at_s);
	window_sums_add(&epoch->windows, window->length_s, window->wall_s);
	count_sums_add(&epoch->balance, window->length_s, balance, fabs(balance), 1);
}

void site_figures_births(struct site_figures *site, const struct process_figures *process,
			 const struct profile_window *window, double blocks, double bytes)
{
	struct site_epoch *epoch;

	site_merge(site, process);
	epoch = &site->epochs[epoch_of(site->merges, window->at_s)];
	count_sums_add(&epoch->births, window->length_s, blocks, blocks, 1);
	epoch->birth_bytes += bytes;
}

void process_figures_looked(struct process_figures *process, const struct profile_window *window,
			    size_t age)
{
	window_sums_add(&process->looked[age], window->length_s, window->wall_s);
	if (age == PROFILE_AGE_SETTLED)
		window_sums_add(&process->epochs[epoch_of(process->merges, window->at_s)].settled,
				window->length_s, window->wall_s);
}

/*
 * Adds swapped-out blocks in proportion to those that were looked at. If there are none of these,
 * assumes swapped-out blocks alive, since nothing has touched them lately; that is not certain.
 */
static struct look_tally with_untold(const struct look_tally *tally, enum survivor survivor)
{
	struct look_tally all = *tally;
	double scale;

	if (tally->untold <= 0)
		return all;
	if (tally->at_risk > 0) {
		scale = 1 + tally->untold / tally->at_risk;
		all.alive *= scale;
		all.alive2 *= scale * scale;
		all.weight_most *= scale;
		all.bytes *= scale;
	} else if (survivor != SURVIVOR_TELLING) {
		all.alive = tally->untold;
		all.alive2 = tally->untold * tally->weight_most;
		all.bytes = tally->untold_bytes;
	}
	return all;
}

void site_figures_looked(struct site_figures *site, const struct process_figures *process,
			 const struct profile_window *window, size_t age,
			 const struct look_tally tally[SURVIVOR_MAX_])
{
	const struct look_tally untouched =
		with_untold(&tally[SURVIVOR_UNTOUCHED], SURVIVOR_UNTOUCHED);
	struct site_looks *looks = site->looks;
	struct settled_epoch *settled;

	site_merge(site, process);
	settled = &looks->settled[epoch_of(site->merges, window->at_s)];
	for (size_t i = 0; i < SURVIVOR_MAX_; i++) {
		const struct look_tally all = with_untold(&tally[i], i);
		struct life_cell *cell = &looks->cells[i][age];

		cell->at_risk += (float)tally[i].at_risk;
		cell->alive += (float)tally[i].alive;
		cell->weights2 += (float)tally[i].risk2;
		if (age <= PROFILE_AGE_SETTLED)
			count_sums_add(&looks->early[age].alive[i], window->length_s, all.alive,
				       all.alive2, all.weight_most);
		if (age == PROFILE_AGE_SETTLED)
			count_sums_add(&settled->blocks[i], window->length_s, all.alive, all.alive2,
				       all.weight_most);
	}
	site->deaths += tally[SURVIVOR_UNDEAD].at_risk - tally[SURVIVOR_UNDEAD].alive;
	site->window_deaths += tally[SURVIVOR_UNDEAD].window_deaths;
	if (age > PROFILE_AGE_SETTLED) {
		site->unchanged_s += tally[SURVIVOR_TELLING].at_risk *
				     (profile_age_s(age) - profile_age_s(age - 1));
		site->buried += tally[SURVIVOR_TELLING].buried;
		site->burials += tally[SURVIVOR_TELLING].burials;
	}
	if (age <= PROFILE_AGE_SETTLED)
		looks->early[age].bytes += untouched.bytes;
	if (age == PROFILE_AGE_SETTLED)
		settled->bytes += untouched.bytes;
}

/* -------- judgement */

static const struct site_looks *looks_of(const struct site_figures *site)
{
	static const struct site_looks none;

	return site->looks ? site->looks : &none;
}

/* Returns the index after the last epoch with a window. */
static size_t epochs_used(const struct process_figures *process, bool settled)
{
	size_t used = PROFILE_EPOCHS;

	while (used > 0 && (settled ? process->epochs[used - 1].settled.windows
				    : process->epochs[used - 1].windows.windows) <= 0)
		used--;
	return used;
}

/* Returns the first epoch of the latest third, or an earlier one to get enough windows. */
static size_t recent_from(const struct process_figures *process, bool settled)
{
	size_t used = epochs_used(process, settled), from = used - (used + 2) / 3;
	double windows = 0;

	for (size_t i = from; i < used; i++)
		windows += settled ? process->epochs[i].settled.windows
				   : process->epochs[i].windows.windows;
	while (from > 0 && windows < RECENT_WINDOWS) {
		from--;
		windows += settled ? process->epochs[from].settled.windows
				   : process->epochs[from].windows.windows;
	}
	return from;
}

static void judge_births(const struct site_figures *site, const struct process_figures *process,
			 struct site_judgement *judgement)
{
	struct window_sums windows = {0};
	struct count_sums births = {0};
	double bytes = 0;

	for (size_t i = recent_from(process, false); i < PROFILE_EPOCHS; i++) {
		window_sums_join(&windows, &process->epochs[i].windows);
		count_sums_join(&births, &site->epochs[i].births);
		bytes += site->epochs[i].birth_bytes;
	}
	judgement->births_per_s = interval_rate(&births, &windows);
	judgement->birth_bytes_per_s = windows.time_s > 0 ? bytes / windows.time_s : 0;
}

/* Returns seconds from its first window to its latest. */
static double followed_s(const struct process_figures *process)
{
	return process->last_s - process->first_s;
}

/* Returns the share of that time covered by windows. */
static double tracked_share(const struct process_figures *process)
{
	return process->tracked_s / fmax(followed_s(process), process->tracked_s);
}

/* Returns the greatest age that at least `samples` blocks have reached, at all ages up to it. */
static size_t oldest_age(const struct site_figures *site, enum survivor survivor, double samples)
{
	size_t age = 0;

	while (age + 1 < PROFILE_AGES &&
	       life_cell_samples(&looks_of(site)->cells[survivor][age + 1]) >= samples)
		age++;
	return age;
}

/* Returns the rate at which blocks arrive that reach an age, with that *age and their mean size. */
static struct interval arrivals(const struct site_figures *site,
				const struct process_figures *process, enum survivor survivor,
				size_t *age, double *mean_bytes)
{
	const struct site_looks *looks = looks_of(site);
	struct window_sums windows = {0};
	struct count_sums counts = {0};
	double bytes = 0;

	*age = PROFILE_AGE_SETTLED;
	while (*age > 0 && process->looked[*age].windows < LOOKED_WINDOWS)
		(*age)--;
	if (*age == PROFILE_AGE_SETTLED) {
		for (size_t i = recent_from(process, true); i < PROFILE_EPOCHS; i++) {
			window_sums_join(&windows, &process->epochs[i].settled);
			count_sums_join(&counts, &looks->settled[i].blocks[survivor]);
			bytes += looks->settled[i].bytes;
		}
	} else {
		windows = process->looked[*age];
		counts = looks->early[*age].alive[survivor];
		bytes = looks->early[*age].bytes;
	}
	if (mean_bytes)
		*mean_bytes = counts.sum > 0 ? bytes / counts.sum : 0;
	return interval_rate(&counts, &windows);
}

/*
 * Returns the share of unchanged, settled blocks that are nevertheless dead by some age: an object
 * made again where one was freed may look the same. A window detects such deaths only within
 * itself, so each counts in inverse proportion to the tracked share of time. A single one may be
 * chance.
 */
static double hidden_dead_share(const struct site_figures *site,
				const struct process_figures *process, size_t age)
{
	double deaths_per_s;

	if (site->burials < BURIALS_LEAST || age <= PROFILE_AGE_SETTLED)
		return 0;
	deaths_per_s = site->buried / (site->unchanged_s * tracked_share(process));
	return -expm1(-deaths_per_s * (profile_age_s(age) - profile_age_s(PROFILE_AGE_SETTLED)));
}

static struct interval growth_of(const struct site_figures *site,
				 const struct process_figures *process, enum survivor survivor,
				 double *mean_bytes)
{
	size_t from, to;
	struct interval come = arrivals(site, process, survivor, &from, mean_bytes);
	struct interval stay;

	to = oldest_age(site, survivor, PROFILE_LEAK_SAMPLES);
	if (to <= from)
		return come;
	stay = interval_survival(looks_of(site)->cells[survivor], from, to);
	return interval_product(&come, &stay);
}

static void judge_growth(const struct site_figures *site, const struct process_figures *process,
			 struct site_judgement *judgement)
{
	double mean;
	struct interval growth = growth_of(site, process, SURVIVOR_UNTOUCHED, &mean);
	struct interval telling = growth_of(site, process, SURVIVOR_TELLING, NULL);
	struct interval undead = growth_of(site, process, SURVIVOR_UNDEAD, NULL);
	size_t age = oldest_age(site, SURVIVOR_TELLING, PROFILE_LEAK_SAMPLES);
	double alive = 1 - hidden_dead_share(site, process, age);

	growth.low = fmin(growth.low, telling.low) * alive;
	growth.estimate *= alive;
	judgement->growth_blocks_per_s = growth;
	/* Without settled blocks, use the mean size of births. */
	if (mean <= 0 && judgement->births_per_s.estimate > 0)
		mean = judgement->birth_bytes_per_s / judgement->births_per_s.estimate;
	judgement->growth_bytes_per_s =
		(struct interval){growth.estimate * mean, growth.low * mean, growth.high * mean};
	judgement->most_bytes_per_s = fmax(undead.high, growth.high) * mean;
}

static void judge_survival(const struct site_figures *site, struct site_judgement *judgement)
{
	const struct life_cell *cells = looks_of(site)->cells[SURVIVOR_UNTOUCHED];
	size_t last = oldest_age(site, SURVIVOR_UNDEAD, 1e-9);

	judgement->points = 0;
	for (size_t age = 1; age <= last; age++)
		judgement->survival[judgement->points++] = (struct survival_point){
			.age_s = profile_age_s(age),
			.untouched = cells[age].at_risk > 0
					     ? interval_survival(cells, 0, age)
					     : interval_share(0, life_cell_samples(&cells[1])),
			.undead = interval_survival(looks_of(site)->cells[SURVIVOR_UNDEAD], 0, age),
			.samples = life_cell_samples(&cells[age]),
		};
}

/* Returns the last age that is at most a quarter of this one, but at least the settled age. */
static size_t quarter_age(size_t age)
{
	size_t from = PROFILE_AGE_SETTLED;

	while (from + 1 < age && profile_age_s(from + 1) <= profile_age_s(age) / 4)
		from++;
	return from;
}

/* Returns whether no blocks were lost between a quarter of the greatest age and that age. */
static bool is_flat(const struct site_figures *site, enum survivor survivor)
{
	const struct life_cell *cells = looks_of(site)->cells[survivor];
	size_t age = oldest_age(site, survivor, PROFILE_LEAK_SAMPLES);
	size_t last = oldest_age(site, survivor, 1e-9), from = quarter_age(age);
	struct interval share;

	if (age < PROFILE_AGE_LEAK)
		return false;
	share = interval_survival(cells, from, age);
	if (share.estimate < FLAT_SHARE || share.low < FLAT_LOW)
		return false;
	/* A few blocks cannot prove it, but can refute it. */
	return last == age || interval_survival(cells, age, last).high >= FLAT_LOW;
}

/*
 * Returns the share of blocks that have died. A death detected by a window fell within it, and so
 * counts in inverse proportion to the tracked share of time. A reused address counts as well, so
 * the share may be too large. Deaths detected by looks count once.
 */
static double dead_share(const struct site_figures *site, const struct process_figures *process,
			 size_t age)
{
	double seen =
		1 - interval_survival(looks_of(site)->cells[SURVIVOR_UNDEAD], 0, age).estimate;
	double by_window = site->deaths > 0 ? seen * site->window_deaths / site->deaths : 0;

	if (process->tracked_s <= 0)
		return seen;
	return fmin(seen - by_window + by_window / tracked_share(process), 1);
}

/* With this share dead by the end of their short windows, the others will not live for minutes. */
#define SOON_DEAD_SHARE 0.05

/* Returns the share of blocks that died in the windows of their birth, where no death is missed. */
static double soon_dead_share(const struct site_figures *site)
{
	double births = 0, left = (double)looks_of(site)->cells[SURVIVOR_UNDEAD][0].alive;

	for (size_t i = 0; i < PROFILE_EPOCHS; i++)
		births += site->epochs[i].births.sum;
	return births > 0 ? fmax(1 - left / births, 0) : 0;
}

static bool is_leaking(const struct site_figures *site, const struct process_figures *process,
		       const struct site_judgement *judgement)
{
	const struct life_cell *cells = looks_of(site)->cells[SURVIVOR_UNTOUCHED];
	size_t age = oldest_age(site, SURVIVOR_TELLING, PROFILE_LEAK_SAMPLES);

	return hidden_dead_share(site, process, age) < HIDDEN_DEAD_SHARE &&
	       judgement->growth_blocks_per_s.low > 0 && is_flat(site, SURVIVOR_TELLING) &&
	       interval_survival(cells, 0, PROFILE_AGE_SETTLED).estimate >= LEAK_SHARE;
}

/* Some tables fill for hours: a verdict takes as much growth as with exact tracking. */
static enum profile_verdict verdict_of_leak(const struct process_figures *process,
					    struct site_judgement *judgement)
{
	double bytes_per_s = judgement->growth_bytes_per_s.estimate;
	double missing = verdict_limits(SUBJECT_SITE)->leaking - bytes_per_s * followed_s(process);

	if (missing > 0) {
		judgement->ready_s = missing / bytes_per_s;
		judgement->why = "its blocks stay, but they are little in all so far";
		return PROFILE_TOO_EARLY;
	}
	judgement->why = "its blocks stay, and nothing touches them";
	return PROFILE_LEAKING;
}

/* Judges a site whose blocks have all changed: dead, or in use? */
static enum profile_verdict verdict_of_changed(bool dead, size_t age,
					       struct site_judgement *judgement)
{
	if (dead) {
		judgement->why = "its blocks die";
		return PROFILE_CHURNING;
	}
	judgement->why = "its blocks are written to, and not seen to die";
	if (age >= PROFILE_AGE_LEAK)
		return PROFILE_RETAINED;
	judgement->ready_s = profile_age_s(PROFILE_AGE_LEAK) - profile_age_s(age);
	return PROFILE_TOO_EARLY;
}

static enum profile_verdict verdict_of(const struct site_figures *site,
				       const struct process_figures *process,
				       struct site_judgement *judgement)
{
	const struct life_cell *untouched = looks_of(site)->cells[SURVIVOR_UNTOUCHED];
	size_t oldest = oldest_age(site, SURVIVOR_UNTOUCHED, 1e-9);
	size_t undead = oldest_age(site, SURVIVOR_UNDEAD, 1e-9);

	judgement->age = oldest;
	if (is_leaking(site, process, judgement))
		return verdict_of_leak(process, judgement);
	if (!undead && judgement->births_per_s.estimate > 0 && process->looked[1].windows >= 1 &&
	    untouched[0].alive <= 0) {
		judgement->why = "its blocks die within the windows";
		return PROFILE_CHURNING;
	}
	if (oldest > 0 && untouched[oldest].alive <= 0)
		return verdict_of_changed(dead_share(site, process, undead) >= 0.5 ||
						  soon_dead_share(site) >= SOON_DEAD_SHARE,
					  undead, judgement);
	if (oldest < PROFILE_AGE_LEAK) {
		judgement->ready_s = profile_age_s(PROFILE_AGE_LEAK) - profile_age_s(oldest);
		judgement->why = "its blocks are too young to tell";
		return PROFILE_TOO_EARLY;
	}
	if (life_cell_samples(&untouched[PROFILE_AGE_LEAK]) < PROFILE_LEAK_SAMPLES &&
	    judgement->growth_blocks_per_s.low > 0) {
		judgement->ready_s = -1;
		judgement->why = "too few of its blocks have been followed for long enough";
		return PROFILE_TOO_EARLY;
	}
	if (is_flat(site, SURVIVOR_TELLING))
		judgement->why = "its blocks stay, but few are left, or no more come for sure";
	else if (is_flat(site, SURVIVOR_UNTOUCHED))
		judgement->why = "its blocks stay, or others just like them take their places";
	else
		judgement->why = "its blocks die slowly";
	return PROFILE_RETAINED;
}

void site_figures_judge(struct site_figures *site, const struct process_figures *process,
			struct site_judgement *judgement)
{
	memset(judgement, 0, sizeof(*judgement));
	site_merge(site, process);
	judge_births(site, process, judgement);
	judge_growth(site, process, judgement);
	judge_survival(site, judgement);
	judgement->verdict = verdict_of(site, process, judgement);
}

void process_figures_judge(const struct process_figures *process,
			   struct process_judgement *judgement)
{
	struct window_sums recent = {0};
	struct count_sums balance = {0};

	memset(judgement, 0, sizeof(*judgement));
	for (size_t i = 0; i < PROFILE_EPOCHS; i++) {
		judgement->windows += (size_t)process->epochs[i].windows.windows;
		judgement->tracked_s += process->epochs[i].windows.time_s;
	}
	for (size_t i = recent_from(process, false); i < PROFILE_EPOCHS; i++) {
		window_sums_join(&recent, &process->epochs[i].windows);
		count_sums_join(&balance, &process->epochs[i].balance);
	}
	judgement->net_blocks_per_s = interval_balance(&balance, &recent);
}
