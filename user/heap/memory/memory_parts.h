/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The memory of one process by parts that add up to the kernel's figure (Rss of smaps), read from
 * outside, without a stop and without probes. The unexplained rest is kept as the difference;
 * unknown parts are reported with the reason.
 */
#ifndef LEAKMON_MEMORY_MEMORY_PARTS_H
#define LEAKMON_MEMORY_MEMORY_PARTS_H

#include "heap/memory/smaps.h"
#include "process/pause/stop.h"
#include "process/proc/process_memory.h"

/*
 * Returns the part of the i-th mapping by its line in /proc alone; MEMORY_ANONYMOUS if that shows
 * nothing. Names are untrusted, and decide only the wording of a report.
 */
enum memory_part mapping_owner(const struct smaps *smaps, size_t i);

/*
 * Reads the memory of a process. 0; -ESRCH: no such process, or none with memory; -EACCES, -EPERM;
 * -ENOENT: a kernel without smaps; -ENOMEM. *process is untouched on error. `pause`: whether, and
 * for how long, it may be stopped if its heap changes too fast to be read; NULL: never.
 */
int memory_process_read(pid_t pid, const struct pause_options *pause,
			struct memory_process *process);
/* Reads the memory of a core file, which is borrowed: see smaps_of_core(). 0 or -ENOMEM. */
int memory_core_read(const struct core *core, struct memory_process *process);
#endif
