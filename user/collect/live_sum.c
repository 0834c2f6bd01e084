// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/live_sum.h"

#include <errno.h>
#include <math.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/records.h"

int live_threads_read(struct live_threads *live, int fd)
{
	_cleanup_(live_threads_free) struct live_threads filled = {.taken_ns = monotonic_ns()};
	void *threads = NULL;
	int error =
		records_read(fd, sizeof(struct lm_live_thread), &threads, &filled.threads.count);

	filled.threads.items = threads;
	filled.threads.capacity = filled.threads.count;
	for (size_t i = 0; i < filled.threads.count && !error; i++) {
		uint64_t *index = hash_put(&filled.by_tid, filled.threads.items[i].tid, NULL);

		if (!index)
			return -ENOMEM;
		*index = i;
	}
	if (error)
		return error;
	*live = filled;
	filled = (struct live_threads){0};
	return 0;
}

void live_threads_free(struct live_threads *live)
{
	vec_free(&live->threads);
	hash_free(&live->by_tid);
}

bool live_threads_has_ended(const struct live_threads *live, lm_process_key process,
			    const struct lm_block *block)
{
	const uint64_t *index = hash_get(&live->by_tid, block->tid);
	const struct lm_live_thread *thread = index ? &live->threads.items[*index] : NULL;

	if (block->born_ns >= live->taken_ns)
		return false;
	/* A thread with the tid that began later is another one. */
	return !thread || thread->process != process || thread->start_ns > block->born_ns;
}

static bool sampling(const struct collect_options *options)
{
	return options->sample_rate > 1 || options->sample_bytes;
}

/* The inverse of the probability in bpf/sample.bpf.h. */
static uint64_t live_weight(const struct collect_options *options, uint64_t size)
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

/* One block, as it counts. */
struct weighed {
	lm_process_key process;
	const struct lm_block *block;
	uint64_t weight, age_ns;
	bool by_dead;
};

static void site_add(struct live_site *site, const struct weighed *weighed)
{
	uint64_t bytes = weighed->block->size * weighed->weight;

	site->bytes += bytes;
	site->count += weighed->weight;
	site->by_dead_bytes += weighed->by_dead ? bytes : 0;
	site->by_dead_count += weighed->by_dead ? weighed->weight : 0;
	site->oldest_born_ns = MIN(site->oldest_born_ns, weighed->block->born_ns);
	for (size_t i = 0; i < SITE_AGES_MAX_ && weighed->age_ns >= site_age_limits_ns[i]; i++)
		site->ages[i] += weighed->weight;
}

static void owner_add(const struct owners *owners, const struct weighed *weighed)
{
	struct owner *owner =
		owners_find(owners, weighed->process, weighed->block->tid, weighed->block->born_ns);

	if (!owner)
		return;
	owner->bytes += weighed->block->size * weighed->weight;
	owner->count += weighed->weight;
}

static int block_keep(struct live_sum *sum, uint64_t address, const struct weighed *weighed)
{
	struct live_block *kept = vec_push(&sum->blocks);

	if (!kept)
		return -ENOMEM;
	*kept = (struct live_block){.process = weighed->process,
				    .address = address,
				    .size = weighed->block->size,
				    .born_ns = weighed->block->born_ns,
				    .site = weighed->block->site,
				    .tid = weighed->block->tid,
				    .by_dead = weighed->by_dead};
	return 0;
}

static int sum_one(struct live_sum *sum, const struct lm_block_key *key,
		   const struct lm_block *block)
{
	uint64_t *slot = hash_get(sum->slots, key->process);
	struct live_process *process = slot ? &sum->processes[*slot] : NULL;
	struct weighed weighed = {.process = key->process,
				  .block = block,
				  .weight = live_weight(sum->options, block->size),
				  /* A block may be born after `now` was read. */
				  .age_ns = sum->now_ns - MIN(sum->now_ns, block->born_ns)};

	/* What appeared after slots and sites were read is for the next snapshot. */
	if (!process || block->site >= sum->site_count)
		return 0;
	process->scanned++;
	process->bytes += block->size * weighed.weight;
	/* Of a process that has ended, no thread lives: that tells nothing. */
	weighed.by_dead =
		!process->ended && live_threads_has_ended(sum->live_threads, key->process, block);
	if (sum->options->owners)
		owner_add(sum->options->owners, &weighed);
	if (weighed.age_ns < sum->options->older_ns && !process->ended)
		return 0;
	if (sum->options->only_by_dead && !weighed.by_dead)
		return 0;
	site_add(block->site == LM_SITE_LOST ? &process->lost : &sum->sites[block->site], &weighed);
	return sum->options->keep_blocks ? block_keep(sum, key->address, &weighed) : 0;
}

int live_sum_visit(const void *keys, const void *values, size_t count, void *context)
{
	const struct lm_block_key *key = keys;
	const struct lm_block *block = values;
	int error = 0;

	for (size_t i = 0; i < count && !error; i++)
		error = sum_one(context, &key[i], &block[i]);
	return error;
}
