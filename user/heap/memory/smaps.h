/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's figures of a process's memory by mapping: /proc/PID/smaps, and lines of
 * /proc/PID/status that smaps lacks (man 5 proc, Documentation/filesystems/proc.rst).
 */
#ifndef LEAKMON_MEMORY_SMAPS_H
#define LEAKMON_MEMORY_SMAPS_H

#include <stdio.h>

#include "base/vec.h"
#include "process/proc/maps.h"
#include "report/memory_report.h"

struct smaps_entry {
	struct mapping mapping; /* owns its path */
	struct smaps_figures figures;
};

struct smaps {
	VEC(struct smaps_entry) list; /* by ascending address */
};

/*
 * Reads smaps. `task`: the thread whose /proc directory shows the address space (maps.task). 0;
 * -ESRCH; -EACCES; -ENOENT: a kernel without smaps; -EBADMSG: not a text of the kernel's; -ENOMEM.
 * *smaps is untouched on error.
 */
int smaps_read(int pid, int task, struct smaps *smaps);
/* Parses a text in the format of smaps. 0, -EBADMSG or -ENOMEM. */
int smaps_parse(FILE *file, struct smaps *smaps);
void smaps_free(struct smaps *smaps);

/*
 * Builds smaps for a core file: pages with contents count as resident, and as private. `pagemap` is
 * the core's. 0 or -ENOMEM.
 */
int smaps_of_core(const struct maps *maps, int pagemap, struct smaps *smaps);

/* Returns the sum over all mappings. */
struct smaps_figures smaps_sum(const struct smaps *smaps);

/* Returns private anonymous memory by owner of the pages; `faults` is 0. */
struct memory_forked smaps_forked(const struct smaps *smaps);

/* Reads /proc/PID/status, or parses a text in its format. 0 or -errno; *status is untouched on
 * error. */
int memory_status_read(int pid, struct memory_status *status);
int memory_status_parse(FILE *file, struct memory_status *status);

#endif
