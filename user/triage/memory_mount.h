/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the kernel tells what it charges to cgroups: the mount of the memory hierarchy. */
#ifndef LEAKMON_TRIAGE_MEMORY_MOUNT_H
#define LEAKMON_TRIAGE_MEMORY_MOUNT_H

#include <limits.h>
#include <stdbool.h>

#include "proc/cgroup.h"

struct memory_mount {
	char *point;  /* NULL: it is mounted nowhere; owned */
	char *root;   /* what of the hierarchy is mounted there; owned */
	bool unified; /* cgroup v2 */
};

/* 0, also when there is none; -ENOMEM. In any case for memory_mount_free(). */
int memory_mount_find(struct memory_mount *mount);
void memory_mount_free(struct memory_mount *mount);

/* The path in the memory hierarchy among the paths of a process, or NULL. */
const char *memory_mount_path(const struct cgroup_paths *paths);

/* A group's directory seen through the mount; false: outside of what is mounted. */
bool memory_mount_directory(const struct memory_mount *mount, const char *path,
			    char directory[PATH_MAX]);

#endif
