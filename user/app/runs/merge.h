/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Recordings of many hosts put into one, a fleet: processes keep their host, call stacks and files
 * that several hosts share are stored once, and every reader of recordings shows the whole.
 *
 * A snapshot of the fleet holds, of each recording, the latest snapshot that it had by then: before
 * its own first one that first one, after its last one the last. So the first snapshot of the fleet
 * is the sum of all first ones, and its last the sum of all last ones, whenever they were taken.
 *
 * A host is known by its name and boot id; a second one of the same name is called "NAME (BOOT)".
 */
#ifndef LEAKMON_RUNS_MERGE_H
#define LEAKMON_RUNS_MERGE_H

#include "report/store/recorder.h"

/* For more, evenly spaced ones are kept. */
#define MERGE_SNAPSHOTS_MAX 240

struct merge;

/* Opens the recordings, fleets among them. 0, or -errno after an error message. */
int merge_open(struct merge **merge, const char *const *paths, size_t count);
void merge_free(struct merge *merge);

/*
 * Writes them all into a recording that is still empty. 0; -EEXIST: a process would count twice;
 * -EINTR: the end is wished for (base/interrupt.h), without a message; -errno; all after a message.
 */
int merge_write(struct merge *merge, struct recorder *recorder);

size_t merge_hosts(const struct merge *merge);

#endif
