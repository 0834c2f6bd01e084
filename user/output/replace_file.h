/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The files that reports are written to. A regular file, or a free name, is replaced as a whole: a
 * reader sees the old one or the new one, never a part, and the old one stays if anything fails.
 *
 * Other kinds of files, and targets of symbolic links, are kept: a file renamed over /dev/null
 * would remove the device for the whole machine. They are written in place, in one piece when the
 * report is complete: a FIFO gets a report from each opening to its end, and the target of a link
 * keeps its owner and its mode. A mount point, which cannot be renamed over, is also written in
 * place. Names of our own descriptors (/dev/stdout, /dev/fd/3) denote those: writing continues at
 * their position.
 */
#ifndef LEAKMON_OUTPUT_REPLACE_FILE_H
#define LEAKMON_OUTPUT_REPLACE_FILE_H

#include <stdio.h>
#include <sys/types.h>

struct replace_file {
	FILE *out;
	char *path;
	char *temporary; /* in the same directory, with another suffix; NULL: none */
	char *text;	 /* without `temporary`: the report, written in place by the commit */
	size_t size;
};

enum replace_policy {
	REPLACE_OR_WRITE, /* as above */
	REPLACE_ONLY,	  /* never in place: -EEXIST for anything but a regular file */
};

/*
 * Opens a report's file. Returns 0 or -errno; -ENOTSUP: a block device or a socket. `path` "-" has
 * no special meaning.
 */
int replace_file_open(struct replace_file *file, const char *path, enum replace_policy policy);
/*
 * Writes the file out, syncs it, sets `mode`, and renames it; or writes it in place. Returns 0 or
 * -errno; the file is closed in either case. -ENXIO: nobody opened the FIFO within a second;
 * -EEXIST: the path is no longer a regular file.
 */
int replace_file_commit(struct replace_file *file, mode_t mode);
/* Leaves the old file unchanged. Does nothing after a commit. */
void replace_file_abort(struct replace_file *file);

/*
 * Opens a stream that does not replace a file: truncates a regular one, like the shell's >, and
 * waits for a FIFO's reader. Returns 0 or -errno as above; *out is for fclose(), and untouched on
 * failure.
 */
int replace_file_open_stream(const char *path, FILE **out);

#endif
