/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads one process repeatedly at the least cost. Measured on Linux 6.18: a kept descriptor of
 * statm 0.5 µs, reopened 2.7; status 5.7; stat of the fd directory (its size is the number of open
 * files since 6.2) 0.5; maps 10 and more. So statm is read every time, and the rest only when statm
 * has changed, or at every REFRESH-th reading.
 *
 * The descriptor also is the identity: it belongs to this process, not to the PID, and reads
 * nothing once the process is gone.
 */
#ifndef LEAKMON_TRIAGE_PROCESS_READING_H
#define LEAKMON_TRIAGE_PROCESS_READING_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "app/triage/growth.h"
#include "process/proc/maps.h"

struct process_reading {
	pid_t pid, parent;
	/* (pid, start_ticks) identify a process: process/proc/process_list.h */
	uint64_t start_ticks;
	char comm[16]; /* untrusted */
	bool kernel_thread;
	bool has_memory; /* false: a kernel thread, a zombie, or its main thread has ended */
	int statm_fd;	 /* -1: not kept; owned */
	uint32_t readings;
	uint32_t maps_due;     /* reading at which mappings may be counted again */
	uint64_t statm[3];     /* pages: size, resident, shared */
	uint64_t counted_size; /* statm[0] when the mappings were counted */
	uint64_t swap_bytes;
	struct quantities quantities;
};

struct reading_effort {
	bool keep_descriptor;
	bool files, mappings; /* false: shed, the old figures stay */
	double admission_s;   /* CPU time for new processes; the others wait */
};

#define READING_REFRESH 12

/*
 * Begins with a PID that was just listed. Returns 0, -ESRCH or -EACCES (hidepid); *reading is
 * untouched on error.
 */
int process_reading_open(struct process_reading *reading, pid_t pid);
void process_reading_close(struct process_reading *reading);

/*
 * Reads again. Returns 0, or -ESRCH if the process is gone, even if its PID was reused. Figures of
 * other users' processes that cannot be read stay NAN.
 */
int process_reading_update(struct process_reading *reading, const struct reading_effort *effort);

/* Parses the text of /proc/PID/status: name, threads, anonymous and swapped memory. */
void process_reading_take_status(struct process_reading *reading, const char *text);

/* Returns whether the latest reading was a full one. */
bool process_reading_is_refresh(const struct process_reading *reading);

/*
 * Threads that ended and were never joined, estimated from the stacks in the mappings, without
 * probes: `leakmon threads` is exact.
 */

/*
 * Returns the number of thread stacks beyond those of the live `threads` (NAN: unknown), without
 * the main thread's; at least 0. The C library caches a few stacks (glibc: 40 MB), so only an
 * increase is meaningful.
 */
double thread_stacks_orphaned(const struct maps *maps, double threads);

#endif
