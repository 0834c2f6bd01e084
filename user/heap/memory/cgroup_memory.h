/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory that the kernel charges to a control group, in addition to that of its processes: page
 * cache, shared memory and kernel memory may belong to no process.
 *
 * Sources: Documentation/admin-guide/cgroup-v2.rst, cgroup-v1/memory.rst, accounting/psi.rst; the
 * kubelet's working set: usage minus inactive_file (cadvisor, container/libcontainer/handler.go).
 */
#ifndef LEAKMON_MEMORY_CGROUP_MEMORY_H
#define LEAKMON_MEMORY_CGROUP_MEMORY_H

#include "report/cgroup_report.h"

/* Adds a process to the group that its memory is charged to. 0 or -ENOMEM. */
int cgroup_memories_add(struct cgroup_memories *groups, const struct cgroup_member *member);

/* Reads all groups where hierarchies are usually mounted, after the last process was added; groups
 * inside others become part of them. 0 or -ENOMEM. */
int cgroup_memories_read(struct cgroup_memories *groups);

/* Computes the growth of each group that is also in `first`; the others are added to `first`. 0 or
 * -ENOMEM. */
int cgroup_memories_conclude(struct cgroup_memories *first, struct cgroup_memories *now);

/* Reads the files in a group's directory. 0; -ENOENT: it has no files of a memory controller. */
int cgroup_memory_read_in(const char *directory, bool unified, struct cgroup_figures *figures,
			  struct cgroup_pressure *pressure);

/* Reads the limit on a process's memory, and the working set of its group, in bytes. Returns false,
 * and leaves both untouched, if there is no limit or it cannot be read. */
bool cgroup_memory_limit(pid_t pid, uint64_t *limit, uint64_t *used);

void cgroup_conclude(const struct cgroup_memory *before, struct cgroup_memory *now);

#endif
