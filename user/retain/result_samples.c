// SPDX-License-Identifier: GPL-2.0-or-later
#include "retain/result_samples.h"

#include <errno.h>

#include "analyze/retention.h"
#include "base/cleanup.h"
#include "retain/retain.h"

static uint64_t key_of(const struct retained_sample *sample)
{
	return hash_mix(hash_mix((uint64_t)sample->root << 32 | sample->class) ^
			hash_mix((uint64_t)sample->verdict << 32 | sample->site));
}

static int count_block(struct retain_result *result, struct hash *index,
		       const struct retained_sample *fresh, uint64_t bytes)
{
	uint64_t *slot = hash_put(index, key_of(fresh), NULL);
	struct retained_sample *sample;

	if (!slot)
		return -ENOMEM;
	if (!*slot) {
		sample = vec_push(&result->samples);
		if (!sample)
			return -ENOMEM;
		*sample = *fresh;
		*slot = result->samples.count;
	}
	sample = &result->samples.items[*slot - 1];
	sample->total.blocks++;
	sample->total.bytes += bytes;
	return 0;
}

static int compare(const void *left_pointer, const void *right_pointer)
{
	const struct retained_sample *left = left_pointer, *right = right_pointer;

	if (left->total.bytes != right->total.bytes)
		return left->total.bytes > right->total.bytes ? -1 : 1;
	if (left->root != right->root)
		return left->root < right->root ? -1 : 1;
	if (left->class != right->class)
		return left->class < right->class ? -1 : 1;
	return left->site < right->site ? -1 : left->site > right->site;
}

static int count_all(const struct retain *retain, const uint32_t *class_places,
		     const uint32_t *root_places, const uint32_t *groups,
		     struct retain_result *result)
{
	_cleanup_(hash_free) struct hash index = {0};
	int err = 0;

	for (uint32_t i = 0; !err && i < retain->graph.blocks; i++) {
		struct retained_sample sample = {
			.verdict = retain->retention.verdicts[i],
			.root = RESULT_NONE,
			.class = class_places[retain->classes.of_blocks[i]],
			.site = retain->graph.sites ? retain->graph.sites[i] : 0,
		};

		if (sample.verdict != VERDICT_LOST && groups[i] != ROOT_NONE)
			sample.root = root_places[groups[i]];
		if (sample.site > result->sites.count)
			sample.site = 0;
		err = count_block(result, &index, &sample, retain->graph.sizes[i]);
	}
	return err;
}

int retained_samples_add(const struct retain *retain, const uint32_t *class_places,
			 const uint32_t *root_places, struct retain_result *result)
{
	_cleanup_free_ uint32_t *groups = retention_roots(&retain->retention);
	int err = groups ? count_all(retain, class_places, root_places, groups, result) : -ENOMEM;

	if (!err && result->samples.count)
		qsort(result->samples.items, result->samples.count, sizeof(*result->samples.items),
		      compare);
	return err;
}
