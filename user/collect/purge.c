// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The end of a process' books, in user space: its blocks are given up, its numbers go to the
 * totals, and its slot and its sites go back to the BPF side, zeroed, for processes to come.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "collect/books.h"
#include "collect/collector.h"
#include "collect/map_walk.h"

/* Processes that are no more, and what one walk found of them. */
struct purge {
	struct collector *collector;
	struct hash ended; /* process key -> slot */
	VEC(struct lm_block_key) blocks;
};

static int find_ended(struct purge *purge)
{
	const struct bpf_side *bpf = purge->collector->bpf;
	bool keep_exited = purge->collector->options->keep_exited;
	uint32_t count =
		MIN(__atomic_load_n(bpf->process_count, __ATOMIC_ACQUIRE), bpf->max_processes);

	for (uint32_t slot = 1; slot < count; slot++) {
		const struct lm_process *process = &bpf->processes[slot];
		bool ended = process->state == LM_PROCESS_EXECED ||
			     (process->state == LM_PROCESS_EXITED && !keep_exited);
		uint64_t *value;

		if (!process->key || !ended)
			continue;
		value = hash_put(&purge->ended, process->key, NULL);
		if (!value)
			return -ENOMEM;
		*value = slot;
	}
	return 0;
}

static int visit_blocks(const void *keys, const void *values, size_t count, void *context)
{
	const struct lm_block_key *key = keys;
	struct purge *purge = context;

	(void)values;
	for (size_t i = 0; i < count; i++) {
		struct lm_block_key *ended;

		if (!hash_get(&purge->ended, key[i].process))
			continue;
		ended = vec_push(&purge->blocks);
		if (!ended)
			return -ENOMEM;
		*ended = key[i];
	}
	return 0;
}

static void delete_blocks(struct purge *purge)
{
	const struct bpf_side *bpf = purge->collector->bpf;
	int64_t deleted = 0;

	for (size_t i = 0; i < purge->blocks.count; i++) {
		const struct lm_block_key *key = &purge->blocks.items[i];

		uint64_t *slot = hash_get(&purge->ended, key->process);

		if (!slot)
			continue;
		if (!bpf_map_delete_elem(bpf->blocks_fd, key)) {
			purge->collector->purged[*slot]++;
			deleted++;
		} else if (errno != ENOENT) {
			/* Its books stay open until the kernel lets go of all of its blocks. */
			hash_remove(&purge->ended, key->process);
		}
	}
	__atomic_sub_fetch(bpf->blocks_used, deleted, __ATOMIC_RELAXED);
}

static void give_back(int queue_fd, uint32_t index)
{
	bpf_map_update_elem(queue_fd, NULL, &index, BPF_ANY);
}

static void recycle_sites(struct purge *purge)
{
	static const struct lm_site zero;
	const struct bpf_side *bpf = purge->collector->bpf;
	uint32_t count = MIN(__atomic_load_n(bpf->site_count, __ATOMIC_ACQUIRE), bpf->max_sites);
	int64_t recycled = 0;

	for (uint32_t index = 1; index < count; index++) {
		uint64_t hash = bpf->sites[index].hash;

		if (!bpf->sites[index].process ||
		    !hash_get(&purge->ended, bpf->sites[index].process))
			continue;
		bpf_map_delete_elem(bpf->site_index_fd, &hash);
		bpf_map_update_elem(bpf->sites_fd, &index, &zero, BPF_ANY);
		give_back(bpf->free_sites_fd, index);
		recycled++;
	}
	__atomic_sub_fetch(bpf->sites_used, recycled, __ATOMIC_RELAXED);
}

static int recycle_slot(struct collector *collector, uint64_t key, uint32_t slot)
{
	static const struct lm_process zero;
	const struct bpf_side *bpf = collector->bpf;
	struct lm_ledger raw;
	struct ledger ledger;
	int error = books_close(bpf, slot, &raw);

	if (error)
		return error;
	books_to_ledger(&raw, &raw, collector->purged[slot], &ledger);
	ledger_add(&collector->retired, &ledger);
	collector->purged[slot] = 0;
	bpf_map_delete_elem(bpf->process_index_fd, &key);
	bpf_map_update_elem(bpf->processes_fd, &slot, &zero, BPF_ANY);
	give_back(bpf->free_slots_fd, slot);
	return 0;
}

static int recycle(struct purge *purge)
{
	int error = 0;

	recycle_sites(purge);
	for (size_t i = 0; !error && i < purge->ended.capacity; i++) {
		const struct hash_entry *entry = &purge->ended.entries[i];

		if (entry->used)
			error = recycle_slot(purge->collector, entry->key, (uint32_t)entry->value);
	}
	__atomic_add_fetch(purge->collector->bpf->recycle_generation, 1, __ATOMIC_RELEASE);
	return error;
}

int collector_purge(struct collector *collector)
{
	struct purge purge = {.collector = collector};
	int error = find_ended(&purge);

	if (!error && purge.ended.count) {
		error = map_walk(collector->bpf->blocks_fd, sizeof(struct lm_block_key),
				 sizeof(struct lm_block), visit_blocks, &purge);
		if (!error)
			delete_blocks(&purge);
		if (!error)
			error = recycle(&purge);
	}
	if (!error && collector->options->on_ended)
		error = collector->options->on_ended(collector->options->context, &purge.ended);
	hash_free(&purge.ended);
	vec_free(&purge.blocks);
	return error;
}
