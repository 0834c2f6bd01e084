/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Mappings that processes have made since they are watched: the events of include/leakmon_mapping.h
 * replayed, in order, on one set of ranges per process. Earlier ranges are known, too, but not
 * counted.
 */
#ifndef LEAKMON_COLLECT_MAPPINGS_H
#define LEAKMON_COLLECT_MAPPINGS_H

#include <stdbool.h>

#include "base/hash.h"
#include "trace/collect/collect.h"
#include "trace/collect/ranges.h"
#include "report/snapshot.h"
#include "leakmon_mapping.h"
#include "process/proc/maps.h"

struct mappings;

/* Returns NULL if out of memory. */
struct mappings *mappings_new(maps_reader read);
void mappings_free(struct mappings *mappings);

/*
 * Announces a process's events: its present mappings are known, and not counted. Returns 0, or
 * -errno: then they are read at the first event.
 */
int mappings_watch(struct mappings *mappings, int pid);

/* Replays one event. Returns 0, or -ENOMEM: then the process is inexact from now on. */
int mappings_apply(struct mappings *mappings, const struct lm_mapping_event *event);

/*
 * `events_lost`: the total so far, of any processes. If more were lost since the last call, reads
 * /proc/PID/maps of every process, else of those with calls without events. Mappings gone are
 * dropped, new ones go to the site LM_SITE_LOST, and these processes are inexact from now on.
 */
void mappings_heal(struct mappings *mappings, uint64_t events_lost);

/* Purges every process that has exited or execed according to `is_over`. */
typedef bool (*process_is_over)(lm_process_key process, const void *context);

void mappings_purge(struct mappings *mappings, process_is_over is_over, const void *context);

/* Mappings of one call stack for one purpose. */
struct mapping_site {
	uint32_t site, kind;
	uint64_t mapped_bytes, mapped_calls;
};

/* One process, as a snapshot needs it. Pointers are valid until the next call that changes it. */
struct mapping_view {
	lm_process_key process;
	bool exact;
	struct mapping_ledger ledger;
	const struct ranges *ranges; /* some are not counted: see mapping_is_counted */
	const struct mapping_site *sites;
	size_t site_count;
	const struct hash *site_index; /* (site, kind) -> index in `sites` */
};

/* Gets the i-th process. Returns false if there are no more. */
bool mappings_view(const struct mappings *mappings, size_t i, struct mapping_view *view);

/* Returns false for a range from before the process was watched. */
bool mapping_is_counted(const struct range *range);

/* Sums over all processes, including ended ones. */
void mappings_total(const struct mappings *mappings, struct mapping_ledger *total);

/* Adds replayed mappings to the sites of a snapshot. Internal to collect/. */

#endif
