/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory that the kernel charges to a control group, beside what its processes have: page cache,
 * shared memory, kernel memory may be no process's at all.
 *
 * Sources: Documentation/admin-guide/cgroup-v2.rst, cgroup-v1/memory.rst, accounting/psi.rst; the
 * kubelet's working set: usage less inactive_file (cadvisor, container/libcontainer/handler.go).
 */
#ifndef LEAKMON_MEMORY_CGROUP_MEMORY_H
#define LEAKMON_MEMORY_CGROUP_MEMORY_H

#include "report/cgroup_report.h"

/* Counts a process in the group that its memory is charged to. 0 or -ENOMEM. */
int cgroup_memories_add(struct cgroup_memories *groups, const struct cgroup_member *member);

/* When all are counted: groups inside other ones become part of them, and all are read where
 * hierarchies are usually mounted. 0 or -ENOMEM. */
int cgroup_memories_read(struct cgroup_memories *groups);

/* Growth of each group that `first` has, too; others are added to `first`. 0 or -ENOMEM. */
int cgroup_memories_conclude(struct cgroup_memories *first, struct cgroup_memories *now);

/* Reads the files in a group's directory. 0; -ENOENT: there are none of a memory controller. */
int cgroup_memory_read_in(const char *directory, bool unified, struct cgroup_figures *figures,
			  struct cgroup_pressure *pressure);

/* The limit that a process's memory counts under, and the working set of its own group. False, and
 * untouched: there is none, or it cannot be read. */
bool cgroup_memory_limit(pid_t pid, uint64_t *limit, uint64_t *used);

void cgroup_conclude(const struct cgroup_memory *before, struct cgroup_memory *now);

#endif
