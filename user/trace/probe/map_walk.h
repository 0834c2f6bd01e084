/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Walks a BPF hash map in batches. */
#ifndef LEAKMON_PROBE_MAP_WALK_H
#define LEAKMON_PROBE_MAP_WALK_H

#include <stddef.h>

/*
 * Called with arrays of `count` keys and values. Returns 0 to continue, -errno to end the walk with
 * it.
 */
typedef int (*map_visit)(const void *keys, const void *values, size_t count, void *context);

/*
 * Visits every entry. An entry present during the whole walk is visited exactly once (an entry
 * never leaves its bucket, and buckets are read whole); one added or removed meanwhile, at most
 * once. Returns 0 or -errno.
 */
int map_walk(int map_fd, size_t key_size, size_t value_size, map_visit visit, void *context);

#endif
