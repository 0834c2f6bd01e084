/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The container a process runs in, with the names that Kubernetes gave it. The id comes from the
 * cgroup path (container_id.h); the names from what the runtimes leave on the machine
 * (container_names.h). Everything is looked up once per container, not once per process.
 */
#ifndef LEAKMON_PROC_CONTAINER_H
#define LEAKMON_PROC_CONTAINER_H

#include <sys/types.h>

#include "proc/cgroup.h"
#include "proc/container_id.h"

/* NULL: not known, or the container belongs to no pod. Names are untrusted text; owned. */
struct container {
	char id[CONTAINER_ID_LENGTH + 1];
	char pod_uid[POD_UID_MAX_LENGTH + 1]; /* "": no pod, or not known */
	char *namespace, *pod, *name;
};

/* The first of the paths that is a container's, and its id; NULL: none is. */
const char *container_path(const struct cgroup_paths *paths, struct container_id *id);

/* A deep copy for container_free(). NULL: out of memory, or container is NULL. */
struct container *container_copy(const struct container *container);
/* NULL is allowed. */
void container_free(struct container *container);

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
