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
	struct timespec changed; /* of the inode, including renames: it cannot be set back */
};

struct statx;

/*
 * Reads STATX_BASIC_STATS of an open file as cached by the kernel, without asking the server of its
 * file system, which may hang (statx(2), AT_STATX_DONT_SYNC). Returns 0 or -errno.
 */
int file_status_read(int fd, struct statx *status);
/* Reads the same of the file at a path; follows symbolic links. Returns 0 or -errno. */
int file_status_read_path(const char *path, struct statx *status);

/* Reads the identity of an open file, without asking a server. Returns 0 or -errno. */
int file_identity_read(int fd, struct file_identity *identity);
/* Returns whether both have the same contents, unless a modification time was set back. */
bool file_identity_equal(const struct file_identity *left, const struct file_identity *right);
/* Returns whether the file is certainly unchanged: no other change either, such as a rename. */
bool file_identity_untouched(const struct file_identity *left, const struct file_identity *right);

#endif
