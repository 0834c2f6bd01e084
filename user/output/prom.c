// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Prometheus' text format 0.0.4 (prometheus.io, "Exposition formats"), for node-exporter's textfile
 * collector: no timestamps, HELP and TYPE for all, samples of one metric in one group. Few series:
 * processes of one name and container are one, and of the sites only the first ones are shown.
 */
#include <errno.h>
#include <inttypes.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "output/formats.h"
#include "output/prom_labels.h"
#include "proc/container.h"
#include "symbol/intern.h"

#define TOP_SITES 10 /* of each family */
/* Beyond these, programs share the label comm="other". */
#define TOP_GROUPS 20
#define NS_PER_S 1e9

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

/* A line of a table of metrics: which field of a struct it shows. */
struct metric {
	const char *name, *help;
	size_t offset;
};

struct ranked_site {
	const struct snapshot_process *process;
	const struct report_site *site;
};

struct exposition {
	FILE *out;
	const struct report *report;
	VEC(struct group) groups;
	VEC(struct ranked_site) sites;
};

static void process_labels(FILE *out, const struct snapshot_process *process)
{
	prom_label(out, "comm", process ? process->comm : "other", "{");
	prom_container_labels(out, process ? process->container : NULL);
}

static void site_labels(FILE *out, const struct ranked_site *ranked)
{
	const struct frames *frames = &ranked->site->frames;
	const struct frame *caller = frames->list.count ? &frames->list.items[0] : NULL;
	char id[17], place[32];

	process_labels(out, ranked->process);
	snprintf(id, sizeof(id), "%016" PRIx64, ranked->site->id);
	prom_label(out, "site", id, ",");
	prom_label(out, "family", family_name(ranked->site->site->family), ",");
	if (kind_name(ranked->site->site->kind))
		prom_label(out, "kind", kind_name(ranked->site->site->kind), ",");
	prom_label(out, "function", caller ? caller->function : NULL, ",");
	prom_label(out, "module", caller ? caller->module : NULL, ",");
	prom_label(out, "file", caller ? caller->file : NULL, ",");
	snprintf(place, sizeof(place), "%" PRIu32, caller ? caller->line : 0);
	prom_label(out, "line", place, ",");
}

static uint64_t value_at(const void *object, const struct metric *metric)
{
	return *(const uint64_t *)(const void *)((const char *)object + metric->offset);
}

static uint64_t group_key(const struct snapshot_process *process)
{
	uint64_t key = intern_hash(process->comm);

	return process->container ? hash_mix(key) ^ intern_hash(process->container->id) : key;
}

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

static int groups_collect(struct exposition *exposition)
{
	_cleanup_(hash_free) struct hash positions = {0};

	for (size_t i = 0; i < exposition->report->processes.count; i++) {
		const struct snapshot_process *process =
			exposition->report->processes.items[i].process;
		bool fresh;
		uint64_t *position = hash_put(&positions, group_key(process), &fresh);
		struct group *group;

		if (!position)
			return -ENOMEM;
		if (fresh)
			*position = exposition->groups.count;
		group = fresh ? vec_push(&exposition->groups)
			      : &exposition->groups.items[*position];
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
static void groups_cut(struct exposition *exposition)
{
	struct group other = {0};

	if (!exposition->groups.count)
		return;
	qsort(exposition->groups.items, exposition->groups.count, sizeof(other), group_compare);
	if (exposition->groups.count <= TOP_GROUPS)
		return;
	for (size_t i = TOP_GROUPS - 1; i < exposition->groups.count; i++)
		group_absorb(&other, &exposition->groups.items[i]);
	exposition->groups.items[TOP_GROUPS - 1] = other;
	exposition->groups.count = TOP_GROUPS;
}

static int site_compare(const void *left, const void *right)
{
	const struct ranked_site *a = left, *b = right;
	uint64_t a_bytes = a->site->site->bytes, b_bytes = b->site->site->bytes;

	return a_bytes == b_bytes ? (a->site->id > b->site->id) - (a->site->id < b->site->id)
				  : (a_bytes < b_bytes) - (a_bytes > b_bytes);
}

/* Two series with the same labels make the whole file invalid. */
static bool same_series(const struct ranked_site *a, const struct ranked_site *b)
{
	return a->site->id == b->site->id && a->site->site->family == b->site->site->family &&
	       a->site->site->kind == b->site->site->kind &&
	       group_key(a->process) == group_key(b->process);
}

static int sites_collect(struct exposition *exposition)
{
	size_t kept = 0, of_family[FAMILY_MAX_] = {0};

	for (size_t i = 0; i < exposition->report->processes.count; i++) {
		const struct report_process *process = &exposition->report->processes.items[i];

		for (size_t j = 0; j < process->sites.count; j++) {
			struct ranked_site *site = vec_push(&exposition->sites);

			if (!site)
				return -ENOMEM;
			site->process = process->process;
			site->site = &process->sites.items[j];
		}
	}
	if (exposition->sites.count)
		qsort(exposition->sites.items, exposition->sites.count,
		      sizeof(*exposition->sites.items), site_compare);
	for (size_t i = 0; i < exposition->sites.count; i++) {
		enum site_family family = exposition->sites.items[i].site->site->family;
		bool known = of_family[family] == TOP_SITES;

		for (size_t j = 0; j < kept && !known; j++)
			known = same_series(&exposition->sites.items[j],
					    &exposition->sites.items[i]);
		if (known)
			continue;
		of_family[family]++;
		exposition->sites.items[kept++] = exposition->sites.items[i];
	}
	exposition->sites.count = kept;
	return 0;
}

static void groups_write(const struct exposition *exposition, enum known known,
			 const struct metric *metrics, size_t count)
{
	FILE *out = exposition->out;

	for (size_t i = 0; i < count; i++) {
		prom_header(out, metrics[i].name, "gauge", metrics[i].help);
		for (size_t j = 0; j < exposition->groups.count; j++) {
			const struct group *group = &exposition->groups.items[j];

			if (!group->known[known])
				continue;
			fprintf(out, "leakmon_%s", metrics[i].name);
			process_labels(out, group->process);
			fprintf(out, "} %" PRIu64 "\n", value_at(group, &metrics[i]));
		}
	}
}

static void counters_write(FILE *out, const struct metric *metrics, size_t count,
			   const void *values)
{
	for (size_t i = 0; i < count; i++) {
		prom_header(out, metrics[i].name, "counter", metrics[i].help);
		fprintf(out, "leakmon_%s %" PRIu64 "\n", metrics[i].name,
			value_at(values, &metrics[i]));
	}
}

static void blocks_write(const struct exposition *exposition)
{
	static const struct metric metrics[] = {
		{"outstanding_bytes", "Bytes allocated and not freed since the attach.",
		 offsetof(struct group, bytes)},
		{"outstanding_blocks", "Blocks allocated and not freed since the attach.",
		 offsetof(struct group, count)},
		{"watched_processes", "Processes that are summed up here.",
		 offsetof(struct group, processes)},
	};

	groups_write(exposition, KNOWN_ALWAYS, metrics, ARRAY_SIZE(metrics));
}

static void threads_write(const struct exposition *exposition)
{
	static const struct metric alive[] = {
		{"threads_alive", "Threads that live.", offsetof(struct group, alive)},
	};
	static const struct metric dead[] = {
		{"threads_dead", "Threads that have ended and were neither joined nor detached.",
		 offsetof(struct group, dead)},
		{"threads_dead_stack_bytes", "Bytes of stacks that dead threads keep mapped.",
		 offsetof(struct group, dead_stack_bytes)},
	};

	groups_write(exposition, KNOWN_ALIVE, alive, ARRAY_SIZE(alive));
	groups_write(exposition, KNOWN_DEAD, dead, ARRAY_SIZE(dead));
}

/* Names of their own: blocks lie in mappings, and a sum over both would count them twice. */
static void mappings_write(const struct exposition *exposition)
{
	static const struct metric gauges[] = {
		{"mapping_outstanding_bytes", "Bytes mapped and not unmapped since the attach.",
		 offsetof(struct group, mapped_bytes)},
		{"mapping_outstanding_ranges", "Ranges mapped and not unmapped since the attach.",
		 offsetof(struct group, mapped_ranges)},
	};
	static const struct metric counters[] = {
		{"mapping_mapped_bytes_total", "Bytes that were mapped.",
		 offsetof(struct mapping_ledger, mapped)},
		{"mapping_unmapped_bytes_total", "Bytes that were unmapped again.",
		 offsetof(struct mapping_ledger, unmapped)},
		{"mapping_purged_bytes_total",
		 "Bytes given up because their process ended or replaced itself.",
		 offsetof(struct mapping_ledger, purged)},
		{"mapping_events_lost_total", "Mapping calls that were not seen.",
		 offsetof(struct mapping_ledger, events_lost)},
	};

	if (!exposition->report->snapshot->has_mappings)
		return;
	groups_write(exposition, KNOWN_ALWAYS, gauges, ARRAY_SIZE(gauges));
	counters_write(exposition->out, counters, ARRAY_SIZE(counters),
		       &exposition->report->snapshot->mapping);
}

static void sites_write(const struct exposition *exposition)
{
	static const struct metric metrics[] = {
		{"site_outstanding_bytes", "Bytes held by the call stacks that hold most.",
		 offsetof(struct site, bytes)},
		{"site_outstanding_blocks", "Blocks held by the call stacks that hold most.",
		 offsetof(struct site, count)},
	};
	FILE *out = exposition->out;

	for (size_t i = 0; i < ARRAY_SIZE(metrics); i++) {
		prom_header(out, metrics[i].name, "gauge", metrics[i].help);
		for (size_t j = 0; j < exposition->sites.count; j++) {
			const struct ranked_site *ranked = &exposition->sites.items[j];

			fprintf(out, "leakmon_%s", metrics[i].name);
			site_labels(out, ranked);
			fprintf(out, "} %" PRIu64 "\n", value_at(ranked->site->site, &metrics[i]));
		}
	}
}

static void ledger_write(const struct exposition *exposition)
{
	static const struct metric metrics[] = {
		{"allocations_total", "Allocations seen.", offsetof(struct ledger, allocations)},
		{"frees_total", "Frees that ended an allocation seen.",
		 offsetof(struct ledger, frees)},
		{"purged_total", "Blocks given up because their process ended or replaced itself.",
		 offsetof(struct ledger, purged)},
		{"untracked_frees_total", "Frees of blocks from before the attach.",
		 offsetof(struct ledger, untracked_frees)},
	};

	counters_write(exposition->out, metrics, ARRAY_SIZE(metrics),
		       &exposition->report->snapshot->ledger);
}

/* Every cause, also those that are zero: an alert needs a series before the first loss. */
static void losses_write(const struct exposition *exposition)
{
	const struct ledger *ledger = &exposition->report->snapshot->ledger;
	FILE *out = exposition->out;

	prom_header(out, "dropped_allocations_total", "counter",
		    "Allocations that are not in the books, by cause.");
	for (unsigned i = 0; i < LM_DROP_MAX_; i++)
		fprintf(out, "leakmon_dropped_allocations_total{cause=\"%s\"} %" PRIu64 "\n",
			drop_name(i), ledger->dropped[i]);
	prom_header(out, "lost_stacks_total", "counter",
		    "Allocations kept without a stack, by cause.");
	for (unsigned i = LM_LOST_NONE + 1; i < LM_LOST_MAX_; i++)
		fprintf(out, "leakmon_lost_stacks_total{cause=\"%s\"} %" PRIu64 "\n", lost_name(i),
			ledger->lost_stacks[i]);
	prom_header(out, "short_stacks_total", "counter",
		    "Stacks that end before the root, by cause.");
	for (unsigned i = LM_WALK_ROOT + 1; i < LM_WALK_MAX_; i++)
		fprintf(out, "leakmon_short_stacks_total{cause=\"%s\"} %" PRIu64 "\n",
			walk_end_name(i), ledger->walk_ends[i]);
}

static void snapshot_write(const struct exposition *exposition)
{
	const struct snapshot *snapshot = exposition->report->snapshot;
	const struct report_cost *cost = &exposition->report->cost;
	FILE *out = exposition->out;

	prom_header(out, "snapshot_timestamp_seconds", "gauge", "When this was measured.");
	fprintf(out, "leakmon_snapshot_timestamp_seconds %.3f\n",
		(double)snapshot->time.tv_sec + (double)snapshot->time.tv_nsec / NS_PER_S);
	prom_header(out, "snapshot_duration_seconds", "gauge", "How long reading the maps took.");
	fprintf(out, "leakmon_snapshot_duration_seconds %.6f\n",
		(double)snapshot->scan_ns / NS_PER_S);
	prom_header(out, "sampled", "gauge", "1 if the numbers are estimates from a sample.");
	fprintf(out, "leakmon_sampled %d\n", snapshot->sampled);
	if (!cost->rss_bytes)
		return;
	prom_header(out, "cpu_seconds_total", "counter",
		    "CPU time of the monitor itself, without its probes.");
	fprintf(out, "leakmon_cpu_seconds_total %.3f\n", cost->cpu_s);
	prom_header(out, "resident_memory_bytes", "gauge",
		    "Resident memory of the monitor itself.");
	fprintf(out, "leakmon_resident_memory_bytes %" PRIu64 "\n", cost->rss_bytes);
}

int output_prom_write(FILE *out, const struct report *report)
{
	struct exposition exposition = {.out = out, .report = report};
	int error = groups_collect(&exposition);

	if (!error)
		error = sites_collect(&exposition);
	if (!error) {
		groups_cut(&exposition);
		blocks_write(&exposition);
		threads_write(&exposition);
		mappings_write(&exposition);
		sites_write(&exposition);
		ledger_write(&exposition);
		losses_write(&exposition);
		snapshot_write(&exposition);
		error = output_finish(out);
	}
	vec_free(&exposition.groups);
	vec_free(&exposition.sites);
	return error;
}
