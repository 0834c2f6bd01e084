/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files in memory: in a tmpfs visible to a process (/dev/shm, ...), and unnamed ones that it has
 * open (memfd_create(2)). Data written there uses memory that is resident in no process, and
 * outlives the writer.
 */
#ifndef LEAKMON_MEMORY_TMPFS_FILES_H
#define LEAKMON_MEMORY_TMPFS_FILES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"

struct tmpfs_file {
	uint64_t device, inode, bytes; /* bytes: memory used */
	bool open;		       /* by this process, for writing */
	char *path;		       /* as the process sees it; untrusted; owned */
};

struct tmpfs_files {
	VEC(struct tmpfs_file) list;
	bool partial; /* more files exist than were read */
	bool has_written;
	uint64_t written; /* by the process so far, to anything but storage */
};

/*
 * Reads the files. 0, also if the process has ended; -ENOMEM. The caller frees *files in any case.
 */
int tmpfs_files_read(pid_t pid, struct tmpfs_files *files);
void tmpfs_files_free(struct tmpfs_files *files);

struct tmpfs_growth {
	const struct tmpfs_file *file; /* of the later reading; NULL: none grew for this process */
	uint64_t before;
};

/*
 * Returns the file that a process has filled most between two readings: one that it has open for
 * writing; or else one that grew by as much as the process wrote.
 */
struct tmpfs_growth tmpfs_files_grown(const struct tmpfs_files *before,
				      const struct tmpfs_files *now);

#endif
