/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Merges recordings of many hosts into a fleet: processes keep their host, call stacks and files
 * shared by several hosts are stored once, and every reader of recordings shows the whole.
 *
 * A snapshot of the fleet contains the latest snapshot of each recording at that time: before its
 * first one, the first; after its last one, the last. So the first snapshot of the fleet is the sum
 * of all first ones, and its last the sum of all last ones, whenever they were taken.
 *
 * A host is identified by its name and boot id; a second one of the same name is called "NAME
 * (BOOT)".
 */
#ifndef LEAKMON_RUNS_MERGE_H
#define LEAKMON_RUNS_MERGE_H

#include "report/store/recorder.h"

/* Beyond these, evenly spaced ones are kept. */
#define MERGE_SNAPSHOTS_MAX 240

struct merge;

/* Opens the recordings; fleets are allowed. Returns 0, or -errno after an error message. */
int merge_open(struct merge **merge, const char *const *paths, size_t count);
void merge_free(struct merge *merge);

/*
 * Writes all of them into an empty recording. Returns 0; -EEXIST: a process would count twice; or
 * -errno; all after a message. -EINTR: interrupted (base/interrupt.h), without a message.
 */
int merge_write(struct merge *merge, struct recorder *recorder);

size_t merge_hosts(const struct merge *merge);

#endif
