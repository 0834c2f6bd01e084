/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The container a process runs in: looked up once per container, not once per process. */
#ifndef LEAKMON_PROC_CONTAINER_CACHE_H
#define LEAKMON_PROC_CONTAINER_CACHE_H

#include <sys/types.h>

#include "proc/container.h"

/* Containers by id. One that has no names is asked for again after a while, as is one that died. */
struct container_cache;

/* NULL: out of memory. */
struct container_cache *container_cache_new(void);
void container_cache_free(struct container_cache *cache);

/*
 * The container of `pid`, or NULL: it is in none, it has ended, or there is no memory. It belongs
 * to the cache and is good until the next call.
 */
const struct container *container_find(struct container_cache *cache, pid_t pid);

/* The same when the paths are known already. */
const struct container *container_find_by_paths(struct container_cache *cache, pid_t pid,
						const struct cgroup_paths *paths);

#endif
