/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Opens files of a process, for reading, without being misled by it: a container's path is resolved
 * inside the container, only regular files are ever opened (a FIFO would block, a device may have
 * side effects), and the result is known to be the mapped file. In the monitor a separate process
 * does that (file_opener.h), so that no file system can hang it; so all of these may also fail with
 * -ETIMEDOUT.
 */
#ifndef LEAKMON_PROC_TARGET_FILE_H
#define LEAKMON_PROC_TARGET_FILE_H

#include "process/proc/maps.h"

/* Calls file_opener_enter(). Called first in main(). */
void target_file_opener_enter(int argc, char **argv);

/*
 * Opens the file behind a mapping (of maps.source): of a live process through /proc/TASK/map_files,
 * which works even if the file was deleted or replaced; without the right to use that
 * (CAP_CHECKPOINT_RESTORE) by path under /proc/TASK/root, if the inode there is the mapped one; of
 * a core by core_open_file(). Returns a descriptor that the caller closes; -ENOENT: no file behind
 * it, or it is gone; -ESTALE: another file is at the path now; -EINVAL: not a regular file;
 * -EACCES, -EPERM, ...
 */
int target_file_open_mapping(struct memory_source source, const struct mapping *mapping);

/*
 * Returns whether code of a file that could not be opened is still mapped, so that it is missing:
 * it may have been unmapped, or the process may have ended, and a device or a pipe is no loss.
 * `error` is from target_file_open_mapping().
 */
bool target_file_is_missing(int task, const struct mapping *mapping, int error);

/*
 * Opens a regular file by an absolute path as `task` sees it, following symbolic links, never
 * leaving its root. task 0: leakmon's own root. Returns a descriptor that the caller closes, or
 * -errno as above.
 */
int target_file_open_path(int task, const char *path);
/* Opens a regular file like target_file_open_path(), if no part of the path is a symbolic link. */
int target_file_open_plain(int task, const char *path);
/*
 * Opens a regular file like target_file_open_path(), below the directory `root` (O_PATH will do).
 */
int target_file_open_below(int root, const char *path);

#endif
