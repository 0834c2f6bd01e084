/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The census of dead threads, from the BPF maps. */
#ifndef LEAKMON_THREADS_THREAD_CENSUS_H
#define LEAKMON_THREADS_THREAD_CENSUS_H

#include "heap/threads/thread_table.h"
#include "report/snapshot.h"
#include "report/thread_report.h"
#include "trace/collect/owners.h"

/*
 * Takes the census of one process from the table, without names. Set census->pid and
 * census->process before. `owners` lists the heap blocks of dead threads; NULL: the heap is not
 * tracked. Returns 0 or -ENOMEM.
 */
int thread_census_take(struct thread_census *census, const struct thread_table *table,
		       const struct owners *owners, const struct bpf_side *bpf);
/*
 * Converts the census to plain numbers; leaves `alive` untouched. Returns 0 or -ENOMEM (free the
 * figures in either case).
 */
int thread_census_figures(const struct thread_census *census, uint64_t now_ns,
			  struct thread_figures *figures);
/*
 * Lists the dead threads of the table, for a reading of the heap to fill in. Returns 0 or -ENOMEM.
 */
int thread_table_owners(const struct thread_table *table, struct owners *owners);

#endif
