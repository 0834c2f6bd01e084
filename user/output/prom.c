// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Prometheus' text format 0.0.4 (prometheus.io, "Exposition formats"), for node-exporter's textfile
 * collector: no timestamps, HELP and TYPE for all, samples of one metric in one group. Few series:
 * processes of one name and container are one, and of the sites only the first ones are shown.
 */
#include <inttypes.h>

#include "base/cleanup.h"
#include "output/finish.h"
#include "output/formats.h"
#include "output/prom_labels.h"
#include "output/prom_parts.h"

#define NS_PER_S 1e9

static void counters_write(FILE *out, const struct prom_metric *metrics, size_t count,
			   const void *values)
{
	for (size_t i = 0; i < count; i++) {
		prom_header(out, metrics[i].name, "counter", metrics[i].help);
		fprintf(out, "leakmon_%s %" PRIu64 "\n", metrics[i].name,
			prom_value(values, &metrics[i]));
	}
}

/* The gauges stand with those of the programs. */
static void mappings_write(FILE *out, const struct report *report)
{
	static const struct prom_metric counters[] = {
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

	if (report->snapshot->has_mappings)
		counters_write(out, counters, ARRAY_SIZE(counters), &report->snapshot->mapping);
}

static void ledger_write(FILE *out, const struct report *report)
{
	static const struct prom_metric metrics[] = {
		{"allocations_total", "Allocations seen.", offsetof(struct ledger, allocations)},
		{"frees_total", "Frees that ended an allocation seen.",
		 offsetof(struct ledger, frees)},
		{"purged_total", "Blocks given up because their process ended or replaced itself.",
		 offsetof(struct ledger, purged)},
		{"untracked_frees_total", "Frees of blocks from before the attach.",
		 offsetof(struct ledger, untracked_frees)},
	};

	counters_write(out, metrics, ARRAY_SIZE(metrics), &report->snapshot->ledger);
}

/* Every cause, also those that are zero: an alert needs a series before the first loss. */
static void losses_write(FILE *out, const struct report *report)
{
	const struct ledger *ledger = &report->snapshot->ledger;

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

/* Every cause, too: whose they are, the other formats say. */
static void inexact_write(FILE *out, const struct report *report)
{
	prom_header(out, "process_inexact", "gauge",
		    "Processes whose numbers are not exact, by cause.");
	for (unsigned i = 0; i < INEXACT_MAX_; i++)
		fprintf(out, "leakmon_process_inexact{cause=\"%s\"} %zu\n", inexact_name(i),
			snapshot_count_inexact(report->snapshot, i));
}

static void snapshot_write(FILE *out, const struct report *report)
{
	const struct snapshot *snapshot = report->snapshot;
	const struct report_cost *cost = &report->cost;

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
	int error = prom_groups_write(out, report);

	if (error)
		return error;
	mappings_write(out, report);
	error = prom_sites_write(out, report);
	if (error)
		return error;
	ledger_write(out, report);
	losses_write(out, report);
	inexact_write(out, report);
	snapshot_write(out, report);
	return output_finish(out);
}
