/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files of the host: below leakmon's own root, or else below that of process 1, which is another
 * one when leakmon runs in a container with the host's PID namespace. Symbolic links stay inside
 * that root, and nothing but regular files is read. *root_only says whether the file, or the
 * directory, is root's word (root_only.h).
 */
#ifndef LEAKMON_PROC_HOST_FILE_H
#define LEAKMON_PROC_HOST_FILE_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * The text of a file by its absolute path, for the caller to free. 0; -ENOENT, -EACCES, ...;
 * -EINVAL: not a regular file; -EFBIG: longer than max_bytes; -ENOMEM.
 */
int host_file_read(const char *path, size_t max_bytes, char **text, size_t *length,
		   bool *root_only);

/* The same for a file below an open directory, without following any link; may begin with ../ */
int host_file_read_at(int directory, const char *path, size_t max_bytes, char **text,
		      size_t *length, bool *root_only);

/* A directory by its absolute path, for closedir(); NULL: it cannot be opened. */
DIR *host_directory_open(const char *path, bool *root_only);

#endif
