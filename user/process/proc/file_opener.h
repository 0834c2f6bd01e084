/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Opens files of targets in a separate process, because a file system may never answer: an NFS
 * server is gone, or a FUSE server (Documentation/filesystems/fuse.rst) hangs, perhaps on purpose.
 * A system call on such a file waits for ever, even after SIGKILL once the server has the request.
 * So the opening process gets a deadline. Past it, it is abandoned, the file system is avoided for
 * a minute, and another process replaces it.
 *
 * A file on FUSE could still hang whatever touches its descriptor (even close(2) asks the server).
 * So the monitor gets a copy of it instead, in memory, the same one until the file changes. Such a
 * file gets no probe: to set a breakpoint the kernel reads the file while every fork(2) of the
 * machine waits (kernel/events/uprobes.c, register_for_each_vma()), so its server could hang all of
 * them.
 *
 * The state is process-wide, as descriptors are.
 */
#ifndef LEAKMON_PROC_FILE_OPENER_H
#define LEAKMON_PROC_FILE_OPENER_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define FILE_OPENER_ARGUMENT "--open-files"

enum open_kind {
	OPEN_MAPPING, /* the file behind a mapping of a live process */
	OPEN_PATH,    /* an absolute path, as a task sees it */
	OPEN_PLAIN,   /* as PATH, without any symbolic link */
	OPEN_BELOW,   /* a path below a directory */
};

/* Both ends are the same program: the layout needs no versions. */
struct open_request {
	uint32_t id;
	uint32_t kind; /* enum open_kind */
	int32_t task;
	uint32_t major, minor; /* of a mapping; as in struct mapping */
	uint32_t padding_;
	uint64_t start, end, inode;
	char path[PATH_MAX];
};

/*
 * Returns unless this process was started to open files. Called first in main(). `open` returns a
 * descriptor or -errno. `directory` is that of OPEN_BELOW, else -1.
 */
void file_opener_enter(int argc, char **argv,
		       int (*open)(const struct open_request *request, int directory));

/* From now on, and in this process only, opens files of targets that way. */
void file_opener_use(void);
bool file_opener_is_used(void);

/*
 * Opens a file. Returns a descriptor that the caller closes, or -errno of open(); -ETIMEDOUT: the
 * file system does not answer, or did not within the last minute; -ECHILD, -ENOMEM, -EMFILE: no
 * process can be started. Callers are serialised.
 */
int file_opener_ask(struct open_request *request, int directory);

/* Returns whether a descriptor is a copy, on which no probe can be set. */
bool file_opener_made(int fd);

/*
 * Ends the process; files are opened in-process again. For tests, as the next one: it ends with
 * leakmon.
 */
void file_opener_stop(void);
/* Returns 0 if none runs. */
pid_t file_opener_pid(void);

#endif
