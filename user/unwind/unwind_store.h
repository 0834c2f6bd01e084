/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keeps the kernel's unwind rows in step with what the targets map: rows once per file, shared by
 * all processes that map it; executable mappings per process.
 */
#ifndef LEAKMON_UNWIND_UNWIND_STORE_H
#define LEAKMON_UNWIND_UNWIND_STORE_H

#include <stddef.h>

#include "probe/loader.h"

struct unwind_store;
struct worker;

struct unwind_stats {
	size_t modules;	 /* files whose rows are loaded */
	size_t rows;	 /* in all of them */
	size_t failures; /* files whose .eh_frame could not be used */
};

/* Files are compiled by `worker`. Both are borrowed. NULL: out of memory. */
struct unwind_store *unwind_store_new(const struct bpf_side *bpf, struct worker *worker);
void unwind_store_free(struct unwind_store *store);

/*
 * Reads the mappings of a process and loads what is new; cheap when nothing changed. A file whose
 * rows cannot be had is left out (its frames are walked by frame pointer) and not tried again.
 * 0; -ESRCH: the process is gone; or -errno when the kernel refused a map.
 */
int unwind_store_refresh(struct unwind_store *store, int pid);

/* Drops the mappings of a process that ended. Rows stay for others and for the next start. */
void unwind_store_forget(struct unwind_store *store, int pid);

void unwind_store_stats(const struct unwind_store *store, struct unwind_stats *stats);

#endif
