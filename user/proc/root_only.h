/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether what a file, a directory or a process says is root's word: nobody else could have written
 * it, replaced it, or put another one in its place. An access control list shows in the group's
 * bits. In a directory that everybody may write to, but where only owners remove (/tmp), root's own
 * entries are safe; root's directories must all be so, up to the top.
 *
 * "Root" is user 0 of the user namespace that leakmon runs in; root of a user namespace of its own
 * shows as somebody else there.
 */
#ifndef LEAKMON_PROC_ROOT_ONLY_H
#define LEAKMON_PROC_ROOT_ONLY_H

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

/* The object alone, wherever it lies. */
bool root_only_status(const struct stat *status);

/* An open directory (O_PATH will do) and all above it. */
bool root_only_directory(int fd);

/* What an absolute path below `root` leads to, and whatever it passes, symbolic links included. */
bool root_only_path(int root, const char *path);

/* A process with no other user's identity, in the initial user namespace, that runs a program of
 * root's. */
bool root_only_process(pid_t pid);

#endif
