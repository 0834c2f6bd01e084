// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/live_sum.h"

#include <errno.h>
#include <math.h>

#include "base/cleanup.h"
#include "collect/live_set.h"

static bool sampling(const struct collect_options *options)
{
	return options->sample_rate > 1 || options->sample_bytes;
}

/* The inverse of the probability in bpf/sample.bpf.h. */
uint64_t live_weight(const struct collect_options *options, uint64_t size)
{
	double probability;

	if (!sampling(options))
		return 1;
	if (options->sample_rate > 1)
		probability = 1.0 / (double)options->sample_rate;
	else
		probability = -expm1(-(double)MAX(size, 1) / (double)options->sample_bytes);
	return (uint64_t)llround((double)(1 << LM_WEIGHT_SHIFT) / probability);
}

uint64_t live_unscale(const struct collect_options *options, uint64_t scaled)
{
	return sampling(options) ? scaled >> LM_WEIGHT_SHIFT : scaled;
}

static void site_add(struct live_site *site, const struct lm_block *block, uint64_t age_ns,
		     uint64_t weight)
{
	site->bytes += block->size * weight;
	site->count += weight;
	site->oldest_born_ns = MIN(site->oldest_born_ns, block->born_ns);
	for (size_t i = 0; i < SITE_AGES_MAX_ && age_ns >= site_age_limits_ns[i]; i++)
		site->ages[i] += weight;
}

static int block_keep(struct live_sum *sum, const struct lm_block_key *key,
		      const struct lm_block *block)
{
	struct live_block *kept = vec_push(&sum->blocks);

	if (!kept)
		return -ENOMEM;
	*kept = (struct live_block){.process = key->process,
				    .address = key->address,
				    .size = block->size,
				    .born_ns = block->born_ns,
				    .site = block->site,
				    .tid = block->tid};
	return 0;
}

static int sum_one(struct live_sum *sum, const struct lm_block_key *key,
		   const struct lm_block *block)
{
	uint64_t *slot = hash_get(sum->slots, key->process);
	struct live_process *process = slot ? &sum->processes[*slot] : NULL;
	uint64_t weight = live_weight(sum->options, block->size);
	/* A block may be born after `now` was read. */
	uint64_t age_ns = sum->now_ns - MIN(sum->now_ns, block->born_ns);

	/* What appeared after slots and sites were read is for the next snapshot. */
	if (!process || block->site >= sum->site_count)
		return 0;
	process->scanned++;
	process->bytes += block->size * weight;
	if (age_ns < sum->options->older_ns && !process->ended)
		return 0;
	site_add(block->site == LM_SITE_LOST ? &process->lost : &sum->sites[block->site], block,
		 age_ns, weight);
	return sum->options->keep_blocks ? block_keep(sum, key, block) : 0;
}

int live_sum_visit(const struct live_batch *batch, void *context)
{
	int error = 0;

	for (size_t i = 0; i < batch->count && !error; i++)
		error = sum_one(context, &batch->keys[i], &batch->values[i]);
	return error;
}
