// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/collect.h"

#include <bpf/bpf.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "collect/collector.h"
#include "collect/reading.h"

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

/* What is more or less than one process' own ledger can show may be any of theirs. */
static void doubt_ledgers(struct snapshot *snapshot)
{
	bool told = ledger_agrees(snapshot, &snapshot->ledger);

	for (size_t i = 0; i < snapshot->processes.count; i++) {
		struct snapshot_process *process = &snapshot->processes.items[i];

		if (ledger_agrees(snapshot, &process->ledger))
			continue;
		snapshot_doubt(process, INEXACT_LEDGER);
		told = true;
	}
	for (size_t i = 0; i < snapshot->processes.count && !told; i++)
		snapshot_doubt(&snapshot->processes.items[i], INEXACT_LEDGER);
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
