/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the objects in the kernel's slab caches (man 5 slabinfo), of the whole machine. */
#ifndef LEAKMON_MEMORY_SLAB_CACHES_H
#define LEAKMON_MEMORY_SLAB_CACHES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/vec.h"

struct slab_cache {
	char name[32];
	uint64_t objects, object_size; /* in use, or held for one CPU */
};

struct slab_caches {
	VEC(struct slab_cache) list;
};

/* Reads or parses slabinfo. 0; -ENOENT, -EACCES: no such file, or only for root; -EBADMSG; -ENOMEM.
 * *caches is untouched on error; the caller frees it. */
int slab_caches_read(struct slab_caches *caches);
int slab_caches_parse(FILE *file, struct slab_caches *caches);
void slab_caches_free(struct slab_caches *caches);

/*
 * Returns the growth of one cache in bytes; for "", of all kmalloc caches. Caches of one size may
 * be merged under the name of the first (SLUB). Negative also if neither reading has the cache.
 */
int64_t slab_caches_growth(const struct slab_caches *before, const struct slab_caches *now,
			   const char *name);

/* Returns whether the kernel frees its objects under memory pressure: caches of inodes and names.
 * True if the kernel does not tell. */
bool slab_cache_is_reclaimable(const char *name);

#endif
