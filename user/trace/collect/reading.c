// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace/collect/reading.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/records.h"
#include "binary/arch/machine.h"
#include "process/proc/process_list.h"
#include "trace/probe/map_walk.h"
#include "trace/probe/watched.h"

/* struct lm_ledger has only counters, so that it can be summed as an array. */
#define LEDGER_COUNTERS (sizeof(struct lm_ledger) / sizeof(uint64_t))
_Static_assert(sizeof(struct lm_ledger) % sizeof(uint64_t) == 0, "counters only");
_Static_assert(sizeof(struct ledger) % sizeof(uint64_t) == 0, "counters only");

static void sum_counters(void *total, const void *part, size_t count)
{
	uint64_t *to = total;
	const uint64_t *from = part;

	for (size_t i = 0; i < count; i++)
		to[i] += from[i];
}

/* Allocates one copy of a slot's ledger per CPU; NULL if out of memory. */
static struct lm_ledger *per_cpu_new(int *cpus)
{
	*cpus = libbpf_num_possible_cpus();
	return *cpus > 0 ? calloc((size_t)*cpus, sizeof(struct lm_ledger)) : NULL;
}

static int read_slot(const struct bpf_side *bpf, uint32_t slot, struct lm_ledger *per_cpu, int cpus,
		     struct lm_ledger *sum)
{
	*sum = (struct lm_ledger){0};
	if (bpf_map_lookup_elem(bpf->ledgers_fd, &slot, per_cpu))
		return -errno;
	for (int cpu = 0; cpu < cpus; cpu++)
		sum_counters(sum, &per_cpu[cpu], LEDGER_COUNTERS);
	return 0;
}

int ledgers_read_slot(const struct bpf_side *bpf, uint32_t slot, struct lm_ledger *sum)
{
	int cpus;
	_cleanup_free_ struct lm_ledger *per_cpu = per_cpu_new(&cpus);

	return per_cpu ? read_slot(bpf, slot, per_cpu, cpus, sum) : -ENOMEM;
}

int ledgers_close(const struct bpf_side *bpf, uint32_t slot, struct lm_ledger *sum)
{
	int cpus, error;
	_cleanup_free_ struct lm_ledger *per_cpu = per_cpu_new(&cpus);

	if (!per_cpu)
		return -ENOMEM;
	error = read_slot(bpf, slot, per_cpu, cpus, sum);
	if (error)
		return error;
	memset(per_cpu, 0, (size_t)cpus * sizeof(*per_cpu));
	return bpf_map_update_elem(bpf->ledgers_fd, &slot, per_cpu, BPF_ANY) ? -errno : 0;
}

int ledgers_read(const struct bpf_side *bpf, struct ledgers *ledgers)
{
	int cpus, error = 0;
	uint32_t count =
		MIN(__atomic_load_n(bpf->process_count, __ATOMIC_ACQUIRE), bpf->max_processes);
	_cleanup_free_ struct lm_ledger *per_cpu = per_cpu_new(&cpus);
	_cleanup_free_ struct lm_ledger *slots = calloc(count, sizeof(*slots));

	if (!slots || !per_cpu)
		return -ENOMEM;
	/* Slot 0 and the slots in use: all others are zero. */
	for (uint32_t slot = 0; slot < count && !error; slot++) {
		if (!slot || bpf->processes[slot].key)
			error = read_slot(bpf, slot, per_cpu, cpus, &slots[slot]);
	}
	if (error)
		return error;
	ledgers->slots = TAKE_PTR(slots);
	ledgers->count = count;
	return 0;
}

void ledgers_free(struct ledgers *ledgers)
{
	free(ledgers->slots);
	*ledgers = (struct ledgers){0};
}

/* See struct lm_ledger: begun changes minus ended ones. */
static uint64_t moved(const struct lm_ledger *before, const struct lm_ledger *after)
{
	uint64_t begun = after->allocations + after->begun;
	uint64_t ended = before->settled + before->frees;

	/* Slot 0 may be charged with the end of a change that began in another. */
	return begun > ended ? begun - ended : 0;
}

void ledger_from_raw(const struct lm_ledger *before, const struct lm_ledger *raw, uint64_t purged,
		     struct ledger *ledger)
{
	uint64_t gone = raw->frees + raw->purged + purged;

	*ledger = (struct ledger){
		.allocations = raw->allocations,
		.frees = raw->frees,
		.purged = raw->purged + purged,
		.untracked_frees = raw->untracked_frees,
		.inherited_frees = raw->inherited_frees,
		.filtered = raw->filtered,
		.unsampled = raw->unsampled,
		.failed = raw->failed,
		.abandoned = raw->abandoned,
		.moved = moved(before, raw),
	};
	for (size_t i = 0; i < LM_DROP_MAX_; i++) {
		ledger->dropped[i] = raw->dropped[i];
		gone += raw->dropped[i];
	}
	for (size_t i = 0; i < LM_LOST_MAX_; i++)
		ledger->lost_stacks[i] = raw->lost_stacks[i];
	for (size_t i = 0; i < LM_WALK_MAX_; i++)
		ledger->walk_ends[i] = raw->walk_ends[i];
	/* Counters are read one after the other: a free may be seen before its allocation. */
	ledger->outstanding = raw->allocations > gone ? raw->allocations - gone : 0;
}

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
	/* A thread with this tid that began later is another one. */
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

/* Converts a scaled number to a plain one. */
static uint64_t live_unscale(const struct collect_options *options, uint64_t scaled)
{
	return sampling(options) ? scaled >> LM_WEIGHT_SHIFT : scaled;
}

/* Converts a process's number; one that samples itself always has scaled numbers. */
static uint64_t unscale(const struct reading *reading, const struct lm_process *process,
			uint64_t scaled)
{
	return process->interval ? scaled >> LM_WEIGHT_SHIFT
				 : live_unscale(reading->options, scaled);
}

/* One block, with its weight. */
struct weighed {
	lm_process_key process;
	const struct lm_block *block;
	uint64_t bytes, count; /* scaled */
	uint64_t age_ns;
	double spread; /* see live_site.count_spread */
	bool by_dead;
};

static void site_add(struct live_site *site, const struct weighed *weighed)
{
	site->bytes += weighed->bytes;
	site->count += weighed->count;
	site->count_spread += weighed->spread;
	if (!site->smallest || weighed->block->size < site->smallest)
		site->smallest = weighed->block->size;
	site->by_dead_bytes += weighed->by_dead ? weighed->bytes : 0;
	site->by_dead_count += weighed->by_dead ? weighed->count : 0;
	site->oldest_born_ns = MIN(site->oldest_born_ns, weighed->block->born_ns);
	for (size_t i = 0; i < SITE_AGES_MAX_ && weighed->age_ns >= site_age_limits_ns[i]; i++)
		site->ages[i] += weighed->count;
}

static void owner_add(const struct owners *owners, const struct weighed *weighed)
{
	struct owner *owner =
		owners_find(owners, weighed->process, weighed->block->tid, weighed->block->born_ns);

	if (!owner)
		return;
	owner->bytes += weighed->bytes;
	owner->count += weighed->count;
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

static int sum_one(struct live_sum *sum, uint64_t address, struct weighed *weighed)
{
	const struct lm_block *block = weighed->block;
	uint64_t *slot = hash_get(sum->slots, weighed->process);
	struct live_process *process = slot ? &sum->processes[*slot] : NULL;

	/* Sites that appeared after slots and sites were read are left for the next snapshot. */
	if (!process || block->site >= sum->site_count)
		return 0;
	process->scanned++;
	process->bytes += weighed->bytes;
	/* An ended process has no live threads: unknown. */
	weighed->by_dead = !process->ended &&
			   live_threads_has_ended(sum->live_threads, weighed->process, block);
	if (sum->options->owners)
		owner_add(sum->options->owners, weighed);
	/* A block may be born after `now` was read. */
	weighed->age_ns = sum->now_ns - MIN(sum->now_ns, block->born_ns);
	if (weighed->age_ns < sum->options->older_ns && !process->ended)
		return 0;
	if (sum->options->only_by_dead && !weighed->by_dead)
		return 0;
	site_add(block->site == LM_SITE_LOST ? &process->lost : &sum->sites[block->site], weighed);
	return sum->options->keep_blocks ? block_keep(sum, address, weighed) : 0;
}

/* A map_visit over the live set: `context` is a struct live_sum. */
static int live_sum_visit(const void *keys, const void *values, size_t count, void *context)
{
	const struct lm_block_key *key = keys;
	const struct lm_block *block = values;
	int error = 0;

	for (size_t i = 0; i < count && !error; i++) {
		uint64_t weight = live_weight(((struct live_sum *)context)->options, block[i].size);
		struct weighed weighed = {.process = key[i].process,
					  .block = &block[i],
					  .bytes = block[i].size * weight,
					  .count = weight};

		error = sum_one(context, key[i].address, &weighed);
	}
	return error;
}

/* A map_visit over the samples of programs that sample themselves. */
static int sample_sum_visit(const void *keys, const void *values, size_t count, void *context)
{
	const struct lm_block_key *key = keys;
	const struct lm_usdt_block *sample = values;
	int error = 0;

	for (size_t i = 0; i < count && !error; i++) {
		/* The BPF side keeps none of size 0. */
		double size = (double)MAX(sample[i].block.size, 1);
		struct weighed weighed = {
			.process = key[i].process,
			.block = &sample[i].block,
			.bytes = LM_USDT_BYTES(sample[i].weight),
			.count = LM_USDT_COUNT(sample[i].weight, MAX(sample[i].block.size, 1)),
			.spread = (double)sample[i].weight / (size * size),
		};

		error = sum_one(context, key[i].address, &weighed);
	}
	return error;
}

static bool any_samples_itself(const struct reading *reading)
{
	for (size_t slot = 1; slot < reading->before.count; slot++) {
		if (reading->bpf->processes[slot].key && reading->bpf->processes[slot].interval)
			return true;
	}
	return false;
}

static int walk_live(struct reading *reading)
{
	const struct bpf_side *bpf = reading->bpf;
	int error = map_walk(bpf->blocks_fd, sizeof(struct lm_block_key), sizeof(struct lm_block),
			     live_sum_visit, &reading->sum);

	if (!error && bpf->specs && any_samples_itself(reading))
		error = map_walk(bpf->usdt_blocks_fd, sizeof(struct lm_block_key),
				 sizeof(struct lm_usdt_block), sample_sum_visit, &reading->sum);
	return error;
}

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

/* Before the live set: a thread that ends in between counts as live. */
static int take_live_threads(struct reading *reading)
{
	_cleanup_close_ int fd = -1;

	if (reading->bpf->live_threads_fd < 0)
		return 0; /* no block is older than a missing reading: none is marked */
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
	/* With -C, too: it also finds processes that share a target's memory. */
	error = take_live_threads(reading);
	if (!error && !options->combined_only)
		error = walk_live(reading);
	if (!error && options->owners)
		unscale_owners(options);
	return error ? error : ledgers_read(bpf, &reading->after);
}

/* -------- from a reading to a snapshot */

/*
 * Returns whether a slot belongs in the report: programs replaced by an exec are only in the
 * ledger.
 */
static bool slot_is_shown(const struct reading *reading, const struct lm_process *process)
{
	if (!process->key)
		return false;
	return process->state == LM_PROCESS_ALIVE ||
	       (process->state == LM_PROCESS_EXITED && reading->options->keep_exited);
}

static uint64_t age_of(const struct lm_process *raw)
{
	uint64_t now_ns = clock_ns(CLOCK_BOOTTIME);

	return raw->start_boottime_ns ? now_ns - MIN(now_ns, raw->start_boottime_ns) : 0;
}

static void describe(struct snapshot_process *process, const struct lm_process *raw)
{
	char path[64], link[4096];
	ssize_t length;

	process->key = raw->key;
	process->pid = raw->tgid;
	process->exited = raw->state != LM_PROCESS_ALIVE;
	memcpy(process->comm, raw->comm, sizeof(process->comm));
	process->comm[sizeof(process->comm) - 1] = '\0';
	process->threads.counted = process->exited;
	if (process->exited)
		return;
	process->age_ns = age_of(raw);
	thread_figures_count(&process->threads, (pid_t)raw->tgid);
	snprintf(path, sizeof(path), "/proc/%u/exe", raw->tgid);
	length = readlink(path, link, sizeof(link) - 1);
	if (length > 0)
		process->exe = strndup(link, (size_t)length);
	/* A program may have renamed itself since its first allocation. */
	process_read_comm((pid_t)raw->tgid, 0, process->comm, sizeof(process->comm));
}

static void judge(const struct reading *reading, const struct ledger *ledger,
		  struct snapshot_process *process)
{
	process->exact = true;
	for (size_t i = 0; i < LM_DROP_MAX_; i++) {
		if (ledger->dropped[i])
			snapshot_mark_inexact(process, INEXACT_DROPPED);
	}
	for (size_t i = 0; i < LM_LOST_MAX_; i++) {
		if (ledger->lost_stacks[i])
			snapshot_mark_inexact(process, INEXACT_LOST_STACKS);
	}
	if (sampling(reading->options))
		snapshot_mark_inexact(process, INEXACT_SAMPLED);
}

/* It has reported its own samples. */
static void note_samples(const struct lm_process *raw, struct snapshot_process *process)
{
	process->sample_interval = raw->interval;
	process->samples_itself = raw->interval > 0;
	process->without_free = raw->without_free;
	if (process->samples_itself)
		snapshot_mark_inexact(process, INEXACT_SAMPLED);
}

/* Gaps that the ledger cannot show, because they went unseen. */
static void note_doubts(const struct reading *reading, uint64_t start_ticks,
			struct snapshot_process *process)
{
	struct lm_target target = {0};

	watched_get(reading->bpf, (pid_t)process->pid, start_ticks, &target);
	process->hidden_tasks = target.hidden_tasks;
	process->hidden_pid = target.hidden_tgid;
	if (target.hidden_tasks)
		snapshot_mark_inexact(process, INEXACT_SHARED_MEMORY);
	if (target.late_execs)
		snapshot_mark_inexact(process, INEXACT_LATE_EXEC);
	if (__atomic_load_n(reading->bpf->events_lost, __ATOMIC_RELAXED))
		snapshot_mark_inexact(process, INEXACT_EVENTS_LOST);
}

static void ledger_fill(const struct reading *reading, const uint64_t *purged, size_t slot,
			struct ledger *ledger)
{
	static const struct lm_ledger unused;
	bool appeared = slot >= reading->before.count; /* during the walk */

	ledger_from_raw(appeared ? &unused : &reading->before.slots[slot],
			&reading->after.slots[slot], purged[slot], ledger);
	if (appeared)
		return;
	ledger->scanned = reading->options->combined_only ? ledger->outstanding
							  : reading->sum.processes[slot].scanned;
	ledger->outstanding_bytes = unscale(reading, &reading->bpf->processes[slot],
					    reading->sum.processes[slot].bytes);
}

/* The basis of estimates: count_spread times the interval is the variance of `count`. */
static void note_hits(const struct lm_process *owner, const struct live_site *live,
		      struct site *site)
{
	double count = fmax((double)site->count, 1), interval = (double)owner->interval;

	site->hit_bytes = interval;
	if (!owner->interval || owner->without_free || !site->bytes)
		return;
	/* Without the live set (-C), as if all blocks were of one size. */
	site->hit_count = count * interval / (double)site->bytes;
	site->count_variance = count * site->hit_count;
	if (!live->smallest)
		return;
	site->hit_count = interval / (double)live->smallest;
	site->count_variance = live->count_spread * interval;
}

static int add_site(const struct reading *reading, uint32_t index, size_t slot,
		    struct snapshot_process *process)
{
	const struct lm_process *owner = &reading->bpf->processes[slot];
	const struct collect_options *options = reading->options;
	const struct lm_site *raw = &reading->bpf->sites[index];
	struct live_site live = reading->sum.sites[index];
	struct site *site;

	if (options->combined_only) {
		live.bytes = raw->allocated_bytes - raw->freed_bytes;
		live.count = raw->allocated_count - raw->freed_count;
	}
	if (owner->without_free)
		live = (struct live_site){.oldest_born_ns = UINT64_MAX};
	else if (!live.count)
		return 0;
	site = vec_push(&process->sites);
	if (!site)
		return -ENOMEM;
	*site = (struct site){
		.index = index,
		.bytes = unscale(reading, owner, live.bytes),
		.count = unscale(reading, owner, live.count),
		.allocated_bytes = unscale(reading, owner, raw->allocated_bytes),
		.allocated_count = unscale(reading, owner, raw->allocated_count),
		.freed_bytes = unscale(reading, owner, raw->freed_bytes),
		.freed_count = unscale(reading, owner, raw->freed_count),
		.by_dead_bytes = unscale(reading, owner, live.by_dead_bytes),
		.by_dead_count = unscale(reading, owner, live.by_dead_count),
		.depth = MIN(raw->depth, LM_MAX_FRAMES),
		.lost = LM_LOST_NONE,
		.end = raw->end < LM_WALK_MAX_ ? raw->end : LM_WALK_ROOT,
	};
	note_hits(owner, &live, site);
	if (live.oldest_born_ns <= reading->sum.now_ns)
		site->oldest_ns = reading->sum.now_ns - live.oldest_born_ns;
	for (size_t i = 0; i < SITE_AGES_MAX_; i++)
		site->ages[i] = unscale(reading, owner, live.ages[i]);
	site->addresses = calloc(site->depth + 1, sizeof(*site->addresses));
	if (!site->addresses)
		return -ENOMEM;
	memcpy(site->addresses, reading->bpf->stacks[index].frames,
	       site->depth * sizeof(*site->addresses));
	return 0;
}

/* Adds the blocks that got no site, under one explicit site. */
static int add_lost_site(const struct reading *reading, const struct live_process *live,
			 const struct lm_process *owner, struct snapshot_process *process)
{
	struct site *site;

	if (!live->lost.count)
		return 0;
	site = vec_push(&process->sites);
	if (!site)
		return -ENOMEM;
	*site = (struct site){
		.index = LM_SITE_LOST,
		.lost = LM_LOST_SITES_FULL,
		.bytes = unscale(reading, owner, live->lost.bytes),
		.count = unscale(reading, owner, live->lost.count),
		.by_dead_bytes = unscale(reading, owner, live->lost.by_dead_bytes),
		.by_dead_count = unscale(reading, owner, live->lost.by_dead_count),
		.oldest_ns =
			reading->sum.now_ns - MIN(reading->sum.now_ns, live->lost.oldest_born_ns),
	};
	note_hits(owner, &live->lost, site);
	return 0;
}

/* Each slot's index in the snapshot, +1; 0: not shown. */
static int add_processes(const struct reading *reading, const uint64_t *purged,
			 struct snapshot *snapshot, size_t *positions)
{
	for (size_t slot = 0; slot < reading->after.count; slot++) {
		const struct lm_process *raw = &reading->bpf->processes[slot];
		struct ledger ledger;
		struct snapshot_process *process;

		ledger_fill(reading, purged, slot, &ledger);
		ledger_add(&snapshot->ledger, &ledger);
		if (!slot_is_shown(reading, raw) || slot >= reading->before.count)
			continue;
		process = vec_push(&snapshot->processes);
		if (!process)
			return -ENOMEM;
		positions[slot] = snapshot->processes.count;
		process->ledger = ledger;
		judge(reading, &ledger, process);
		note_samples(raw, process);
		describe(process, raw);
		note_doubts(reading, raw->start_boottime_ns / LM_TICK_NS, process);
	}
	return 0;
}

static bool has_pid(const struct snapshot *snapshot, uint32_t pid)
{
	for (size_t i = 0; i < snapshot->processes.count; i++) {
		if (snapshot->processes.items[i].pid == pid)
			return true;
	}
	return false;
}

/* Losses charged to no process may be any process's. */
static void doubt_all(struct snapshot *snapshot, enum inexact_cause cause)
{
	for (size_t i = 0; i < snapshot->processes.count; i++)
		snapshot_mark_inexact(&snapshot->processes.items[i], cause);
}

/* Adds targets that have not allocated since the attach: they are reported with no known blocks. */
static int add_quiet(const struct reading *reading, const struct ledger *nobody,
		     struct snapshot *snapshot)
{
	for (size_t i = 0; i < reading->options->pid_count; i++) {
		struct lm_process quiet = {.tgid = (uint32_t)reading->options->pids[i],
					   .state = LM_PROCESS_ALIVE};
		struct snapshot_process *process;

		if (has_pid(snapshot, quiet.tgid))
			continue;
		process = vec_push(&snapshot->processes);
		if (!process)
			return -ENOMEM;
		/* Or there was no room to record it. */
		judge(reading, nobody, process);
		describe(process, &quiet);
		note_doubts(reading, WATCHED_ANY_START, process);
	}
	return 0;
}

static int add_sites(const struct reading *reading, struct snapshot *snapshot,
		     const size_t *positions)
{
	int error = 0;

	for (uint32_t index = 1; index < reading->site_count && !error; index++) {
		uint64_t *slot = hash_get(&reading->slots, reading->bpf->sites[index].process);

		if (slot && positions[*slot])
			error = add_site(reading, index, *slot,
					 &snapshot->processes.items[positions[*slot] - 1]);
	}
	for (size_t slot = 0; slot < reading->before.count && !error; slot++) {
		if (positions[slot])
			error = add_lost_site(reading, &reading->sum.processes[slot],
					      &reading->bpf->processes[slot],
					      &snapshot->processes.items[positions[slot] - 1]);
	}
	return error;
}

static int add_blocks(const struct reading *reading, struct snapshot *snapshot,
		      const size_t *positions)
{
	for (size_t i = 0; i < reading->sum.blocks.count; i++) {
		const struct live_block *live = &reading->sum.blocks.items[i];
		uint64_t *slot = hash_get(&reading->slots, live->process);
		struct block *block;

		if (!slot || !positions[*slot])
			continue;
		block = vec_push(&snapshot->processes.items[positions[*slot] - 1].blocks);
		if (!block)
			return -ENOMEM;
		*block = (struct block){.address = machine_untagged(live->address),
					.size = live->size,
					.age_ns = reading->sum.now_ns -
						  MIN(live->born_ns, reading->sum.now_ns),
					.site = live->site,
					.tid = live->tid,
					.by_dead = live->by_dead};
	}
	return 0;
}

static void add_totals(const struct reading *reading, struct snapshot *snapshot)
{
	for (size_t i = 0; i < snapshot->processes.count; i++) {
		struct snapshot_process *process = &snapshot->processes.items[i];

		for (size_t j = 0; j < process->sites.count; j++) {
			process->outstanding_bytes += process->sites.items[j].bytes;
			process->outstanding_count += process->sites.items[j].count;
		}
		if (!reading->options->combined_only)
			continue;
		/* Without a walk over the live set, outstanding bytes are the sum of the sites. */
		process->ledger.outstanding_bytes = process->outstanding_bytes;
		snapshot->ledger.outstanding_bytes += process->outstanding_bytes;
	}
}

int reading_to_snapshot(const struct reading *reading, const uint64_t *purged,
			struct snapshot *snapshot)
{
	_cleanup_free_ size_t *positions = calloc(reading->after.count + 1, sizeof(*positions));
	struct ledger nobody = {0};
	int error;

	if (!positions)
		return -ENOMEM;
	ledger_fill(reading, purged, LM_SLOT_LOST, &nobody);
	error = add_processes(reading, purged, snapshot, positions);
	if (!error)
		error = add_sites(reading, snapshot, positions);
	if (!error)
		error = add_blocks(reading, snapshot, positions);
	if (!error)
		add_totals(reading, snapshot);
	if (!error)
		error = add_quiet(reading, &nobody, snapshot);
	if (nobody.dropped[LM_DROP_THREAD_STATE])
		doubt_all(snapshot, INEXACT_DROPPED);
	return error;
}
