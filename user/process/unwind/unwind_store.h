/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keeps the kernel's unwind rows in step with what the targets map: rows once per file, shared by
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

/* Read by the kernel side. Borrowed from whoever loaded it. */
struct unwind_maps {
	int modules_fd, ranges_fd; /* maps of maps: `unwind_modules`, `unwind_ranges` */
	uint32_t *generation;	   /* raised when they changed */
	int made_codes_fd;	   /* `made_codes` */
	int pythons_fd;		   /* `pythons` */
	uint32_t *python_count;	   /* how many are in it */
};

struct unwind_stats {
	size_t processes;
	size_t modules;	 /* sets of rows that are loaded */
	size_t rows;	 /* in all of them */
	size_t failures; /* files with an unusable .eh_frame */
};

/* For processes with files in `dsos`; `worker` compiles them. NULL: out of memory. */
struct unwind_store *unwind_store_new(const struct unwind_maps *maps, struct worker *worker,
				      struct dso_cache *dsos);
void unwind_store_free(struct unwind_store *store);

/* Code that a process makes while it runs. */
struct unwind_made {
	const struct unwind_table *table; /* rows from table->base on, if there are any; most are
					     LM_UNWIND_MADE */
	uint64_t end;			  /* of the anonymous memory that they hold for */
	struct lm_made_code blocks;	  /* for those */
};
/* In place of what there was before, for the next refresh of the process. 0 or -errno. */
int unwind_store_set_made(struct unwind_store *store, int pid, const struct unwind_made *made);

/*
 * Loads what is new in a process that has been refreshed; cheap when nothing changed. A file with
 * rows cannot be had is left out (its frames are walked by frame pointer) and not tried again.
 * What a process has newly mapped is there for its walks before this returns: new entries in the
 * kernel's maps of maps cost an RCU grace period (5 to 30 ms) each time, but only after they took
 * effect. 0, or -errno when the kernel refused a map.
 */
int unwind_store_refresh(struct unwind_store *store, const struct process *process);

/*
 * The same for many processes, with one wait for all of them. 0, or the first -errno; the others
 * are refreshed all the same.
 */
int unwind_store_refresh_all(struct unwind_store *store, struct process *const *processes,
			     size_t count);

/*
 * Drops what belongs to a process that ended: at once here, in the kernel together with others.
 * Rows that nobody maps any more stay for the next start of the program, those of 256 files.
 */
void unwind_store_forget(struct unwind_store *store, int pid);

/* For tests: nothing else shows what was freed. */
void unwind_store_stats(const struct unwind_store *store, struct unwind_stats *stats);

#endif
