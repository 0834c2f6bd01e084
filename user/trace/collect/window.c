// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace/collect/window.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "trace/collect/reading.h"
#include "trace/probe/map_walk.h"

/* Returns the slot of a PID's live process; 0: none. */
static uint32_t slot_of(const struct bpf_side *bpf, pid_t pid)
{
	uint32_t count =
		MIN(__atomic_load_n(bpf->process_count, __ATOMIC_ACQUIRE), bpf->max_processes);

	for (uint32_t slot = 1; slot < count; slot++) {
		const struct lm_process *process = &bpf->processes[slot];

		if (process->key && process->tgid == (uint32_t)pid &&
		    process->state == LM_PROCESS_ALIVE)
			return slot;
	}
	return 0;
}

static int read_sites(const struct bpf_side *bpf, struct window_counts *counts)
{
	size_t count = MIN(__atomic_load_n(bpf->site_count, __ATOMIC_ACQUIRE), bpf->max_sites);

	counts->blocks = calloc(count + 1, sizeof(*counts->blocks));
	counts->bytes = calloc(count + 1, sizeof(*counts->bytes));
	if (!counts->blocks || !counts->bytes)
		return -ENOMEM;
	for (size_t i = 1; i < count; i++) {
		const struct lm_site *site = &bpf->sites[i];

		if (site->process != counts->process)
			continue;
		counts->blocks[i] = __atomic_load_n(&site->allocated_count, __ATOMIC_RELAXED);
		counts->bytes[i] = __atomic_load_n(&site->allocated_bytes, __ATOMIC_RELAXED);
	}
	counts->sites = count;
	return 0;
}

int window_counts_read(const struct bpf_side *bpf, pid_t pid, struct window_counts *counts)
{
	uint32_t slot = slot_of(bpf, pid);
	struct lm_ledger ledger;
	int error;

	window_counts_free(counts);
	if (!slot)
		return 0;
	error = ledgers_read_slot(bpf, slot, &ledger);
	if (error)
		return error;
	counts->process = bpf->processes[slot].key;
	memcpy(counts->comm, bpf->processes[slot].comm, sizeof(counts->comm));
	counts->comm[sizeof(counts->comm) - 1] = '\0';
	counts->allocations = ledger.allocations;
	counts->frees = ledger.frees + ledger.untracked_frees + ledger.inherited_frees;
	for (size_t i = 0; i < LM_DROP_MAX_; i++) {
		/* A missed free of a block whose address was reused: no loss. */
		if (i != LM_DROP_MISSED_FREE)
			counts->dropped += ledger.dropped[i];
	}
	return read_sites(bpf, counts);
}

void window_counts_free(struct window_counts *counts)
{
	free(counts->blocks);
	free(counts->bytes);
	*counts = (struct window_counts){0};
}

struct walk {
	lm_process_key process;
	struct outstanding_list *blocks;
};

static int visit(const void *keys, const void *values, size_t count, void *context)
{
	const struct lm_block_key *key = keys;
	const struct lm_block *block = values;
	struct walk *walk = context;

	for (size_t i = 0; i < count; i++) {
		struct outstanding *found;

		if (key[i].process != walk->process)
			continue;
		found = vec_push(&walk->blocks->list);
		if (!found)
			return -ENOMEM;
		*found = (struct outstanding){.address = key[i].address,
					      .size = block[i].size,
					      .born_ns = block[i].born_ns,
					      .site = block[i].site};
	}
	return 0;
}

int window_blocks_read(const struct bpf_side *bpf, lm_process_key process,
		       struct outstanding_list *blocks)
{
	struct walk walk = {process, blocks};

	blocks->list.count = 0;
	return map_walk(bpf->blocks_fd, sizeof(struct lm_block_key), sizeof(struct lm_block), visit,
			&walk);
}

/* Some may be gone meanwhile: the batch ends there, and continues after it. */
static void forget(const struct bpf_side *bpf, const struct lm_block_key *keys, size_t count)
{
	int64_t deleted = 0;

	while (count) {
		uint32_t done = (uint32_t)count;
		int failed = bpf_map_delete_batch(bpf->blocks_fd, keys, &done, NULL);

		if (failed && errno == EINVAL)
			break;
		done = MIN(done, count);
		deleted += done;
		keys += done;
		count -= done;
		if (failed && count) {
			keys++;
			count--;
		}
	}
	__atomic_sub_fetch(bpf->blocks_used, deleted, __ATOMIC_RELAXED);
}

int window_blocks_forget(const struct bpf_side *bpf, lm_process_key process,
			 const struct outstanding_list *blocks, window_wants wants, void *context)
{
	_cleanup_free_ struct lm_block_key *keys = calloc(blocks->list.count + 1, sizeof(*keys));
	size_t count = 0;

	if (!keys)
		return -ENOMEM;
	for (size_t i = 0; i < blocks->list.count; i++) {
		const struct outstanding *block = &blocks->list.items[i];

		if (!wants(block, context))
			keys[count++] = (struct lm_block_key){.address = block->address,
							      .process = process};
	}
	forget(bpf, keys, count);
	return 0;
}

const uint64_t *window_site_stack(const struct bpf_side *bpf, uint32_t site, size_t *depth,
				  enum lm_walk_end *end)
{
	_Static_assert(sizeof(uint64_t) == sizeof(bpf->stacks->frames[0]), "addresses");

	if (site >= bpf->max_sites)
		return NULL;
	*depth = MIN(bpf->sites[site].depth, LM_MAX_FRAMES);
	*end = bpf->sites[site].end < LM_WALK_MAX_ ? bpf->sites[site].end : LM_WALK_ROOT;
	return (const uint64_t *)bpf->stacks[site].frames;
}
