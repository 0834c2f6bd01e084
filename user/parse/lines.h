/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * file:line of one ELF file, through elfutils' libdw, from the file itself or its separate debug
 * file. A handle holds the sections it has read in memory: close it after use.
 */
#ifndef LEAKMON_PARSE_LINES_H
#define LEAKMON_PARSE_LINES_H

#include <stddef.h>
#include <stdint.h>

struct lines;

/*
 * Opens the line information in `fd`, which came through debug_describe(), and in `alternate_fd`
 * what dwz moved out of it; -1: there is none. Both stay the caller's.
 * 0; -ENOENT: there is none, or the alternate is missing; -ENOTSUP: compressed in a way this libdw
 * cannot read (zstd); -EFBIG: more than 1 GiB of it; -EBADMSG; -ENOMEM; -EMFILE.
 */
int lines_open(int fd, int alternate_fd, struct lines **lines);
void lines_close(struct lines *lines);

struct line_frame {
	const char *function; /* of one that was inlined: its raw name; else NULL */
	const char *file;     /* untrusted; NULL: unknown */
	uint32_t line;
};

/*
 * The line of the instruction at `vaddr`, in the file's own numbering, as up to `max` frames: first
 * the innermost inlined function, last the function itself. For a return address ask for the byte
 * before it. Strings are owned by `lines`. Returns how many frames were filled; 0: no line.
 */
size_t lines_find(struct lines *lines, uint64_t vaddr, struct line_frame *frames, size_t max);

#endif
