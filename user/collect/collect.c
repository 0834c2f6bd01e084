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

int collector_read(struct collector *collector, struct snapshot *snapshot)
{
	struct snapshot filled = {.sequence = collector->sequence + 1,
				  .monotonic_ns = monotonic_ns(),
				  .has_ages = !collector->options->combined_only,
				  .has_owners = !collector->options->combined_only &&
						collector->bpf->living_link_fd >= 0,
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
