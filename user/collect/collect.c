// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/collect.h"

#include <bpf/bpf.h>
#include <errno.h>

#include "base/cleanup.h"
#include "collect/live_set.h"
#include "collect/reading.h"

struct collector {
	const struct bpf_side *bpf;
	const struct collect_options *options;
	uint64_t sequence;
	uint64_t *purged; /* by slot: blocks that user space gave up */
	bool *settled;	  /* by slot: its process ended and was purged */
};

struct collector *collector_new(const struct bpf_side *bpf, const struct collect_options *options)
{
	struct collector *collector = calloc(1, sizeof(*collector));

	if (!collector)
		return NULL;
	collector->bpf = bpf;
	collector->options = options;
	collector->purged = calloc(bpf->max_processes, sizeof(*collector->purged));
	collector->settled = calloc(bpf->max_processes, sizeof(*collector->settled));
	if (!collector->purged || !collector->settled) {
		collector_free(collector);
		return NULL;
	}
	return collector;
}

void collector_free(struct collector *collector)
{
	if (!collector)
		return;
	free(collector->purged);
	free(collector->settled);
	free(collector);
}

int collector_read(struct collector *collector, struct snapshot *snapshot)
{
	struct snapshot filled = {.sequence = collector->sequence + 1,
				  .monotonic_ns = monotonic_ns(),
				  .has_ages = !collector->options->combined_only,
				  .sampled = collector->options->sample_rate > 1 ||
					     collector->options->sample_bytes};
	struct reading reading = {0};
	int error;

	clock_gettime(CLOCK_REALTIME, &filled.time);
	error = reading_take(&reading, collector->bpf, collector->options);
	if (!error)
		error = reading_to_snapshot(&reading, collector->purged, &filled);
	reading_free(&reading);
	if (error) {
		snapshot_free(&filled);
		return error;
	}
	filled.scan_ns = monotonic_ns() - filled.monotonic_ns;
	collector->sequence++;
	*snapshot = filled;
	return 0;
}

/* Blocks of processes that are no more, found in one walk. */
struct purge {
	const struct bpf_side *bpf;
	struct hash ended; /* process key -> slot */
	VEC(struct lm_block_key) keys;
};

static int purge_visit(const struct live_batch *batch, void *context)
{
	struct purge *purge = context;

	for (size_t i = 0; i < batch->count; i++) {
		struct lm_block_key *key;

		if (!hash_get(&purge->ended, batch->keys[i].process))
			continue;
		key = vec_push(&purge->keys);
		if (!key)
			return -ENOMEM;
		*key = batch->keys[i];
	}
	return 0;
}

static int find_ended(const struct collector *collector, struct purge *purge)
{
	uint32_t count = MIN(__atomic_load_n(collector->bpf->process_count, __ATOMIC_ACQUIRE),
			     collector->bpf->max_processes);

	for (uint32_t slot = 1; slot < count; slot++) {
		const struct lm_process *process = &collector->bpf->processes[slot];
		bool ended =
			process->state == LM_PROCESS_EXECED ||
			(process->state == LM_PROCESS_EXITED && !collector->options->keep_exited);
		uint64_t *value;

		if (!process->key || !ended || collector->settled[slot])
			continue;
		value = hash_put(&purge->ended, process->key, NULL);
		if (!value)
			return -ENOMEM;
		*value = slot;
	}
	return 0;
}

int collector_purge(struct collector *collector)
{
	struct purge purge = {.bpf = collector->bpf};
	int error = find_ended(collector, &purge);

	if (!error && purge.ended.count)
		error = live_set_walk(collector->bpf->blocks_fd, purge_visit, &purge);
	for (size_t i = 0; !error && i < purge.keys.count; i++) {
		if (!bpf_map_delete_elem(collector->bpf->blocks_fd, &purge.keys.items[i]))
			collector->purged[*hash_get(&purge.ended, purge.keys.items[i].process)]++;
	}
	for (size_t i = 0; !error && i < purge.ended.capacity; i++) {
		if (purge.ended.entries[i].used)
			collector->settled[purge.ended.entries[i].value] = true;
	}
	hash_free(&purge.ended);
	vec_free(&purge.keys);
	return error;
}
