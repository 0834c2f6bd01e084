// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/triage/samples.h"

#include <errno.h>

static uint64_t random_next(struct samples *samples)
{
	samples->random += 0x9e3779b97f4a7c15u; /* Weyl's sequence */
	return hash_mix(samples->random);
}

/* Keeps the samples that `keep` accepts, and rebuilds the index. */
static int compact(struct samples *samples, bool (*keep)(struct samples *, struct sample *))
{
	size_t kept = 0;

	hash_free(&samples->places);
	for (size_t i = 0; i < samples->list.count; i++) {
		struct sample *sample = &samples->list.items[i];
		uint64_t *place;

		if (!keep(samples, sample))
			continue;
		place = hash_put(&samples->places, sample->address, NULL);
		if (!place) {
			hash_free(&samples->places);
			samples->list.count = 0;
			return -ENOMEM;
		}
		*place = kept;
		samples->list.items[kept++] = *sample;
	}
	samples->list.count = kept;
	return 0;
}

static bool keep_half(struct samples *samples, struct sample *sample)
{
	sample->weight *= 2;
	return random_next(samples) >> 63;
}

static bool keep_present(struct samples *samples, struct sample *sample)
{
	(void)samples;
	return sample->units > 0;
}

static int samples_append(struct samples *samples, const struct sample *sample)
{
	uint64_t *place = hash_put(&samples->places, sample->address, NULL);
	struct sample *slot = place ? vec_push(&samples->list) : NULL;

	if (!slot) {
		hash_remove(&samples->places, sample->address);
		return -ENOMEM;
	}
	*place = samples->list.count - 1;
	*slot = *sample;
	slot->order = samples->taken;
	slot->weight = sample->weight * (double)(1ull << samples->halvings);
	return 0;
}

int samples_add(struct samples *samples, const struct sample *sample)
{
	uint64_t *place = hash_get(&samples->places, sample->address);
	int error;

	samples->taken++;
	if (place) {
		struct sample *known = &samples->list.items[*place];

		/* It was admitted at the odds that its weight reflects. */
		known->site = sample->site;
		known->length = sample->length;
		known->order = samples->taken;
		return 0;
	}
	if (random_next(samples) & ((1ull << samples->halvings) - 1))
		return 0;
	error = samples_append(samples, sample);
	if (error || samples->list.count < SAMPLES_MAX)
		return error;
	samples->halvings++;
	return compact(samples, keep_half);
}

int samples_prune(struct samples *samples)
{
	return compact(samples, keep_present);
}

static int by_units(const void *a, const void *b)
{
	const struct sample_sum *one = a, *other = b;
	int order = (one->units < other->units) - (one->units > other->units);

	return order ? order : (one->site > other->site) - (one->site < other->site);
}

/* Returns NULL when out of memory. */
static struct sample_sum *sum_of(struct sample_sums *sums, struct hash *places, uint32_t site)
{
	struct sample_sum *sum;
	uint64_t *place;
	bool fresh;

	place = hash_put(places, site, &fresh);
	if (!place)
		return NULL;
	if (!fresh)
		return &sums->list.items[*place];
	*place = sums->list.count;
	sum = vec_push(&sums->list);
	if (sum)
		sum->site = site;
	return sum;
}

static int sum_add(struct sample_sums *sums, struct hash *places, const struct sample *sample)
{
	struct sample_sum *sum = sum_of(sums, places, sample->site);

	if (!sum)
		return -ENOMEM;
	sum->units += sample->units * sample->weight;
	sum->samples++;
	sums->units += sample->units * sample->weight;
	return 0;
}

int samples_sum(const struct samples *samples, struct sample_sums *sums)
{
	struct sample_sums built = {0};
	struct hash places = {0};
	int error = 0;

	for (size_t i = 0; i < samples->list.count && !error; i++) {
		if (samples->list.items[i].units > 0)
			error = sum_add(&built, &places, &samples->list.items[i]);
	}
	hash_free(&places);
	if (error) {
		sample_sums_free(&built);
		return error;
	}
	if (built.list.count)
		qsort(built.list.items, built.list.count, sizeof(*built.list.items), by_units);
	*sums = built;
	return 0;
}

void sample_sums_free(struct sample_sums *sums)
{
	vec_free(&sums->list);
	*sums = (struct sample_sums){0};
}

void samples_free(struct samples *samples)
{
	vec_free(&samples->list);
	hash_free(&samples->places);
	*samples = (struct samples){0};
}
