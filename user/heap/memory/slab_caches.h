/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads what the kernel's slab caches hold (man 5 slabinfo): of the whole machine. */
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

/* 0; -ENOENT, -EACCES: no such file, or only for root; -EBADMSG; -ENOMEM. *caches is untouched on
 * error; its owner frees it. */
int slab_caches_read(struct slab_caches *caches);
int slab_caches_parse(FILE *file, struct slab_caches *caches);
void slab_caches_free(struct slab_caches *caches);

/*
 * Growth of one cache in bytes; of "" that of all caches of kmalloc. Caches of one size may be one,
 * under the name of the first (SLUB merges them). Negative also where neither reading has it.
 */
int64_t slab_caches_growth(const struct slab_caches *before, const struct slab_caches *now,
			   const char *name);

/* Whether the kernel frees its objects when memory is short: caches of inodes and names. True where
 * the kernel does not say. */
bool slab_cache_is_reclaimable(const char *name);

#endif
