/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The mounts visible to a process (man 5 proc, /proc/PID/mountinfo). */
#ifndef LEAKMON_PROC_MOUNTS_H
#define LEAKMON_PROC_MOUNTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Limit of the text of leakmon's own mounts, or of process 1's. An overlay's line has up to a page
 * of options: a thousand containers need some megabytes.
 */
#define MOUNTINFO_MAX_BYTES (64u << 20)

struct mount {
	uint64_t device;  /* as in stat(2) */
	const char *type; /* untrusted after the dot: "fuse.sshfs" */
	char *point;	  /* relative to the process's root; untrusted, unescaped */
};

/*
 * Calls `visit` with each mount, valid during the call; stops at the first nonzero result and
 * returns it. -errno: unreadable.
 */
int mounts_visit(pid_t pid, int (*visit)(void *context, const struct mount *mount), void *context);

/* Returns whether a process serves it, which may not answer: "fuse", "fuse.sshfs", "fuseblk". */
bool mount_is_fuse(const struct mount *mount);
/* Returns whether such a process or a remote server serves it: also NFS and similar. */
bool mount_is_served(const struct mount *mount);

#endif
