/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kinds of files that a process has open: sockets by protocol, pipes, files by directory. */
#ifndef LEAKMON_PROC_FILE_KINDS_H
#define LEAKMON_PROC_FILE_KINDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"

/* Descriptors that are looked at, spread over all; what they show stands for the others. */
#define FILE_KINDS_LOOKS 1024
/* Kinds that are distinguished; what comes later is "others". */
#define FILE_KINDS_MAX 64

struct file_kind {
	char *name; /* untrusted; owned */
	double open;
};

struct file_kinds {
	VEC(struct file_kind) list; /* in the order in which they were met; owned */
};

/*
 * About `open_files` descriptors are there: how many of them are looked at depends on it. 0;
 * -ESRCH; -EACCES; -ENOMEM. *kinds is untouched on error.
 */
int file_kinds_read(struct file_kinds *kinds, pid_t pid, double open_files);
void file_kinds_free(struct file_kinds *kinds);

/* For that name; 0: none. */
double file_kinds_open(const struct file_kinds *kinds, const char *name);

#define FILE_KIND_SIZE 256

/* The kind of the file behind the link /proc/PID/fd/N, and a hash of the file's path; `hash` may be
 * NULL. False: the descriptor is closed, or the link cannot be read. */
bool file_kind_read(const char *path, char *name, size_t size, uint64_t *hash);

/*
 * The kind behind what /proc/PID/fd/N links to: "pipe" for pipe:[4711], and for a path the
 * directory that it is in. Exposed for the tests.
 */
void file_kind_name(const char *target, char *name, size_t size);

#endif
