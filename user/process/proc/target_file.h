/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Opening files of a process, for reading, without being led astray by it: a container's path is
 * resolved inside the container, nothing but a regular file is ever opened (a FIFO would block us,
 * a device may have side effects), and the result is known to be the mapped file. In the monitor a
 * process beside it does that (file_opener.h), so that no file system can hold it up; so all of
 * these may also fail with -ETIMEDOUT.
 */
#ifndef LEAKMON_PROC_TARGET_FILE_H
#define LEAKMON_PROC_TARGET_FILE_H

#include "process/proc/maps.h"

/* main() calls this first: file_opener_enter(). */
void target_file_opener_enter(int argc, char **argv);

/*
 * Opens the file behind a mapping (of maps.source): of a live process through /proc/TASK/map_files,
 * which also works when the file was deleted or replaced; without the right to use that (it takes
 * CAP_CHECKPOINT_RESTORE) by path under /proc/TASK/root, if the inode there is the mapped one;
 * of a core as core_open_file().
 * A descriptor that the caller closes; -ENOENT: no file behind it, or it is gone; -ESTALE: another
 * file lies at the path now; -EINVAL: not a regular file; -EACCES, -EPERM, ...
 */
int target_file_open_mapping(struct memory_source source, const struct mapping *mapping);

/*
 * Whether code of a file that could not be opened is mapped all the same, so that it is missing: it
 * may have been unmapped, or the process may have ended, and a device or a pipe is no loss. `error`
 * is from above.
 */
bool target_file_is_missing(int task, const struct mapping *mapping, int error);

/*
 * Opens a regular file by an absolute path as `task` sees it, symbolic links included, never
 * leaving its root. task 0: our own root. A descriptor that the caller closes, or -errno as above.
 */
int target_file_open_path(int task, const char *path);
/* Likewise, if no part of the path is a symbolic link. */
int target_file_open_plain(int task, const char *path);
/* Likewise as target_file_open_path() below a directory, of which this is a descriptor (O_PATH will
 * do). */
int target_file_open_below(int root, const char *path);

#endif
