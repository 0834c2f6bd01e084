// SPDX-License-Identifier: GPL-2.0-or-later
/* What programs hold, by name and container. */
#include "output/prom_parts.h"

#include <errno.h>
#include <inttypes.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "output/prom_labels.h"

/* Beyond these, programs share the label comm="other". */
#define TOP_GROUPS 20

/* Figures that not every process has. */
enum known { KNOWN_ALWAYS, KNOWN_ALIVE, KNOWN_DEAD, KNOWN_MAX_ };

/* All processes of one name in one container. */
struct group {
	const struct snapshot_process *process; /* one of them, for the labels; NULL: "other" */
	uint64_t bytes, count, processes;
	uint64_t mapped_bytes, mapped_ranges;
	uint64_t alive, dead, dead_stack_bytes; /* threads */
	bool known[KNOWN_MAX_];
};

struct groups {
	struct group *items;
	size_t count, capacity;
};

static void group_add(struct group *group, const struct snapshot_process *process)
{
	const struct thread_figures *threads = &process->threads;

	group->bytes += process->outstanding_bytes;
	group->count += process->outstanding_count;
	group->mapped_bytes += process->mapping.outstanding;
	group->mapped_ranges += process->mapping.ranges;
	group->processes++;
	group->alive += threads->alive;
	group->dead += threads->dead;
	group->dead_stack_bytes += threads->dead_stack_bytes;
	group->known[KNOWN_ALWAYS] = true;
	group->known[KNOWN_ALIVE] |= threads->counted;
	group->known[KNOWN_DEAD] |= threads->followed;
}

static void group_absorb(struct group *other, const struct group *group)
{
	other->bytes += group->bytes;
	other->count += group->count;
	other->mapped_bytes += group->mapped_bytes;
	other->mapped_ranges += group->mapped_ranges;
	other->processes += group->processes;
	other->alive += group->alive;
	other->dead += group->dead;
	other->dead_stack_bytes += group->dead_stack_bytes;
	for (size_t i = 0; i < KNOWN_MAX_; i++)
		other->known[i] |= group->known[i];
}

static int groups_collect(struct groups *groups, const struct report *report)
{
	_cleanup_(hash_free) struct hash positions = {0};

	for (size_t i = 0; i < report->processes.count; i++) {
		const struct snapshot_process *process = report->processes.items[i].process;
		bool fresh;
		uint64_t *position = hash_put(&positions, prom_process_key(process), &fresh);
		struct group *group;

		if (!position)
			return -ENOMEM;
		if (fresh)
			*position = groups->count;
		group = fresh ? vec_push(groups) : &groups->items[*position];
		if (!group)
			return -ENOMEM;
		group->process = fresh ? process : group->process;
		group_add(group, process);
	}
	return 0;
}

static int group_compare(const void *left, const void *right)
{
	const struct group *a = left, *b = right;

	return (a->bytes < b->bytes) - (a->bytes > b->bytes);
}

/* Sums up those that hold least. */
static void groups_cut(struct groups *groups)
{
	struct group other = {0};

	if (!groups->count)
		return;
	qsort(groups->items, groups->count, sizeof(other), group_compare);
	if (groups->count <= TOP_GROUPS)
		return;
	for (size_t i = TOP_GROUPS - 1; i < groups->count; i++)
		group_absorb(&other, &groups->items[i]);
	groups->items[TOP_GROUPS - 1] = other;
	groups->count = TOP_GROUPS;
}

static void groups_write(FILE *out, const struct groups *groups, enum known known,
			 const struct prom_metric *metrics, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		prom_header(out, metrics[i].name, "gauge", metrics[i].help);
		for (size_t j = 0; j < groups->count; j++) {
			const struct group *group = &groups->items[j];

			if (!group->known[known])
				continue;
			fprintf(out, "leakmon_%s", metrics[i].name);
			prom_process_labels(out, group->process);
			fprintf(out, "} %" PRIu64 "\n", prom_value(group, &metrics[i]));
		}
	}
}

static void blocks_write(FILE *out, const struct groups *groups)
{
	static const struct prom_metric metrics[] = {
		{"outstanding_bytes", "Bytes allocated and not freed since the attach.",
		 offsetof(struct group, bytes)},
		{"outstanding_blocks", "Blocks allocated and not freed since the attach.",
		 offsetof(struct group, count)},
		{"watched_processes", "Processes that are summed up here.",
		 offsetof(struct group, processes)},
	};

	groups_write(out, groups, KNOWN_ALWAYS, metrics, ARRAY_SIZE(metrics));
}

static void threads_write(FILE *out, const struct groups *groups)
{
	static const struct prom_metric alive[] = {
		{"threads_alive", "Threads that live.", offsetof(struct group, alive)},
	};
	static const struct prom_metric dead[] = {
		{"threads_dead", "Threads that have ended and were neither joined nor detached.",
		 offsetof(struct group, dead)},
		{"threads_dead_stack_bytes", "Bytes of stacks that dead threads keep mapped.",
		 offsetof(struct group, dead_stack_bytes)},
	};

	groups_write(out, groups, KNOWN_ALIVE, alive, ARRAY_SIZE(alive));
	groups_write(out, groups, KNOWN_DEAD, dead, ARRAY_SIZE(dead));
}

/* Names of their own: blocks lie in mappings, and a sum over both would count them twice. */
static void mappings_write(FILE *out, const struct groups *groups)
{
	static const struct prom_metric gauges[] = {
		{"mapping_outstanding_bytes", "Bytes mapped and not unmapped since the attach.",
		 offsetof(struct group, mapped_bytes)},
		{"mapping_outstanding_ranges", "Ranges mapped and not unmapped since the attach.",
		 offsetof(struct group, mapped_ranges)},
	};

	groups_write(out, groups, KNOWN_ALWAYS, gauges, ARRAY_SIZE(gauges));
}

int prom_groups_write(FILE *out, const struct report *report)
{
	struct groups groups = {0};
	int error = groups_collect(&groups, report);

	if (!error) {
		groups_cut(&groups);
		blocks_write(out, &groups);
		threads_write(out, &groups);
		if (report->snapshot->has_mappings)
			mappings_write(out, &groups);
	}
	vec_free(&groups);
	return error;
}
