/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files in memory: in a tmpfs that a process sees (/dev/shm, ...), and those without a name that it
 * has open (memfd_create(2)). What a process writes into them is memory that no process has
 * resident, and that stays when it ends.
 */
#ifndef LEAKMON_MEMORY_TMPFS_FILES_H
#define LEAKMON_MEMORY_TMPFS_FILES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"

struct tmpfs_file {
	uint64_t device, inode, bytes; /* bytes: as they take in memory */
	bool open;		       /* in this process, and for writing */
	char *path;		       /* as the process sees it; untrusted; owned */
};

struct tmpfs_files {
	VEC(struct tmpfs_file) list;
	bool partial; /* there are more than were read */
	bool has_written;
	uint64_t written; /* by the process so far, to anything but storage */
};

/* 0, also if the process has ended; -ENOMEM. *files is freed by the caller in any case. */
int tmpfs_files_read(pid_t pid, struct tmpfs_files *files);
void tmpfs_files_free(struct tmpfs_files *files);

struct tmpfs_growth {
	const struct tmpfs_file *file; /* of the later reading; NULL: none grew for this process */
	uint64_t before;
};

/*
 * The file that a process has filled most between two readings: one that it has open for writing;
 * or else one that grew by as much as the process wrote.
 */
struct tmpfs_growth tmpfs_files_grown(const struct tmpfs_files *before,
				      const struct tmpfs_files *now);

#endif
