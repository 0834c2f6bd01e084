/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Adds results of `leakmon retain` to a recording: one transaction each, so that the file always
 * has the whole result or nothing of it. Works while `leakmon record` adds snapshots; an older
 * recording is upgraded to the present schema.
 */
#ifndef LEAKMON_STORE_RETAIN_RUNS_H
#define LEAKMON_STORE_RETAIN_RUNS_H

#include "report/retain_result.h"

/*
 * Appends a result; creates the recording if it does not exist. `label` may be NULL. *number gets
 * the run's number within it. Returns 0, or -errno after an error message: the file is unchanged.
 */
int retain_writer_append(const char *path, const struct retain_result *result, const char *label,
			 int64_t *number);

#endif
