/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The files that processes map, each version of a file once, and what is known of them.
 *
 * Identity: what fstat says of the opened file (base/file_identity.h), the time of its last change
 * of state (st_ctime, man 7 inode) included: nobody can set that one back, so what was found out
 * about one version is never used for another. What /proc/PID/maps shows is no identity of a
 * version, and on overlayfs and btrfs its device is another one; the build-id is what the file
 * says of itself, and files are hostile.
 *
 * Facets: each room above fills a slot of its own (symbols, unwind rows, ...) and says how to
 * release what it put there. A facet stays while somebody holds it, and for some time afterwards:
 * the next process may map the same file. A file is forgotten with its last facet.
 */
#ifndef LEAKMON_TARGET_DSO_H
#define LEAKMON_TARGET_DSO_H

#include <stdbool.h>
#include <stdint.h>

#include "base/file_identity.h"
#include "base/hash.h"
#include "base/vec.h"
#include "process/proc/maps.h"

enum dso_kind {
	DSO_SYMBOLS, /* names and lines; held by what a process maps, or has mapped */
	DSO_ROWS,    /* unwind rows; held by what the kernel has of a process' mappings */
	DSO_PLAN,    /* where probes go; held while they are set */
	DSO_THREADS, /* a thread library; likewise */
	DSO_DATA,    /* variables; held by a heap image */
	DSO_KIND_MAX_
};

struct dso_facet {
	void *value;	       /* NULL: not filled (yet) */
	size_t users;	       /* how often it is held */
	uint64_t unused_since; /* while it is not: dso_cache.releases then, */
	size_t unused_bytes;   /* and the size of the value */
	bool kept;	       /* it is held, or was and has not been dropped since */
};

struct dso {
	struct file_identity identity;
	uint32_t number; /* no other one has it */
	uint64_t key;	 /* of dso_cache.index */
	size_t place;	 /* in dso_cache.list */
	int fd; /* open as long as DSO_SYMBOLS is held, if the cache keeps files; else -1 */
	struct dso_facet facets[DSO_KIND_MAX_];
};

/* The fate of a facet's value, which is not NULL. */
struct dso_facet_type {
	void (*release)(void *value, void *context);
	void (*idle)(void *value, void *context); /* nobody holds it any more; or NULL */
	void *context;
	size_t (*bytes)(const void *value); /* where values may be large; or NULL */
};

/* Zero-initialise it, except for vdso_fd: -1. */
struct dso_cache {
	VEC(struct dso *) list;
	struct hash index; /* of identities -> struct dso * */
	struct dso_facet_type types[DSO_KIND_MAX_];
	size_t unused[DSO_KIND_MAX_]; /* facets that nobody holds */
	size_t unused_bytes[DSO_KIND_MAX_];
	uint64_t releases; /* counted, to know which is unused the longest */
	uint32_t last_number;
	bool keeps_files; /* to have names when the process is gone or the file was replaced */
	size_t open_files;
	int vdso_fd; /* a copy of the vDSO; -1: not yet */
};

/* All facets have been given up by then, or are released now. */
void dso_cache_free(struct dso_cache *cache);

/* From now on facets of this kind can be filled. */
void dso_cache_register(struct dso_cache *cache, enum dso_kind kind,
			const struct dso_facet_type *type);
/* Releases all values of a kind: whoever fills it is about to go. */
void dso_cache_unregister(struct dso_cache *cache, enum dso_kind kind);

/*
 * The DSO of an open file, which is taken over in any case, with a facet held once more for the
 * caller. NULL: out of memory or no file.
 */
struct dso *dso_add(struct dso_cache *cache, int fd, enum dso_kind kind);
void dso_hold(struct dso_cache *cache, struct dso *dso, enum dso_kind kind);
/* Undoes one hold. Of the facets that nobody holds the latest are kept: see dso.c for how many. */
void dso_release(struct dso_cache *cache, struct dso *dso, enum dso_kind kind);

static inline void *dso_facet(const struct dso *dso, enum dso_kind kind)
{
	return dso->facets[kind].value;
}

/*
 * A descriptor of the file that the caller closes; where it is not kept open, by a mapping of it in
 * a task. -errno as target_file_open_mapping(); -ESTALE: another version is there.
 */
int dso_open(const struct dso_cache *cache, const struct dso *dso, int task,
	     const struct mapping *mapping);

/* Whether it is the image that the kernel itself maps into every process (man 7 vdso). */
bool dso_is_vdso(const struct mapping *mapping);
/* Its DSO, as dso_add(): our own stands for every target's. */
struct dso *dso_add_vdso(struct dso_cache *cache, enum dso_kind kind);

#endif
