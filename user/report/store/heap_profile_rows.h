/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The heap profile that a Go program keeps of itself, with its run of `leakmon retain`, in the
 * tables `heap_profiles` and `heap_profile_sites`: only the samples; estimates are recomputed.
 * Internal to store/. Functions return 0 or -errno.
 */
#ifndef LEAKMON_STORE_HEAP_PROFILE_ROWS_H
#define LEAKMON_STORE_HEAP_PROFILE_ROWS_H

#include "report/retain_result.h"
#include "report/store/recording_state.h"

/* Writes nothing if a run has none, or an unknown one. */
int heap_profile_rows_put(sqlite3 *database, int64_t retain, const struct retain_result *result);

/* Reads result->heap_profile, if any; texts are the result's. */
int heap_profile_rows_read(struct recording *recording, int64_t retain,
			   struct retain_result *result);

#endif
