/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Probe plans by file version: many processes map the same files. */
#ifndef LEAKMON_PROBE_PLAN_CACHE_H
#define LEAKMON_PROBE_PLAN_CACHE_H

#include <sys/stat.h>

#include "probe/plan.h"

struct plan_cache;

/* NULL: out of memory. */
struct plan_cache *plan_cache_new(void);
void plan_cache_free(struct plan_cache *cache);

/*
 * The plan of the file that `status` describes, or NULL: it was not made yet. It belongs to the
 * cache. A file that was written to since is another version.
 */
const struct probe_plan *plan_cache_get(const struct plan_cache *cache, const struct stat *status);

/* Keeps *plan, which is empty then; returns it as plan_cache_get() does. NULL: out of memory. */
const struct probe_plan *plan_cache_put(struct plan_cache *cache, const struct stat *status,
					struct probe_plan *plan);

#endif
