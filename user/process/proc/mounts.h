/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The mounts that a process sees (man 5 proc, /proc/PID/mountinfo). */
#ifndef LEAKMON_PROC_MOUNTS_H
#define LEAKMON_PROC_MOUNTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Of the text of leakmon's own mounts, or of process 1's. A line of an overlay has up to a page of
 * options: a thousand containers are some megabytes.
 */
#define MOUNTINFO_MAX_BYTES (64u << 20)

struct mount {
	uint64_t device;  /* as stat(2) has it */
	const char *type; /* untrusted in its second part: "fuse.sshfs" */
	char *point;	  /* as its root sees it; untrusted, unescaped */
};

/* Calls it with each mount, of which nothing stays; ends with what is not 0. -errno: not read. */
int mounts_visit(pid_t pid, int (*visit)(void *context, const struct mount *mount), void *context);

/* "fuse", "fuse.sshfs", "fuseblk": a process serves it, which need not answer. */
bool mount_is_fuse(const struct mount *mount);
/* Likewise, or a server elsewhere: NFS and the like. */
bool mount_is_served(const struct mount *mount);

#endif
