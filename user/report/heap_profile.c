// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/heap_profile.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "report/figures.h"

void heap_profile_free(struct heap_profile *profile)
{
	for (size_t i = 0; i < profile->sites.count; i++) {
		vec_free(&profile->sites.items[i].frames.list);
		free(profile->sites.items[i].addresses);
	}
	vec_free(&profile->sites);
	intern_free(&profile->strings);
}

/* Objects that one sampled object represents: runtime/pprof/protomem.go, scaleHeapSample. */
static double weight_of(const struct heap_profile *profile, uint64_t size)
{
	if (profile->rate <= 1)
		return 1;
	return 1 / -expm1(-(double)size / (double)profile->rate);
}

/* Bytes that these sampled objects of a site represent. */
static struct poisson_sum sum_of(const struct heap_profile *profile,
				 const struct heap_profile_site *site, uint64_t objects)
{
	double each = weight_of(profile, site->size) * (double)site->size;

	return (struct poisson_sum){.sum = each * (double)objects,
				    .variance = each * each * (double)objects,
				    .largest = each};
}

/*
 * The weight of a site, as weighed by the source itself. Of blocks of size S, a number that goes
 * unsampled with probability c has -ln(c) times the rate in bytes, whatever S is: an unseen event
 * counts as the rate.
 */
static struct poisson_sum sum_weighed(const struct heap_profile *profile,
				      const struct heap_weighed *weighed)
{
	return (struct poisson_sum){.sum = weighed->bytes,
				    .variance = weighed->variance,
				    .largest = profile->rate ? (double)profile->rate
							     : weighed->largest};
}

static uint64_t in_use(struct heap_sampled allocated, struct heap_sampled freed)
{
	return allocated.objects - MIN(freed.objects, allocated.objects);
}

/* At a rate of 1 every object is in the profile: the figures are exact. */
static struct bounds limits_of(const struct heap_profile *profile, const struct poisson_sum *sum)
{
	struct bounds limits = poisson_bounds(sum);

	if (profile->rate == 1)
		return (struct bounds){sum->sum, sum->sum};
	/* Blocks far larger than the rate are all sampled. */
	if (!(sum->variance > 0))
		limits.low = sum->sum;
	return limits;
}

static int by_bytes(const void *left, const void *right)
{
	const struct heap_profile_site *a = left, *b = right;

	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	return (a->id > b->id) - (a->id < b->id);
}

void heap_profile_estimate(struct heap_profile *profile)
{
	struct poisson_sum total = {0};

	profile->objects = 0;
	for (size_t i = 0; i < profile->sites.count; i++) {
		struct heap_profile_site *site = &profile->sites.items[i];
		uint64_t objects = in_use(site->allocated, site->freed);
		struct poisson_sum sum = site->size ? sum_of(profile, site, objects)
						    : sum_weighed(profile, &site->weighed);

		site->objects = site->size ? weight_of(profile, site->size) * (double)objects
					   : site->weighed.objects;
		site->bytes = sum.sum;
		site->limits = limits_of(profile, &sum);
		profile->objects += site->objects;
		poisson_add(&total, &sum);
	}
	profile->bytes = total.sum;
	profile->limits = limits_of(profile, &total);
	if (profile->sites.count)
		qsort(profile->sites.items, profile->sites.count, sizeof(*profile->sites.items),
		      by_bytes);
}

void heap_profile_history_free(struct heap_profile_history *history)
{
	vec_free(&history->sites);
	hash_free(&history->index);
}

static const struct heap_profile_past *past_of(const struct heap_profile_history *history,
					       uint64_t id)
{
	static const struct heap_profile_past none;
	const uint64_t *place = hash_get(&history->index, id);

	return place && *place ? &history->sites.items[*place - 1] : &none;
}

/* It is unknown which samples came and went. */
static void compare_weighed(const struct heap_profile *profile,
			    const struct heap_profile_past *past, struct heap_profile_site *site)
{
	struct poisson_sum before = sum_weighed(profile, &past->weighed);
	struct poisson_sum after = sum_weighed(profile, &site->weighed);

	site->growth = after.sum - before.sum;
	site->growth_limits = profile->rate == 1 ? (struct bounds){site->growth, site->growth}
						 : poisson_growth(&before, &after, NULL, NULL);
}

static void compare(const struct heap_profile *profile, const struct heap_profile_past *past,
		    struct heap_profile_site *site)
{
	struct poisson_sum before = sum_of(profile, site, in_use(past->allocated, past->freed));
	struct poisson_sum after = sum_of(profile, site, in_use(site->allocated, site->freed));
	struct poisson_sum come =
		sum_of(profile, site, site->allocated.objects - past->allocated.objects);
	struct poisson_sum gone = sum_of(profile, site, site->freed.objects - past->freed.objects);

	site->growth = after.sum - before.sum;
	site->growth_limits = profile->rate == 1 ? (struct bounds){site->growth, site->growth}
						 : poisson_growth(&before, &after, &come, &gone);
}

int heap_profile_history_add(struct heap_profile_history *history, struct heap_profile *profile)
{
	profile->readings = history->readings;
	profile->span_ns = history->readings ? profile->time_ns - history->first_ns : 0;
	for (size_t i = 0; i < profile->sites.count; i++) {
		struct heap_profile_site *site = &profile->sites.items[i];
		struct heap_profile_past *past;
		uint64_t *place;

		if (history->readings) {
			(site->size ? compare : compare_weighed)(profile,
								 past_of(history, site->id), site);
			continue;
		}
		place = hash_put(&history->index, site->id, NULL);
		past = place ? vec_push(&history->sites) : NULL;
		if (!past)
			return -ENOMEM;
		*past = (struct heap_profile_past){site->id, site->allocated, site->freed,
						   site->weighed};
		*place = history->sites.count;
	}
	if (!history->readings++)
		history->first_ns = profile->time_ns;
	return 0;
}

#define PROFILE(member) offsetof(struct heap_profile, member)
static const struct figure profile_figures[] = {
	FIGURE("version", NULL, CHARS, PROFILE(version),
	       .size = sizeof(((struct heap_profile *)0)->version)),
	FIGURE("rate", NULL, NUMBER, PROFILE(rate)),
	FIGURE("collected", NULL, FLAG, PROFILE(collected)),
	FIGURE("collections", NULL, NUMBER, PROFILE(collections)),
	FIGURE("collected_ns", NULL, NUMBER, PROFILE(collected_ns)),
	FIGURE("monotonic_ns", NULL, NUMBER, PROFILE(time_ns)),
};
const struct figures heap_profile_figures = FIGURES(profile_figures);

#define SITE(member) offsetof(struct heap_profile_site, member)
static const struct figure site_figures[] = {
	FIGURE("id", "stack", ID, SITE(id)),
	FIGURE("size", NULL, NUMBER, SITE(size)),
	FIGURE("allocated_objects", NULL, NUMBER, SITE(allocated.objects)),
	FIGURE("allocated_bytes", NULL, NUMBER, SITE(allocated.bytes)),
	FIGURE("freed_objects", NULL, NUMBER, SITE(freed.objects)),
	FIGURE("freed_bytes", NULL, NUMBER, SITE(freed.bytes)),
};
const struct figures heap_profile_site_figures = FIGURES(site_figures);
