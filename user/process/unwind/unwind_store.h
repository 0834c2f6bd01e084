/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keeps the kernel's unwind rows in step with the targets' mappings: rows once per file, shared by
 * all processes that map it; executable mappings per process.
 */
#ifndef LEAKMON_UNWIND_UNWIND_STORE_H
#define LEAKMON_UNWIND_UNWIND_STORE_H

#include <stddef.h>
#include <stdint.h>

#include "leakmon_abi.h"

struct dso_cache;
struct process;
struct unwind_store;
struct unwind_table;
struct worker;

/* Maps read by the kernel side. Borrowed from their loader. */
struct unwind_maps {
	int modules_fd, ranges_fd; /* maps of maps: `unwind_modules`, `unwind_ranges` */
	uint32_t *generation;	   /* incremented on changes */
	int made_codes_fd;	   /* `made_codes` */
	int pythons_fd;		   /* `pythons` */
	uint32_t *python_count;	   /* number of entries in it */
};

struct unwind_stats {
	size_t processes;
	size_t modules;	 /* sets of loaded rows */
	size_t rows;	 /* in all of them */
	size_t failures; /* files with an unusable .eh_frame */
};

/*
 * Returns a new store for processes with files in `dsos`; `worker` compiles them. NULL: out of
 * memory.
 */
struct unwind_store *unwind_store_new(const struct unwind_maps *maps, struct worker *worker,
				      struct dso_cache *dsos);
void unwind_store_free(struct unwind_store *store);

/* Code that a process generates at run time. */
struct unwind_made {
	/* rows from table->base on, if any; most are LM_UNWIND_MADE */
	const struct unwind_table *table;
	uint64_t end;		    /* of the anonymous memory that they cover */
	struct lm_made_code blocks; /* for those */
};
/* Replaces the process's generated code, for its next refresh. Returns 0 or -errno. */
int unwind_store_set_made(struct unwind_store *store, int pid, const struct unwind_made *made);

/*
 * Loads the new files of a refreshed process; cheap when nothing changed. A file without obtainable
 * rows is left out (its frames are walked by frame pointer) and not retried. New mappings are
 * available to the process's walks before this returns: new entries in the kernel's maps of maps
 * cost an RCU grace period (5 to 30 ms) each time, but only after they took effect. Returns 0, or
 * -errno when the kernel refused a map.
 */
int unwind_store_refresh(struct unwind_store *store, const struct process *process);

/*
 * Refreshes many processes, with one wait for all of them. Returns 0, or the first -errno; the
 * others are still refreshed.
 */
int unwind_store_refresh_all(struct unwind_store *store, struct process *const *processes,
			     size_t count);

/*
 * Drops the data of an ended process: at once here, in the kernel in batches. Unmapped rows stay
 * for the next start of the program, those of 256 files.
 */
void unwind_store_forget(struct unwind_store *store, int pid);

/* For tests: nothing else shows what was freed. */
void unwind_store_stats(const struct unwind_store *store, struct unwind_stats *stats);

#endif
