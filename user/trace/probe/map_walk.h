/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Walks a BPF hash map in batches. */
#ifndef LEAKMON_PROBE_MAP_WALK_H
#define LEAKMON_PROBE_MAP_WALK_H

#include <stddef.h>

/* Arrays of `count` keys and values. Return 0 to go on, -errno to end the walk with it. */
typedef int (*map_visit)(const void *keys, const void *values, size_t count, void *context);

/*
 * Visits every entry. One that is there for the whole walk is visited exactly once (an entry never
 * leaves its bucket, and buckets are read whole); one that comes or goes meanwhile, at most once.
 */
int map_walk(int map_fd, size_t key_size, size_t value_size, map_visit visit, void *context);

#endif
