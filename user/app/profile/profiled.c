// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/profile/profiled.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/cleanup.h"

/* Samples kept per site and window: at its end, and from the third look on. */
#define ADMIT_MOST 128
#define ADMIT_LEAST 4
#define YOUNG_AGE 3
static const size_t young_most[SAMPLE_DEAD] = {
	[SAMPLE_UNTOUCHED] = 24,
	[SAMPLE_CHANGED] = 8,
};
/*
 * Settled samples kept per site: when more wait for the same look, some are dropped. The limit is
 * per age, because the few old blocks identify a leak, while young ones arrive every second. Beyond
 * the age that suffices for a verdict, few are enough.
 */
static const double waiting_most[SAMPLE_DEAD] = {
	[SAMPLE_UNTOUCHED] = 16,
	[SAMPLE_CHANGED] = 8,
};
#define WAITING_OLD_SHARE 0.25

/* splitmix64 (Sebastiano Vigna, public domain). */
static uint64_t random_next(struct profiled *profiled)
{
	uint64_t mixed = profiled->random += 0x9e3779b97f4a7c15u;

	mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9u;
	mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebu;
	return mixed ^ mixed >> 31;
}

static double random_unit(struct profiled *profiled)
{
	return (double)(random_next(profiled) >> 11) / 9007199254740992.0;
}

void profiled_init(struct profiled *profiled, uint64_t seed)
{
	*profiled = (struct profiled){.random = seed, .due_s = INFINITY};
}

void profiled_free(struct profiled *profiled)
{
	for (size_t i = 0; i < profiled->sites.count; i++) {
		site_figures_free(&profiled->sites.items[i]->figures);
		free(profiled->sites.items[i]);
	}
	for (size_t i = 0; i < profiled->windows.count; i++)
		vec_free(&profiled->windows.items[i].samples);
	vec_free(&profiled->sites);
	vec_free(&profiled->windows);
	hash_free(&profiled->by_index);
	free(profiled->contents);
	*profiled = (struct profiled){.due_s = INFINITY};
}

/* Finds a site in profiled->sites. Returns 0 or -ENOENT. */
static int site_find(const struct profiled *profiled, uint32_t index, uint32_t *found)
{
	const uint64_t *slot = hash_get(&profiled->by_index, index);

	if (!slot)
		return -ENOENT;
	*found = (uint32_t)*slot;
	return 0;
}

static int site_add(struct profiled *profiled, uint32_t index, uint32_t *found)
{
	uint64_t *slot = hash_put(&profiled->by_index, index, NULL);
	struct profile_site **site;

	if (!slot)
		return -ENOMEM;
	site = vec_push(&profiled->sites);
	if (site)
		*site = calloc(1, sizeof(**site));
	if (!site || !*site) {
		profiled->sites.count -= site != NULL;
		hash_remove(&profiled->by_index, index);
		return -ENOMEM;
	}
	(*site)->index = index;
	*found = (uint32_t)(profiled->sites.count - 1);
	slot = hash_get(&profiled->by_index, index);
	*slot = *found;
	return 0;
}

/* -------- a window */

static int take_births(struct profiled *profiled, const struct profile_window *window,
		       const struct window_taken *taken)
{
	/* Once a site has been left out, admit none: an old site would seem new. */
	size_t room = profiled->unfollowed ? 0 : taken->site_room;
	uint32_t site;

	for (size_t i = 0; i < taken->birth_count; i++) {
		int error = site_find(profiled, taken->births[i].site, &site);

		if (error && !room) {
			profiled->unfollowed += taken->births[i].blocks;
			continue;
		}
		room -= error != 0;
		if (error)
			error = site_add(profiled, taken->births[i].site, &site);
		if (error)
			return error;
		site_figures_births(&profiled->sites.items[site]->figures, &profiled->figures,
				    window, (double)taken->births[i].blocks,
				    (double)taken->births[i].bytes);
	}
	return 0;
}

static int by_site(const void *a, const void *b)
{
	const struct window_block *x = a, *y = b;

	if (x->site != y->site)
		return x->site < y->site ? -1 : 1;
	return x->address < y->address ? -1 : x->address > y->address;
}

static size_t site_run(const struct window_block *blocks, size_t count)
{
	size_t run = 1;

	while (run < count && blocks[run].site == blocks->site)
		run++;
	return run;
}

/*
 * Chooses `wanted` of a site's blocks, in their order, each with the same probability (selection
 * sampling; D. E. Knuth, The Art of Computer Programming 2, 3.4.2, algorithm S). Ignores sites that
 * are not followed.
 */
static int admit(struct profiled *profiled, struct sample_window *window,
		 const struct window_block *blocks, size_t count, size_t wanted)
{
	uint32_t site;
	size_t left = MIN(wanted, count);

	if (site_find(profiled, blocks->site, &site))
		return 0;
	if (left && site_figures_follow(&profiled->sites.items[site]->figures))
		return -ENOMEM;
	for (size_t i = 0; i < count && left; i++) {
		struct profile_sample *sample;

		if (random_unit(profiled) * (double)(count - i) >= (double)left)
			continue;
		sample = vec_push(&window->samples);
		if (!sample)
			return -ENOMEM;
		left--;
		*sample = (struct profile_sample){
			.address = blocks[i].address,
			.size = blocks[i].size,
			.born_ns = blocks[i].born_ns,
			.site = site,
			.weight = (float)count / (float)MIN(wanted, count),
		};
	}
	return 0;
}

static int admit_all(struct profiled *profiled, struct sample_window *window,
		     const struct window_taken *taken)
{
	size_t sites = 0, each;
	int error = 0;

	qsort(taken->blocks, taken->block_count, sizeof(*taken->blocks), by_site);
	for (size_t i = 0; i < taken->block_count; sites++)
		i += site_run(&taken->blocks[i], taken->block_count - i);
	if (!sites)
		return 0;
	each = MIN(ADMIT_MOST, MAX(ADMIT_LEAST, taken->room / sites));
	for (size_t i = 0; i < taken->block_count && !error;) {
		size_t run = site_run(&taken->blocks[i], taken->block_count - i);

		error = admit(profiled, window, &taken->blocks[i], run, each);
		i += run;
	}
	return error;
}

int profiled_take(struct profiled *profiled, const struct window_taken *taken)
{
	struct profile_window at = {
		.at_s = taken->at_s, .length_s = taken->length_s, .wall_s = taken->wall_s};
	struct sample_window *window;
	int error;

	if (!profiled->contents)
		profiled->contents = calloc(PROFILE_CONTENTS, sizeof(*profiled->contents));
	window = profiled->contents ? vec_push(&profiled->windows) : NULL;
	if (!window)
		return -ENOMEM;
	window->window = at;
	window->end_s = taken->end_s;
	process_figures_window(&profiled->figures, &at, taken->balance);
	error = take_births(profiled, &at, taken);
	if (!error)
		error = admit_all(profiled, window, taken);
	profiled->samples += window->samples.count;
	return error;
}

/* -------- later windows */

static int by_address(const void *a, const void *b)
{
	const struct known_block *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x->born_ns < y->born_ns ? -1 : x->born_ns > y->born_ns;
}

static bool knows(const struct known_block *known, size_t count, uint64_t address, uint64_t born_ns)
{
	struct known_block wanted = {address, born_ns};

	return count && bsearch(&wanted, known, count, sizeof(*known), by_address);
}

void profiled_mark_freed(struct profiled *profiled, const struct known_block *known, size_t count)
{
	for (size_t i = 0; i < profiled->windows.count; i++) {
		struct sample_window *window = &profiled->windows.items[i];

		for (size_t j = 0; j < window->samples.count; j++) {
			struct profile_sample *sample = &window->samples.items[j];

			sample->seen_dead |= !knows(known, count, sample->address, sample->born_ns);
		}
	}
}

int profiled_index(const struct profiled *profiled, struct profile_index *index)
{
	index->blocks.count = 0;
	for (size_t i = 0; i < profiled->windows.count; i++) {
		const struct sample_window *window = &profiled->windows.items[i];

		for (size_t j = 0; j < window->samples.count; j++) {
			struct known_block *block = vec_push(&index->blocks);

			if (!block)
				return -ENOMEM;
			block->address = window->samples.items[j].address;
			block->born_ns = window->samples.items[j].born_ns;
		}
	}
	if (index->blocks.count)
		qsort(index->blocks.items, index->blocks.count, sizeof(*index->blocks.items),
		      by_address);
	return 0;
}

bool profile_index_has(const struct profile_index *index, uint64_t address, uint64_t born_ns)
{
	return knows(index->blocks.items, index->blocks.count, address, born_ns);
}

/* -------- looks */

static double window_due_s(const struct sample_window *window)
{
	return window->end_s + profile_age_s(window->age);
}

size_t profiled_due(const struct profiled *profiled, double now_s)
{
	if (now_s < profiled->due_s)
		return SIZE_MAX;
	for (size_t i = 0; i < profiled->windows.count; i++) {
		if (window_due_s(&profiled->windows.items[i]) <= now_s)
			return i;
	}
	return SIZE_MAX;
}

static void find_next_due(struct profiled *profiled)
{
	profiled->due_s = INFINITY;
	for (size_t i = 0; i < profiled->windows.count; i++)
		profiled->due_s = fmin(profiled->due_s, window_due_s(&profiled->windows.items[i]));
}

void profiled_look_begin(const struct profiled *profiled, size_t window,
			 struct look_request *requests)
{
	const struct sample_window *at = &profiled->windows.items[window];
	bool is_glibc = profiled->chunks > profiled->no_chunks;

	for (size_t i = 0; i < at->samples.count; i++)
		requests[i] = (struct look_request){
			.address = at->samples.items[i].address,
			.size = at->samples.items[i].size,
			.find_chunk = !at->age,
			.chunk = is_glibc ? at->samples.items[i].chunk : 0,
		};
}

/* Returns whether these contents have occurred before, in this process and run. */
static bool is_common(struct profiled *profiled, const struct look_result *result)
{
	uint64_t *place = &profiled->contents[result->hash % PROFILE_CONTENTS];
	bool met = *place == result->hash;

	*place = result->hash;
	return met || result->uniform;
}

/* Records the contents at the first look. */
static void note_contents(struct profiled *profiled, struct profile_sample *sample,
			  const struct look_result *result)
{
	sample->hash = result->hash;
	sample->absent = result->state == LOOK_ABSENT;
	sample->telling = result->state == LOOK_READ && !is_common(profiled, result);
	sample->chunk = result->chunk;
	profiled->chunks += result->chunk != 0;
	profiled->no_chunks += result->state == LOOK_READ && !result->chunk;
	if (result->state != LOOK_READ && !sample->absent)
		sample->state = SAMPLE_CHANGED; /* nothing to compare with */
}

static bool is_same(const struct profile_sample *sample, const struct look_result *result)
{
	if (sample->absent)
		return result->state == LOOK_ABSENT;
	return result->state == LOOK_READ && result->hash == sample->hash;
}

static bool counts_as(const struct profile_sample *sample, enum survivor survivor)
{
	if (survivor == SURVIVOR_UNDEAD)
		return sample->state != SAMPLE_DEAD;
	return sample->state == SAMPLE_UNTOUCHED &&
	       (survivor == SURVIVOR_UNTOUCHED || sample->telling);
}

static void update(struct profile_sample *sample, const struct look_result *result)
{
	if (sample->seen_dead || result->freed || result->state == LOOK_UNMAPPED)
		sample->state = SAMPLE_DEAD;
	else if (!is_same(sample, result))
		sample->state = SAMPLE_CHANGED;
}

static void tally_sample(struct look_tally tally[SURVIVOR_MAX_], struct profile_sample *sample,
			 const struct look_result *result)
{
	double weight = (double)sample->weight;
	bool before[SURVIVOR_MAX_], same = is_same(sample, result);

	/* Swapped-out memory is unknown, and not counted this time. */
	if (result->state == LOOK_SWAPPED && !sample->seen_dead) {
		for (size_t i = 0; i < SURVIVOR_MAX_; i++) {
			if (!counts_as(sample, i))
				continue;
			tally[i].untold += weight;
			tally[i].untold_bytes += weight * (double)sample->size;
			tally[i].weight_most = fmax(tally[i].weight_most, weight);
		}
		return;
	}
	for (size_t i = 0; i < SURVIVOR_MAX_; i++)
		before[i] = counts_as(sample, i);
	update(sample, result);
	for (size_t i = 0; i < SURVIVOR_MAX_; i++) {
		if (!before[i])
			continue;
		tally[i].at_risk += weight;
		tally[i].risk2 += weight * weight;
		tally[i].weight_most = fmax(tally[i].weight_most, weight);
		if (sample->seen_dead && same) {
			tally[i].buried += weight;
			tally[i].burials++;
		}
		if (sample->seen_dead)
			tally[i].window_deaths += weight;
		if (!counts_as(sample, i))
			continue;
		tally[i].alive += weight;
		tally[i].alive2 += weight * weight;
		tally[i].bytes += weight * (double)sample->size;
	}
}

static void look_at_site(struct profiled *profiled, struct sample_window *window, size_t first,
			 size_t count, const struct look_result *results)
{
	struct look_tally tally[SURVIVOR_MAX_] = {0};
	struct profile_site *site = profiled->sites.items[window->samples.items[first].site];

	for (size_t i = first; i < first + count; i++) {
		struct profile_sample *sample = &window->samples.items[i];

		if (!window->age) /* the window's end, where all are alive */
			note_contents(profiled, sample, &results[i]);
		tally_sample(tally, sample, &results[i]);
	}
	site_figures_looked(&site->figures, &profiled->figures, &window->window, window->age,
			    tally);
}

static size_t sample_run(const struct sample_window *window, size_t first)
{
	size_t run = 1;

	while (first + run < window->samples.count &&
	       window->samples.items[first + run].site == window->samples.items[first].site)
		run++;
	return run;
}

/* Keeps `wanted` of the samples in one state; they take over the weight of the others. */
static size_t keep_some(struct profiled *profiled, struct profile_sample *samples, size_t count,
			unsigned state, size_t wanted)
{
	size_t all = 0, seen = 0, taken = 0, kept = 0;

	for (size_t i = 0; i < count; i++)
		all += samples[i].state == state;
	for (size_t i = 0; i < count; i++) {
		bool chosen = true;

		if (samples[i].state == state && all > wanted) {
			chosen = random_unit(profiled) * (double)(all - seen) <
				 (double)(wanted - taken);
			seen++;
			taken += chosen;
			samples[i].weight *= (float)all / (float)wanted;
		}
		if (chosen)
			samples[kept++] = samples[i];
	}
	return kept;
}

/*
 * Sets `waiting` of the sites with samples in a window: the number of samples of other windows
 * whose latest look was at this age.
 */
static void count_waiting(struct profiled *profiled, const struct sample_window *window)
{
	for (size_t i = 0; i < window->samples.count; i++) {
		struct profile_site *site = profiled->sites.items[window->samples.items[i].site];

		memset(site->waiting, 0, sizeof(site->waiting));
	}
	for (size_t i = 0; i < profiled->windows.count; i++) {
		const struct sample_window *other = &profiled->windows.items[i];

		for (size_t j = 0; j < other->samples.count && other->age == window->age + 1; j++) {
			const struct profile_sample *sample = &other->samples.items[j];

			profiled->sites.items[sample->site]->waiting[sample->state]++;
		}
	}
}

/* Drops some samples at random; the others take over their weight. */
static size_t let_go(struct profiled *profiled, const struct profile_site *site, size_t age,
		     struct profile_sample *samples, size_t count, unsigned state)
{
	double most = waiting_most[state] * (age < PROFILE_AGE_LEAK ? 1 : WAITING_OLD_SHARE), keep;
	size_t all = site->waiting[state], kept = 0;

	for (size_t i = 0; i < count; i++)
		all += samples[i].state == state;
	keep = most / (double)all;
	for (size_t i = 0; i < count; i++) {
		if (samples[i].state == state && keep < 1) {
			if (random_unit(profiled) >= keep)
				continue;
			samples[i].weight /= (float)keep;
		}
		samples[kept++] = samples[i];
	}
	return kept;
}

static size_t drop_dead(struct profile_sample *samples, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		if (samples[i].state != SAMPLE_DEAD)
			samples[kept++] = samples[i];
	}
	return kept;
}

/* Thins the samples of a site after a look, and returns how many are kept. */
static size_t thin_site(struct profiled *profiled, const struct sample_window *window,
			struct profile_sample *samples, size_t count)
{
	const struct profile_site *site = profiled->sites.items[samples->site];
	size_t left = drop_dead(samples, count);

	for (unsigned state = 0; state < SAMPLE_DEAD; state++) {
		if (window->age == YOUNG_AGE)
			left = keep_some(profiled, samples, left, state, young_most[state]);
		if (window->age >= PROFILE_AGE_SETTLED)
			left = let_go(profiled, site, window->age, samples, left, state);
	}
	return left;
}

static void thin(struct profiled *profiled, struct sample_window *window)
{
	struct profile_sample *samples = window->samples.items;
	size_t kept = 0, run;

	if (window->age >= PROFILE_AGE_SETTLED)
		count_waiting(profiled, window);
	for (size_t i = 0; i < window->samples.count; i += run) {
		size_t left;

		run = sample_run(window, i);
		left = thin_site(profiled, window, &samples[i], run);
		if (left)
			memmove(&samples[kept], &samples[i], left * sizeof(*samples));
		kept += left;
	}
	profiled->samples -= window->samples.count - kept;
	window->samples.count = kept;
}

static size_t halve(struct profiled *profiled, const struct sample_window *window, double most)
{
	struct profile_sample *samples = window->samples.items;
	size_t kept = 0;

	for (size_t i = 0; i < window->samples.count; i++) {
		const struct profile_site *site = profiled->sites.items[samples[i].site];
		bool many = site->samples >= most;

		if (many && random_next(profiled) >> 63)
			continue;
		samples[i].weight *= many ? 2 : 1;
		samples[kept++] = samples[i];
	}
	return kept;
}

/* Returns the mean number of samples of the sites that have any. */
static double count_samples(struct profiled *profiled)
{
	size_t sites = 0;

	for (size_t i = 0; i < profiled->sites.count; i++)
		profiled->sites.items[i]->samples = 0;
	for (size_t i = 0; i < profiled->windows.count; i++) {
		const struct sample_window *window = &profiled->windows.items[i];

		for (size_t j = 0; j < window->samples.count; j++)
			sites += !profiled->sites.items[window->samples.items[j].site]->samples++;
	}
	return sites ? (double)profiled->samples / (double)sites : 0;
}

void profiled_halve(struct profiled *profiled)
{
	double mean = count_samples(profiled);

	profiled->samples = 0;
	for (size_t i = 0; i < profiled->windows.count; i++) {
		struct sample_window *window = &profiled->windows.items[i];

		window->samples.count = halve(profiled, window, mean);
		profiled->samples += window->samples.count;
	}
}

static void window_remove(struct profiled *profiled, size_t i)
{
	struct sample_window *window = &profiled->windows.items[i];

	profiled->samples -= window->samples.count;
	vec_free(&window->samples);
	profiled->windows.items[i] = profiled->windows.items[--profiled->windows.count];
}

/* Advances to the next age. Ages missed meanwhile are skipped: the next look covers them. */
static void to_next_age(struct profiled *profiled, size_t window, double now_s)
{
	struct sample_window *at = &profiled->windows.items[window];

	do {
		at->age++;
	} while (at->age < PROFILE_AGES && at->end_s + profile_age_s(at->age + 1) <= now_s);
	/* An empty window also counts until it has settled. */
	if (at->age >= PROFILE_AGES || (at->age > PROFILE_AGE_SETTLED && !at->samples.count))
		window_remove(profiled, window);
	find_next_due(profiled);
}

void profiled_look_finish(struct profiled *profiled, size_t window, double now_s,
			  const struct look_result *results)
{
	struct sample_window *at = &profiled->windows.items[window];
	size_t run;

	if (results) {
		process_figures_looked(&profiled->figures, &at->window, at->age);
		for (size_t i = 0; i < at->samples.count; i += run) {
			run = sample_run(at, i);
			look_at_site(profiled, at, i, run, results);
		}
		thin(profiled, at);
	}
	to_next_age(profiled, window, now_s);
}
