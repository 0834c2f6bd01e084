// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace/collect/collect.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hash.h"
#include "process/proc/container.h"
#include "report/snapshot.h"
#include "trace/collect/reading.h"
#include "trace/probe/map_walk.h"

/*
 * The container of each process of a snapshot. An ended process can no longer be looked up: the
 * previous snapshot's answer still holds. Internal to collect/.
 */

/* Containers of the processes of the latest snapshot. */
struct places {
	VEC(struct place {
		lm_process_key key;
		struct container *container; /* owned */
	})
	list;
};

/* A collector's state between snapshots. Internal to collect/. */

struct collector {
	const struct bpf_side *bpf;
	const struct collect_options *options;
	uint64_t sequence;
	uint64_t *purged; /* by slot: blocks dropped by user space */
	struct places places;
	struct ledger retired; /* the ledgers of processes whose slots were returned */
};

static void places_free(struct places *places);

static const struct container *place_find(const struct places *places, lm_process_key key)
{
	for (size_t i = 0; i < places->list.count; i++) {
		if (places->list.items[i].key == key)
			return places->list.items[i].container;
	}
	return NULL;
}

static void remember(struct places *places, const struct snapshot_process *process)
{
	struct container *copy;
	struct place *place;

	/* Key 0: it has not allocated yet, and cannot leave anything behind. */
	if (!process->container || !process->key)
		return;
	copy = container_copy(process->container);
	place = copy ? vec_push(&places->list) : NULL;
	if (place)
		*place = (struct place){process->key, copy};
	else
		container_free(copy);
}

/*
 * Fills snapshot_process.container, and remembers it. When out of memory, containers are left out:
 * the numbers do not depend on them.
 */
static void places_fill(struct places *places, struct container_cache *containers,
			struct snapshot *snapshot)
{
	struct places now = {0};

	for (size_t i = 0; i < snapshot->processes.count; i++) {
		struct snapshot_process *process = &snapshot->processes.items[i];

		process->container = container_copy(
			process->exited ? place_find(places, process->key)
					: container_find(containers, (pid_t)process->pid));
		remember(&now, process);
	}
	places_free(places);
	*places = now;
}

static void places_free(struct places *places)
{
	for (size_t i = 0; i < places->list.count; i++)
		container_free(places->list.items[i].container);
	vec_free(&places->list);
}

struct collector *collector_new(const struct bpf_side *bpf, const struct collect_options *options)
{
	struct collector *collector = calloc(1, sizeof(*collector));

	if (!collector)
		return NULL;
	collector->bpf = bpf;
	collector->options = options;
	collector->purged = calloc(bpf->max_processes, sizeof(*collector->purged));
	if (!collector->purged) {
		collector_free(collector);
		return NULL;
	}
	return collector;
}

void collector_free(struct collector *collector)
{
	if (!collector)
		return;
	places_free(&collector->places);
	free(collector->purged);
	free(collector);
}

/* A difference in the total that no process's own ledger shows may belong to any of them. */
static void doubt_ledgers(struct snapshot *snapshot)
{
	bool explained = ledger_agrees(snapshot, &snapshot->ledger);

	for (size_t i = 0; i < snapshot->processes.count; i++) {
		struct snapshot_process *process = &snapshot->processes.items[i];

		if (ledger_agrees(snapshot, &process->ledger))
			continue;
		snapshot_mark_inexact(process, INEXACT_LEDGER);
		explained = true;
	}
	for (size_t i = 0; i < snapshot->processes.count && !explained; i++)
		snapshot_mark_inexact(&snapshot->processes.items[i], INEXACT_LEDGER);
}

int collector_read(struct collector *collector, struct snapshot *snapshot)
{
	struct snapshot filled = {.sequence = collector->sequence + 1,
				  .monotonic_ns = monotonic_ns(),
				  .has_ages = !collector->options->combined_only,
				  .has_owners = !collector->options->combined_only &&
						collector->bpf->live_threads_fd >= 0,
				  .only_by_dead = collector->options->only_by_dead,
				  .sampled = collector->options->sample_rate > 1 ||
					     collector->options->sample_bytes};
	struct reading reading = {0};
	int error;

	clock_gettime(CLOCK_REALTIME, &filled.time);
	error = reading_take(&reading, collector->bpf, collector->options);
	if (!error)
		error = reading_to_snapshot(&reading, collector->purged, &filled);
	ledger_add(&filled.ledger, &collector->retired);
	doubt_ledgers(&filled);
	for (size_t i = 0; i < filled.processes.count; i++)
		filled.sampled |= filled.processes.items[i].samples_itself;
	reading_free(&reading);
	if (error) {
		snapshot_free(&filled);
		return error;
	}
	if (collector->options->containers)
		places_fill(&collector->places, collector->options->containers, &filled);
	filled.scan_ns = monotonic_ns() - filled.monotonic_ns;
	collector->sequence++;
	*snapshot = filled;
	return 0;
}

/*
 * The end of a process's ledger, in user space: its blocks are dropped, its numbers are added to
 * the totals, and its slot and its sites go back to the BPF side, zeroed, for later processes.
 */

/* Ended processes, and the results of one walk about them. */
struct purge {
	struct collector *collector;
	struct hash ended; /* process key -> slot */
	VEC(struct lm_block_key) blocks;
	bool have_samples; /* one of them sampled itself */
};

static uint32_t site_limit(const struct bpf_side *bpf)
{
	return MIN(__atomic_load_n(bpf->site_count, __ATOMIC_ACQUIRE), bpf->max_sites);
}

static uint32_t slot_limit(const struct bpf_side *bpf)
{
	return MIN(__atomic_load_n(bpf->process_count, __ATOMIC_ACQUIRE), bpf->max_processes);
}

static int find_ended(struct purge *purge)
{
	const struct bpf_side *bpf = purge->collector->bpf;
	bool keep_exited = purge->collector->options->keep_exited;
	uint32_t count = slot_limit(bpf);

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
		purge->have_samples |= process->interval > 0;
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

static void delete_blocks(struct purge *purge, int map_fd)
{
	const struct bpf_side *bpf = purge->collector->bpf;
	int64_t deleted = 0;

	for (size_t i = 0; i < purge->blocks.count; i++) {
		const struct lm_block_key *key = &purge->blocks.items[i];

		uint64_t *slot = hash_get(&purge->ended, key->process);

		if (!slot)
			continue;
		if (!bpf_map_delete_elem(map_fd, key)) {
			purge->collector->purged[*slot]++;
			deleted++;
		} else if (errno != ENOENT) {
			/* Its ledger stays open until the kernel has deleted all of its blocks. */
			hash_remove(&purge->ended, key->process);
		}
	}
	purge->blocks.count = 0;
	__atomic_sub_fetch(bpf->blocks_used, deleted, __ATOMIC_RELAXED);
}

static int purge_map(struct purge *purge, int map_fd, size_t value_size)
{
	int error = map_walk(map_fd, sizeof(struct lm_block_key), value_size, visit_blocks, purge);

	if (!error)
		delete_blocks(purge, map_fd);
	return error;
}

static const struct lm_site zero_site, stray_site = {.state = LM_INDEX_STRAY};

static const struct lm_process zero_slot, stray_slot = {.state = LM_PROCESS_STRAY};

/* A pool of indices: of sites, or of slots. */
struct pool {
	int array_fd, queue_fd;
	const void *zero, *stray; /* values */
};

static struct pool pool_of_sites(const struct bpf_side *bpf)
{
	return (struct pool){bpf->sites_fd, bpf->free_sites_fd, &zero_site, &stray_site};
}

static struct pool pool_of_slots(const struct bpf_side *bpf)
{
	return (struct pool){bpf->processes_fd, bpf->free_slots_fd, &zero_slot, &stray_slot};
}

/*
 * Returns a zeroed index to the pool: true. If the queue refuses it now, it is marked as a stray.
 */
static bool give_back(const struct pool *pool, uint32_t index)
{
	bpf_map_update_elem(pool->array_fd, &index, pool->zero, BPF_ANY);
	if (!bpf_map_update_elem(pool->queue_fd, NULL, &index, BPF_ANY))
		return true;
	bpf_map_update_elem(pool->array_fd, &index, pool->stray, BPF_ANY);
	return false;
}

/* Collects indices that the queues refused. There are hardly ever any. */
static void gather_strays(const struct bpf_side *bpf)
{
	const struct pool sites = pool_of_sites(bpf), slots = pool_of_slots(bpf);
	uint32_t gathered = 0;

	if (!__atomic_load_n(bpf->strays, __ATOMIC_ACQUIRE))
		return;
	for (uint32_t index = 1; index < site_limit(bpf); index++) {
		if (bpf->sites[index].state == LM_INDEX_STRAY)
			gathered += give_back(&sites, index);
	}
	for (uint32_t slot = 1; slot < slot_limit(bpf); slot++) {
		if (bpf->processes[slot].state == LM_PROCESS_STRAY)
			gathered += give_back(&slots, slot);
	}
	__atomic_sub_fetch(bpf->strays, gathered, __ATOMIC_RELAXED);
}

static void count_stray(const struct bpf_side *bpf)
{
	__atomic_add_fetch(bpf->strays, 1, __ATOMIC_RELEASE);
}

static void recycle_sites(struct purge *purge)
{
	const struct bpf_side *bpf = purge->collector->bpf;
	const struct pool pool = pool_of_sites(bpf);
	uint32_t count = site_limit(bpf);
	int64_t recycled = 0;

	for (uint32_t index = 1; index < count; index++) {
		uint64_t hash = bpf->sites[index].hash;

		if (!bpf->sites[index].process ||
		    !hash_get(&purge->ended, bpf->sites[index].process))
			continue;
		bpf_map_delete_elem(bpf->site_index_fd, &hash);
		if (!give_back(&pool, index))
			count_stray(bpf);
		recycled++;
	}
	__atomic_sub_fetch(bpf->sites_used, recycled, __ATOMIC_RELAXED);
}

static int recycle_slot(struct collector *collector, uint64_t key, uint32_t slot)
{
	const struct bpf_side *bpf = collector->bpf;
	const struct pool pool = pool_of_slots(bpf);
	struct lm_ledger raw;
	struct ledger ledger;
	int error = ledgers_close(bpf, slot, &raw);

	if (error)
		return error;
	ledger_from_raw(&raw, &raw, collector->purged[slot], &ledger);
	ledger_add(&collector->retired, &ledger);
	collector->purged[slot] = 0;
	bpf_map_delete_elem(bpf->process_index_fd, &key);
	if (!give_back(&pool, slot))
		count_stray(bpf);
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

	gather_strays(collector->bpf);
	if (!error && purge.ended.count) {
		error = purge_map(&purge, collector->bpf->blocks_fd, sizeof(struct lm_block));
		if (!error && purge.have_samples && collector->bpf->specs)
			error = purge_map(&purge, collector->bpf->usdt_blocks_fd,
					  sizeof(struct lm_usdt_block));
		if (!error)
			error = recycle(&purge);
	}
	if (!error && collector->options->on_ended)
		error = collector->options->on_ended(collector->options->context, &purge.ended);
	hash_free(&purge.ended);
	vec_free(&purge.blocks);
	return error;
}
