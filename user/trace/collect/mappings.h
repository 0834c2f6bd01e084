/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Mappings that processes made since they are watched: the events of include/leakmon_mapping.h
 * replayed, in their order, on one set of ranges per process. Ranges from before are known, too,
 * but not counted.
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

/* NULL: out of memory. */
struct mappings *mappings_new(maps_reader read);
void mappings_free(struct mappings *mappings);

/*
 * This process' events come from now on: what it has mapped already is known, and not counted.
 * 0, or -errno: then it is read when the first event comes.
 */
int mappings_watch(struct mappings *mappings, int pid);

/* Replays one event. 0, or -ENOMEM: then the process is inexact from now on. */
int mappings_apply(struct mappings *mappings, const struct lm_mapping_event *event);

/*
 * `events_lost`: so far, of whichever processes. If more were lost since the last time, it reads
 * /proc/PID/maps of every process, else of those with calls that have no event. What is no
 * longer there is given up, what is new goes to the site LM_SITE_LOST, and these processes are
 * inexact from now on.
 */
void mappings_heal(struct mappings *mappings, uint64_t events_lost);

/* Purges every process that `is_over` says has exited or replaced itself. */
typedef bool (*process_is_over)(lm_process_key process, const void *context);

void mappings_purge(struct mappings *mappings, process_is_over is_over, const void *context);

/* Mappings of one call stack for one purpose. */
struct mapping_site {
	uint32_t site, kind;
	uint64_t mapped_bytes, mapped_calls;
};

/* One process, as a snapshot needs it. Pointers are good until the next call that changes it. */
struct mapping_view {
	lm_process_key process;
	bool exact;
	struct mapping_ledger ledger;
	const struct ranges *ranges; /* not all are counted: see mapping_is_counted */
	const struct mapping_site *sites;
	size_t site_count;
	const struct hash *site_index; /* of (site, kind) -> place in `sites` */
};

/* The i-th process; false when there are no more. */
bool mappings_view(const struct mappings *mappings, size_t i, struct mapping_view *view);

/* False: it was there before the process was watched. */
bool mapping_is_counted(const struct range *range);

/* Over all processes, those that are gone included. */
void mappings_total(const struct mappings *mappings, struct mapping_ledger *total);

/* From replayed mappings to the sites of a snapshot. Internal to collect/. */

#endif
