// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/ledgers.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"

/* struct lm_ledger is counters only, so that it can be summed as an array of them. */
#define LEDGER_COUNTERS (sizeof(struct lm_ledger) / sizeof(uint64_t))
_Static_assert(sizeof(struct lm_ledger) % sizeof(uint64_t) == 0, "counters only");
#define REPORT_COUNTERS (sizeof(struct ledger) / sizeof(uint64_t))
_Static_assert(sizeof(struct ledger) % sizeof(uint64_t) == 0, "counters only");

static void sum_counters(void *total, const void *part, size_t count)
{
	uint64_t *to = total;
	const uint64_t *from = part;

	for (size_t i = 0; i < count; i++)
		to[i] += from[i];
}

void ledger_add(struct ledger *total, const struct ledger *part)
{
	sum_counters(total, part, REPORT_COUNTERS);
}

/* One copy of a slot's ledger per CPU; NULL when out of memory. */
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
	/* Slot 0 and the slots in use: the others are all zero. */
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

/* See struct lm_ledger: what has begun less what had ended. */
static uint64_t moved(const struct lm_ledger *before, const struct lm_ledger *after)
{
	uint64_t begun = after->allocations + after->begun;
	uint64_t ended = before->settled + before->frees;

	/* Slot 0 may be charged with the end of what began in another. */
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
	/* Counters are read one after the other: a free may be seen whose birth was not yet. */
	ledger->outstanding = raw->allocations > gone ? raw->allocations - gone : 0;
}
