/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads a whole file into memory, with a size limit. */
#ifndef LEAKMON_PROC_HOST_FILE_H
#define LEAKMON_PROC_HOST_FILE_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

/*
 * Reads the text of `path`, terminated by an extra NUL, for the caller to free. Returns 0; -EFBIG:
 * more than max_bytes; -ENOMEM; -errno of open and read. *text is untouched on error.
 */
int small_file_read(const char *path, size_t max_bytes, char **text);

/*
 * Whether a file, a directory or a process is root's word: no other user could have written it,
 * replaced it, or put another one in its place. An access control list shows in the group's bits.
 * In a world-writable directory with the sticky bit (/tmp), root's own entries are safe; otherwise
 * all directories up to the top must be root's.
 *
 * "Root" is user 0 of the user namespace that leakmon runs in; root of another user namespace
 * appears as another user there.
 */

/* Checks the object alone, wherever it lies. */
bool root_only_status(const struct stat *status);

/* Checks an open directory (O_PATH will do) and all above it. */
bool root_only_directory(int fd);

/*
 * Checks the target of an absolute path below `root`, and every component passed, symbolic links
 * included.
 */
bool root_only_path(int root, const char *path);

/*
 * Checks that a process has no other user's identity, is in the initial user namespace, and runs a
 * program of root's.
 */
bool root_only_process(pid_t pid);

/*
 * Files of the host: below leakmon's own root, or else below that of process 1, which differs if
 * leakmon runs in a container with the host's PID namespace. Symbolic links stay inside that root,
 * and only regular files are read. *root_only: whether the file, or the directory, is root's word.
 */

/*
 * Reads a file by its absolute path, for the caller to free. Returns 0; -ENOENT, -EACCES, ...;
 * -EINVAL: not a regular file; -EFBIG: longer than max_bytes; -ENOMEM.
 */
int host_file_read(const char *path, size_t max_bytes, char **text, size_t *length,
		   bool *root_only);

/*
 * Reads a file below an open directory, without following any link; the path may begin with ../.
 * Returns as host_file_read().
 */
int host_file_read_at(int directory, const char *path, size_t max_bytes, char **text,
		      size_t *length, bool *root_only);

/* Opens a directory by its absolute path, for closedir(); NULL: unavailable. */
DIR *host_directory_open(const char *path, bool *root_only);

#endif
