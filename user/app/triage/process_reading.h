/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One process read again and again, for as little as possible. Measured on Linux 6.18: a kept
 * descriptor of statm 0.5 µs, reopened 2.7; status 5.7; stat of the fd directory (its size is
 * the number of open files since 6.2) 0.5; maps 10 and more. So statm is read every time, and what
 * it cannot know only when it has changed, or at every REFRESH-th reading.
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
	uint64_t start_ticks; /* (pid, start_ticks) is one process: process/proc/process_list.h */
	char comm[16];	      /* untrusted */
	bool kernel_thread;
	bool has_memory; /* no: a kernel thread, a zombie, or its main thread has ended */
	int statm_fd;	 /* -1: none kept; owned */
	uint32_t readings;
	uint32_t maps_due;     /* reading at which mappings may be counted again */
	uint64_t statm[3];     /* pages: size, resident, shared */
	uint64_t counted_size; /* statm[0] when the mappings were counted */
	uint64_t swap_bytes;
	struct quantities quantities;
};

struct reading_effort {
	bool keep_descriptor;
	bool files, mappings; /* false: shed, keeps what is known */
	double admission_s;   /* CPU time for processes that are new; the others wait */
};

#define READING_REFRESH 12

/* For a PID that was just listed. 0; -ESRCH; -EACCES (hidepid); *reading is untouched on error. */
int process_reading_open(struct process_reading *reading, pid_t pid);
void process_reading_close(struct process_reading *reading);

/*
 * Reads again. 0; -ESRCH: it is gone, whoever has the PID now. What cannot be read, since it is
 * another user's, stays NAN.
 */
int process_reading_update(struct process_reading *reading, const struct reading_effort *effort);

/* Parses the text of /proc/PID/status: name, threads, anonymous and swapped memory. */
void process_reading_take_status(struct process_reading *reading, const char *text);

/* Whether this reading was one of those that look at everything. */
bool process_reading_is_refresh(const struct process_reading *reading);

/*
 * Threads that ended and were never joined, as far as mappings show: each keeps its stack. An
 * estimate, without a probe: `leakmon threads` knows.
 */

/*
 * Stacks beyond those of the `threads` that live (NAN: not known); the main thread's is none of
 * them. The C library keeps a few for threads to come (glibc: 40 MB): what counts is how many are
 * added. 0 or more.
 */
double thread_stacks_orphaned(const struct maps *maps, double threads);

#endif
