/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The files that processes map, each version of a file once, and the data derived from them.
 *
 * Identity: fstat of the opened file (base/file_identity.h), including its inode change time
 * (st_ctime, man 7 inode), which cannot be set back: so data derived from one version is never used
 * for another. /proc/PID/maps does not identify a version, and on overlayfs and btrfs it shows
 * another device; the build-id is the file's own claim, and files are hostile.
 *
 * Facets: each higher room fills its own slot (symbols, unwind rows, ...) and supplies its release
 * function. A facet stays while it is held, and for some time afterwards: the next process may map
 * the same file. A file is forgotten with its last facet.
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
	DSO_SYMBOLS, /* names and lines; held by the processes that map it, or have mapped it */
	DSO_ROWS,    /* unwind rows; held by a process's mappings in the kernel */
	DSO_PLAN,    /* places of probes; held while they are set */
	DSO_THREADS, /* a thread library; held while its probes are set */
	DSO_DATA,    /* variables; held by a heap image */
	DSO_KIND_MAX_
};

struct dso_facet {
	void *value;	       /* NULL: not filled (yet) */
	size_t users;	       /* number of holds */
	uint64_t unused_since; /* if unheld: dso_cache.releases at its release, */
	size_t unused_bytes;   /* and the size of the value */
	bool kept;	       /* held, or was and has not been dropped since */
};

struct dso {
	struct file_identity identity;
	uint32_t number; /* unique */
	uint64_t key;	 /* of dso_cache.index */
	size_t place;	 /* index in dso_cache.list */
	int fd; /* open as long as DSO_SYMBOLS is held, if the cache keeps files; else -1 */
	struct dso_facet facets[DSO_KIND_MAX_];
};

/* Callbacks for a facet's value, which is not NULL. */
struct dso_facet_type {
	void (*release)(void *value, void *context);
	void (*idle)(void *value, void *context); /* no longer held; or NULL */
	void *context;
	size_t (*bytes)(const void *value); /* for kinds with large values; or NULL */
};

/* Zero-initialise it, except for vdso_fd: -1. */
struct dso_cache {
	VEC(struct dso *) list;
	struct hash index; /* of identities -> struct dso * */
	struct dso_facet_type types[DSO_KIND_MAX_];
	size_t unused[DSO_KIND_MAX_]; /* unheld facets */
	size_t unused_bytes[DSO_KIND_MAX_];
	uint64_t releases; /* counter, to find the facet unused longest */
	uint32_t last_number;
	bool keeps_files; /* to name code after the process ended or the file was replaced */
	size_t open_files;
	int vdso_fd; /* a copy of the vDSO; -1: not yet */
};

/* Frees the cache. Facets not yet released are released now. */
void dso_cache_free(struct dso_cache *cache);

/* From now on facets of this kind can be filled. */
void dso_cache_register(struct dso_cache *cache, enum dso_kind kind,
			const struct dso_facet_type *type);
/* Releases all values of a kind, whose owner is about to be freed. */
void dso_cache_unregister(struct dso_cache *cache, enum dso_kind kind);

/*
 * Returns the DSO of an open file, taking ownership of fd in any case, with one more hold of a
 * facet for the caller. NULL: out of memory or no file.
 */
struct dso *dso_add(struct dso_cache *cache, int fd, enum dso_kind kind);
void dso_hold(struct dso_cache *cache, struct dso *dso, enum dso_kind kind);
/* Undoes one hold. The latest unheld facets are kept: see dso.c for how many. */
void dso_release(struct dso_cache *cache, struct dso *dso, enum dso_kind kind);

static inline void *dso_facet(const struct dso *dso, enum dso_kind kind)
{
	return dso->facets[kind].value;
}

/*
 * Returns a descriptor of the file that the caller closes; if it is not kept open, by a mapping of
 * it in a task. -errno as target_file_open_mapping(); -ESTALE: another version is there.
 */
int dso_open(const struct dso_cache *cache, const struct dso *dso, int task,
	     const struct mapping *mapping);

/* Returns whether it is the image that the kernel maps into every process (man 7 vdso). */
bool dso_is_vdso(const struct mapping *mapping);
/* Returns its DSO, as dso_add() does: leakmon's own serves for every target's. */
struct dso *dso_add_vdso(struct dso_cache *cache, enum dso_kind kind);

#endif
