/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A file that is read whole into memory, with a limit on its size. */
#ifndef LEAKMON_PROC_HOST_FILE_H
#define LEAKMON_PROC_HOST_FILE_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

/*
 * The text of `path`, ending with a NUL that is not part of it, for the caller to free. 0;
 * -EFBIG: more than max_bytes; -ENOMEM; -errno of open and read. *text is untouched on error.
 */
int small_file_read(const char *path, size_t max_bytes, char **text);

/*
 * Whether what a file, a directory or a process says is root's word: nobody else could have written
 * it, replaced it, or put another one in its place. An access control list shows in the group's
 * bits. In a directory that everybody may write to, but where only owners remove (/tmp), root's own
 * entries are safe; root's directories must all be so, up to the top.
 *
 * "Root" is user 0 of the user namespace that leakmon runs in; root of a user namespace of its own
 * shows as somebody else there.
 */

/* The object alone, wherever it lies. */
bool root_only_status(const struct stat *status);

/* An open directory (O_PATH will do) and all above it. */
bool root_only_directory(int fd);

/* The target of an absolute path below `root`, and whatever it passes, symbolic links included. */
bool root_only_path(int root, const char *path);

/* A process with no other user's identity, in the initial user namespace, that runs a program of
 * root's. */
bool root_only_process(pid_t pid);

/*
 * Files of the host: below leakmon's own root, or else below that of process 1, which is another
 * one when leakmon runs in a container with the host's PID namespace. Symbolic links stay inside
 * that root, and nothing but regular files is read. *root_only says whether the file, or the
 * directory, is root's word.
 */

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
