/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Live threads by creator, by what they run and where they wait.
 *
 * No thread is stopped: /proc/PID/task/TID/syscall (proc(5)) names the stack pointer and the next
 * instruction of one that waits in the kernel, and its stack is copied and unwound from there. One
 * that has gone on meanwhile yields frames that were, or fewer. One that runs has no frames.
 */
#ifndef LEAKMON_THREADS_LIVE_CENSUS_H
#define LEAKMON_THREADS_LIVE_CENSUS_H

#include "heap/threads/thread_table.h"
#include "report/thread_report.h"

struct worker;

/* Threads beyond these are counted and not grouped; and beyond these grouped by their innermost
 * frame. */
#define LIVE_THREADS_MAX 65536
#define LIVE_UNWOUND_MAX 1024

/*
 * Fills census->live, most threads first; names are not filled in. `worker` reads files. 0, also
 * when the process has ended; -ENOMEM.
 */
int live_census_take(struct thread_census *census, const struct thread_table *table,
		     const struct bpf_side *bpf, struct worker *worker);

/* Groups of a process at earlier reports, by their identity. */
struct live_past {
	uint32_t pid;
	uint64_t id;
	uint64_t first_count, first_ns;
	bool seen; /* in the latest report */
};
struct live_pasts {
	VEC(struct live_past) list;
	uint64_t first_ns; /* of the first report */
};

/* Sets the growth of each group since the first report. 0 or -ENOMEM. */
int live_pasts_compare(struct live_pasts *pasts, struct thread_census *census, uint64_t now_ns);
void live_pasts_free(struct live_pasts *pasts);

#endif
