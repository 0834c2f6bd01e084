/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One version of one file. The inode alone may be reused, or its contents replaced in place. */
#ifndef LEAKMON_BASE_FILE_IDENTITY_H
#define LEAKMON_BASE_FILE_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

struct file_identity {
	uint64_t device, inode, size;
	struct timespec modified;
	struct timespec changed; /* of its state, names included: nobody can set it back */
};

struct statx;

/*
 * STATX_BASIC_STATS of an open file as the kernel has them, without asking the server of its file
 * system (statx(2), AT_STATX_DONT_SYNC), which may not answer. 0 or -errno.
 */
int file_status_read(int fd, struct statx *status);
/* Likewise of what a path leads to, the last link included. */
int file_status_read_path(const char *path, struct statx *status);

/* Likewise. 0 or -errno. */
int file_identity_read(int fd, struct file_identity *identity);
/* Whether it has the same contents, unless somebody has set the time of a change back. */
bool file_identity_equal(const struct file_identity *left, const struct file_identity *right);
/* Certain: nor has anything else happened to it, such as a rename. */
bool file_identity_untouched(const struct file_identity *left, const struct file_identity *right);

#endif
