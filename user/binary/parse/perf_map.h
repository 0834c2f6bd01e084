/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The file in which a just-in-time compiler lists its code, for perf (Linux source,
 * tools/perf/Documentation/jit-interface.txt): lines of "START SIZE NAME", hexadecimal. Reading
 * needs only a descriptor, so that a process without rights can do it.
 */
#ifndef LEAKMON_PARSE_PERF_MAP_H
#define LEAKMON_PARSE_PERF_MAP_H

#include "base/sandbox/parse_kind.h"
#include "binary/elf/symbol_table.h"

/* Limits of the bytes read from the start of a map, and of its lines. */
#define PERF_MAP_MAX_BYTES (64u << 20)
#define PERF_MAP_MAX_LINES (2u << 20)

/*
 * Reads the listed functions, by their addresses in the process. A later line supersedes earlier
 * ones at the same place. Malformed lines are skipped, and so is a last line without newline,
 * because it is being written. Names may hold anything but NUL (the rest is cut off), and are cut
 * at 4096 bytes. Returns 0 (then the caller frees *table); -EIO; -ENOMEM. *table is untouched on
 * errors.
 */
int perf_map_read(int fd, struct symbol_table *table);

/*
 * Opens the map of `task` (a whole process, or one of its threads), where the process itself would
 * have written it: /tmp of its own root, its number in its own PID namespace. That directory is
 * writable by anyone, so: no links on the way, a regular file, owned by the process's user or by
 * root. Returns a descriptor that the caller closes; -ENOENT; -ELOOP: a link; -EINVAL: not a
 * regular file; -EACCES: of another owner; or -errno.
 */
int perf_map_open(int task);

extern const struct parse_kind perf_map_kind; /* -> struct symbol_table */

#endif
