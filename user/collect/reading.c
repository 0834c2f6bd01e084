// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/reading.h"

#include <bpf/bpf.h>
#include <errno.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "collect/map_walk.h"

void reading_free(struct reading *reading)
{
	ledgers_free(&reading->before);
	ledgers_free(&reading->after);
	hash_free(&reading->slots);
	free(reading->sum.sites);
	free(reading->sum.processes);
	vec_free(&reading->sum.blocks);
	live_threads_free(&reading->live_threads);
}

static int index_slots(const struct bpf_side *bpf, size_t count, struct hash *slots)
{
	for (size_t slot = 1; slot < count; slot++) {
		uint64_t *value;

		if (!bpf->processes[slot].key)
			continue;
		value = hash_put(slots, bpf->processes[slot].key, NULL);
		if (!value)
			return -ENOMEM;
		*value = slot;
	}
	return 0;
}

static int sum_prepare(struct live_sum *sum, const struct reading *reading)
{
	sum->site_count = reading->site_count;
	sum->sites = calloc(sum->site_count, sizeof(*sum->sites));
	sum->processes = calloc(reading->before.count, sizeof(*sum->processes));
	if (!sum->sites || !sum->processes)
		return -ENOMEM;
	for (size_t i = 0; i < sum->site_count; i++)
		sum->sites[i].oldest_born_ns = UINT64_MAX;
	for (size_t i = 0; i < reading->before.count; i++) {
		sum->processes[i].lost.oldest_born_ns = UINT64_MAX;
		sum->processes[i].ended = reading->bpf->processes[i].state != LM_PROCESS_ALIVE;
	}
	return 0;
}

/* Before the live set: who ends meanwhile has not ended yet. */
static int take_live_threads(struct reading *reading)
{
	_cleanup_close_ int fd = -1;

	if (reading->bpf->live_threads_fd < 0)
		return 0; /* nothing is older than a reading that never was: no block is marked */
	fd = bpf_iter_create(reading->bpf->live_threads_fd);
	return fd < 0 ? -errno : live_threads_read(&reading->live_threads, fd);
}

static void unscale_owners(const struct collect_options *options)
{
	for (size_t i = 0; i < options->owners->list.count; i++) {
		struct owner *owner = &options->owners->list.items[i];

		owner->bytes = live_unscale(options, owner->bytes);
		owner->count = live_unscale(options, owner->count);
	}
}

int reading_take(struct reading *reading, const struct bpf_side *bpf,
		 const struct collect_options *options)
{
	int error;

	*reading = (struct reading){.bpf = bpf, .options = options};
	error = ledgers_read(bpf, &reading->before);

	if (error)
		return error;
	reading->site_count =
		MIN(__atomic_load_n(bpf->site_count, __ATOMIC_ACQUIRE), bpf->max_sites);
	error = index_slots(bpf, reading->before.count, &reading->slots);
	if (!error)
		error = sum_prepare(&reading->sum, reading);
	if (error)
		return error;
	reading->sum.options = options;
	reading->sum.slots = &reading->slots;
	reading->sum.live_threads = &reading->live_threads;
	reading->sum.now_ns = monotonic_ns();
	/* With -C, too: it also looks at those that share a target's memory. */
	error = take_live_threads(reading);
	if (!error && !options->combined_only)
		error = map_walk(bpf->blocks_fd, sizeof(struct lm_block_key),
				 sizeof(struct lm_block), live_sum_visit, &reading->sum);
	if (!error && options->owners)
		unscale_owners(options);
	return error ? error : ledgers_read(bpf, &reading->after);
}
