/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The files that reports are written to. A regular file, or a name that is free, is replaced as a
 * whole: whoever reads it sees the old one or the new one, never a part, and the old one stays when
 * anything fails.
 *
 * What is no regular file, or is reached through a symbolic link, stays what it is: a renamed file
 * over /dev/null would take the device away from the whole machine. It is written to in place, in
 * one piece when the report is complete: a FIFO gets a report from each opening to its end, what a
 * link leads to keeps its owner and its mode. A mount point, which no file can be renamed over, is
 * written to in place, too. The names of our own descriptors (/dev/stdout, /dev/fd/3) mean those:
 * what is written goes on where they stand.
 */
#ifndef LEAKMON_OUTPUT_REPLACE_FILE_H
#define LEAKMON_OUTPUT_REPLACE_FILE_H

#include <stdio.h>
#include <sys/types.h>

struct replace_file {
	FILE *out;
	char *path;
	char *temporary; /* in the same directory; its name does not end as path's does. NULL: */
	char *text;	 /* the report is kept here until the commit, and then written in place */
	size_t size;
};

enum replace_policy {
	REPLACE_OR_WRITE, /* as above */
	REPLACE_ONLY,	  /* never in place: -EEXIST if something else than a file is there */
};

/*
 * 0 or -errno: -ENOTSUP: a block device or a socket, which hold no reports. `path` "-" is no
 * special name.
 */
int replace_file_open(struct replace_file *file, const char *path, enum replace_policy policy);
/*
 * Writes out, syncs, gives it `mode`, renames it; or writes it in place. 0 or -errno; the file is
 * closed in either case. -ENXIO: nobody opened the FIFO within a second; -EEXIST: what is there
 * now is no file any more.
 */
int replace_file_commit(struct replace_file *file, mode_t mode);
/* Leaves the old file as it is. Nothing happens after a commit. */
void replace_file_abort(struct replace_file *file);

/*
 * A stream for what replaces no file: truncates a regular one, as the shell's > does, and waits for
 * a FIFO's reader. 0 or -errno as above; *out is for fclose(), and untouched on failure.
 */
int replace_file_open_stream(const char *path, FILE **out);

#endif
