/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads the segments of System V shared memory (/proc/sysvipc/shm, man 5 proc). Unless it is
 * removed (shmctl(2), IPC_RMID), a segment outlives its creator and all other processes.
 */
#ifndef LEAKMON_MEMORY_SYSV_SEGMENTS_H
#define LEAKMON_MEMORY_SYSV_SEGMENTS_H

#include <stdio.h>

#include "report/memory_report.h"
#include "report/sysv_report.h"

/* Further segments are left out. */
#define SYSV_SEGMENTS_MAX 4096

/*
 * Reads the segments in the IPC namespace of a process; pid 0: leakmon's. 0; -ENOENT: no such
 * process, or a kernel without System V IPC; -EPERM: the namespace may not be entered; -EBADMSG;
 * -ENOMEM. *report is untouched on error; the caller frees it.
 */
int sysv_segments_read(pid_t pid, struct sysv_report *report);
/* Parses a text in the format of /proc/sysvipc/shm, without the names of creators. 0, -EBADMSG or
 * -ENOMEM. */
int sysv_segments_parse(FILE *file, struct sysv_report *report);

/* Keeps the segments that concern the processes of a report: see sysv_report.list. */
void sysv_segments_select(struct sysv_report *report, const struct memory_report *processes);
/* Compares with an earlier reading that still has all its segments. */
void sysv_segments_compare(const struct sysv_report *before, uint64_t since_ms,
			   struct sysv_report *report);

#endif
