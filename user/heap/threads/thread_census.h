/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The census of dead threads, from what the maps hold. */
#ifndef LEAKMON_THREADS_THREAD_CENSUS_H
#define LEAKMON_THREADS_THREAD_CENSUS_H

#include "heap/threads/thread_table.h"
#include "report/snapshot.h"
#include "report/thread_report.h"
#include "trace/collect/owners.h"

/*
 * The census of one process from the table; names are not filled in. Set census->pid and
 * census->process before. `owners` says what the dead hold on the heap; NULL: it is not tracked.
 * 0 or -ENOMEM.
 */
int thread_census_take(struct thread_census *census, const struct thread_table *table,
		       const struct owners *owners, const struct bpf_side *bpf);
/* The same as plain numbers; `alive` is left as it is. 0 or -ENOMEM (free the figures). */
int thread_census_figures(const struct thread_census *census, uint64_t now_ns,
			  struct thread_figures *figures);
/* The dead threads of the table, to be filled in by a reading of the heap. 0 or -ENOMEM. */
int thread_table_owners(const struct thread_table *table, struct owners *owners);

#endif
