/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Adds results of `leakmon retain` to a recording: one transaction each, so that whatever ends it
 * leaves the file with the whole result or without it. A recording that `leakmon record` adds
 * snapshots to meanwhile is good; an older one is brought to the present schema.
 */
#ifndef LEAKMON_STORE_RETAIN_RUNS_H
#define LEAKMON_STORE_RETAIN_RUNS_H

#include "report/retain_result.h"

/*
 * The recording is made if it is not there. `label` may be NULL. *number gets the run's number
 * within it. 0, or -errno after an error message: the file is as it was before.
 */
int retain_writer_append(const char *path, const struct retain_result *result, const char *label,
			 int64_t *number);

#endif
