/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Live threads grouped by creator, start routine and wait location.
 *
 * No thread is stopped: /proc/PID/task/TID/syscall (proc(5)) gives the stack pointer and the next
 * instruction of a thread that waits in the kernel; its stack is copied and unwound from there. If
 * the thread has resumed meanwhile, the frames are stale or fewer. A running thread has no frames.
 */
#ifndef LEAKMON_THREADS_LIVE_CENSUS_H
#define LEAKMON_THREADS_LIVE_CENSUS_H

#include "heap/threads/thread_table.h"
#include "report/thread_report.h"

struct worker;

/*
 * Limits: threads beyond the first are counted but not grouped; threads beyond the second are
 * grouped by their innermost frame.
 */
#define LIVE_THREADS_MAX 65536
#define LIVE_UNWOUND_MAX 1024

/*
 * Fills census->live with groups, largest first, without names. `worker` reads files. Returns 0,
 * also when the process has ended, or -ENOMEM.
 */
int live_census_take(struct thread_census *census, const struct thread_table *table,
		     const struct bpf_side *bpf, struct worker *worker);

/* A group of a process in earlier reports, by its identity. */
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

/* Sets the growth of each group since the first report. Returns 0 or -ENOMEM. */
int live_pasts_compare(struct live_pasts *pasts, struct thread_census *census, uint64_t now_ns);
void live_pasts_free(struct live_pasts *pasts);

#endif
