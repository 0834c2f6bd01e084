/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Replaces a file as a whole: whoever reads it sees the old one or the new one, never a part, and
 * the old one stays when anything fails.
 */
#ifndef LEAKMON_OUTPUT_REPLACE_FILE_H
#define LEAKMON_OUTPUT_REPLACE_FILE_H

#include <stdio.h>
#include <sys/types.h>

struct replace_file {
	FILE *out;
	char *path, *temporary; /* in the same directory; its name does not end as path's does */
};

/* 0 or -errno. `path` "-" is no special name. */
int replace_file_open(struct replace_file *file, const char *path);
/* Writes out, syncs, gives it `mode`, renames it. 0 or -errno; the file is closed in either case.
 */
int replace_file_commit(struct replace_file *file, mode_t mode);
/* Leaves the old file as it is. Nothing happens after a commit. */
void replace_file_abort(struct replace_file *file);

#endif
