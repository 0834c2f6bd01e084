/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the memory of one process is: parts that sum up to the kernel's figure (Rss of smaps), read
 * from outside, without a stop and without probes. What the parts do not explain is kept as the
 * difference, and what cannot be known is said with its reason.
 */
#ifndef LEAKMON_MEMORY_MEMORY_PARTS_H
#define LEAKMON_MEMORY_MEMORY_PARTS_H

#include "heap/memory/smaps.h"
#include "process/pause/stop.h"
#include "process/proc/process_memory.h"

/*
 * By /proc's line of the i-th mapping alone: MEMORY_ANONYMOUS where it shows nothing. Names are
 * the target's word, and decide over nothing but the words of a report.
 */
enum memory_part mapping_owner(const struct smaps *smaps, size_t i);

/*
 * 0; -ESRCH: no such process, or none with memory; -EACCES, -EPERM; -ENOENT: a kernel without
 * smaps; -ENOMEM. *process is untouched on error. `pause`: whether, and for how long, it may be
 * stopped where its heap changes too fast to be read; NULL: never.
 */
int memory_process_read(pid_t pid, const struct pause_options *pause,
			struct memory_process *process);
/* The same of a core file, which is borrowed: see smaps_of_core(). 0 or -ENOMEM. */
int memory_core_read(const struct core *core, struct memory_process *process);
#endif
