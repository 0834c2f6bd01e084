/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's figures of a process's memory, mapping by mapping: /proc/PID/smaps and the lines of
 * /proc/PID/status that no mapping has (man 5 proc, Documentation/filesystems/proc.rst).
 */
#ifndef LEAKMON_MEMORY_SMAPS_H
#define LEAKMON_MEMORY_SMAPS_H

#include <stdio.h>

#include "base/vec.h"
#include "process/proc/maps.h"
#include "report/memory_report.h"

struct smaps_entry {
	struct mapping mapping; /* its path is owned */
	struct smaps_figures figures;
};

struct smaps {
	VEC(struct smaps_entry) list; /* by ascending address */
};

/*
 * `task`: the thread with a /proc directory that shows the address space (maps.task). 0; -ESRCH;
 * -EACCES; -ENOENT: this kernel has no smaps; -EBADMSG: no text that a kernel writes; -ENOMEM.
 * *smaps is untouched on error.
 */
int smaps_read(int pid, int task, struct smaps *smaps);
/* The same of a text. 0, -EBADMSG or -ENOMEM. */
int smaps_parse(FILE *file, struct smaps *smaps);
void smaps_free(struct smaps *smaps);

/*
 * The same of a core file, as far as it shows: pages with contents are resident, and nobody else
 * had them. `pagemap` is the core's. 0 or -ENOMEM.
 */
int smaps_of_core(const struct maps *maps, int pagemap, struct smaps *smaps);

/* The sum over all mappings. */
struct smaps_figures smaps_sum(const struct smaps *smaps);

/* Private anonymous memory by who has its pages; `faults` is 0. */
struct memory_forked smaps_forked(const struct smaps *smaps);

/* 0 or -errno; *status is untouched on error. */
int memory_status_read(int pid, struct memory_status *status);
int memory_status_parse(FILE *file, struct memory_status *status);

#endif
