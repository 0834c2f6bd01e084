/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Opening files of targets in a process beside this one, because a file system may never answer: an
 * NFS server is gone, or a FUSE server (Documentation/filesystems/fuse.rst) hangs, or wants to. A
 * system call on such a file waits for ever, also after SIGKILL once the server has the request. So
 * the process that opens gets a deadline. Past it, it is abandoned, the file system is left alone
 * for a minute, and another process takes its place.
 *
 * A file on FUSE could still hold up whatever touches its descriptor (even close(2) asks the
 * server). So the monitor gets a copy of it instead, in memory, the same one as long as the file
 * does not change. No probe goes on such a file: the kernel reads what it writes a breakpoint to
 * while every fork(2) of the machine waits (kernel/events/uprobes.c, register_for_each_vma()), so
 * its server could hold up all of them.
 *
 * The state is the process's own, as descriptors are.
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
	OPEN_PLAIN,   /* likewise, without any symbolic link */
	OPEN_BELOW,   /* a path below a directory */
};

/* Both ends are the same program: the layout needs no versions. */
struct open_request {
	uint32_t id;
	uint32_t kind; /* enum open_kind */
	int32_t task;
	uint32_t major, minor; /* of a mapping; here and below as in struct mapping */
	uint32_t padding_;
	uint64_t start, end, inode;
	char path[PATH_MAX];
};

/*
 * The first thing that main() calls: returns unless this process was started to open files. `open`
 * does it: a descriptor or -errno. `directory` is that of OPEN_BELOW, else -1.
 */
void file_opener_enter(int argc, char **argv,
		       int (*open)(const struct open_request *request, int directory));

/* From now on, and in this process only, files of targets are opened that way. */
void file_opener_use(void);
bool file_opener_is_used(void);

/*
 * A descriptor that the caller closes, or -errno of open(); -ETIMEDOUT: the file system does not
 * answer, or did not within the last minute; -ECHILD, -ENOMEM, -EMFILE: there can be no process.
 * For one thread at a time, of those that call it.
 */
int file_opener_ask(struct open_request *request, int directory);

/* Whether a descriptor is a copy, on which no probe can be set. */
bool file_opener_made(int fd);

/* Ends the process; files are opened here again. With the one below for tests: it ends with us. */
void file_opener_stop(void);
/* 0: none runs. */
pid_t file_opener_pid(void);

#endif
