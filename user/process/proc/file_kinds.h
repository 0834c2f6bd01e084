/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kinds of a process's open files: sockets by protocol, pipes, files by directory. */
#ifndef LEAKMON_PROC_FILE_KINDS_H
#define LEAKMON_PROC_FILE_KINDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"

/* Limit of descriptors examined, spread evenly; they represent the others. */
#define FILE_KINDS_LOOKS 1024
/* Limit of distinct kinds; further ones are "others". */
#define FILE_KINDS_MAX 64

struct file_kind {
	char *name; /* untrusted; owned */
	double open;
};

struct file_kinds {
	VEC(struct file_kind) list; /* in order of discovery; owned */
};

/*
 * Counts open files by kind. `open_files` is their approximate number, which sets the sampling
 * rate. Returns 0; -ESRCH; -EACCES; -ENOMEM. *kinds is untouched on error.
 */
int file_kinds_read(struct file_kinds *kinds, pid_t pid, double open_files);
void file_kinds_free(struct file_kinds *kinds);

/* Returns the number of open files of that kind; 0: none. */
double file_kinds_open(const struct file_kinds *kinds, const char *name);

#define FILE_KIND_SIZE 256

/*
 * Finds the kind of the file behind the link /proc/PID/fd/N, and a hash of its path; `hash` may be
 * NULL. Returns false if it is closed, or unreadable.
 */
bool file_kind_read(const char *path, char *name, size_t size, uint64_t *hash);

/*
 * Finds the kind by the target of /proc/PID/fd/N: "pipe" for pipe:[4711], and for a path its
 * directory. Exposed for the tests.
 */
void file_kind_name(const char *target, char *name, size_t size);

#endif
