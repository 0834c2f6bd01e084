/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One run of debuginfod-find(1), with no more rights than a fetch needs. */
#ifndef LEAKMON_SYMBOL_FETCH_PROCESS_H
#define LEAKMON_SYMBOL_FETCH_PROCESS_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define FETCH_PROGRAM "debuginfod-find"

/* Why nothing can be fetched, and what to do about it, as a static string; NULL: it can. */
const char *fetch_obstacle(void);

struct fetch_process {
	pid_t pid;
	int fd;			   /* what it prints */
	char answer[PATH_MAX + 1]; /* so far; at last the path of the file */
	size_t length;
};

/*
 * Asks for the debug file with this build-id. The process has no capabilities and cannot get any,
 * gives up by itself after max_seconds, takes no more than 2 GiB of a file and 1 GiB of memory, and
 * does not outlive us. 0 or -errno.
 */
int fetch_process_start(const char *build_id, uint32_t max_seconds, struct fetch_process *process);

/* 0: `answer` is an absolute path; -ENOENT: there is no file; -EAGAIN: not yet known. */
int fetch_process_read(struct fetch_process *process);

/* Kills it, if it still runs, and removes what it has fetched so far; the caller reaps it. */
void fetch_process_end(struct fetch_process *process);

#endif
