/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * file:line of one ELF file, through elfutils' libdw, from the file itself or its separate debug
 * file. A handle holds the sections it has read in memory: close it after use.
 */
#ifndef LEAKMON_SYMBOL_LINES_H
#define LEAKMON_SYMBOL_LINES_H

#include <stdint.h>

#include "symbol/debug_file.h"

struct lines;

/*
 * Finds and opens the line information that `request` describes; nothing in it is kept.
 * 0; -ENOENT: there is none; -ENOTSUP: compressed in a way this libdw cannot read (zstd);
 * -EFBIG: more than 1 GiB of it; -EBADMSG; -ENOMEM.
 */
int lines_open(const struct debug_request *request, struct lines **lines);
void lines_close(struct lines *lines);

/*
 * The line of the instruction at `vaddr`, in the file's own numbering. For a return address ask for
 * the byte before it. *file is owned by `lines`, untrusted. 0 or -ENOENT.
 */
int lines_find(struct lines *lines, uint64_t vaddr, const char **file, uint32_t *line);

#endif
