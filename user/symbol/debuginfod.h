/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fetching debug files by build-id from the servers in $DEBUGINFOD_URLS (debuginfod(8)), for those
 * who asked for it with --debuginfod: it tells the servers what runs here.
 *
 * Each fetch is a run of debuginfod-find(1), a process of its own that has no capabilities and is
 * killed at a deadline: names, TLS and HTTP stay out of the monitor, which has them all, and
 * nothing here ever waits for a server. libdebuginfod's own limit, 90 s without 100 KB each, ends
 * no slow transfer. Files land in debuginfod's usual cache; they are as hostile as any other and go
 * to the sandboxed parser, as descriptors. Whoever uses them compares their build-id.
 */
#ifndef LEAKMON_SYMBOL_DEBUGINFOD_H
#define LEAKMON_SYMBOL_DEBUGINFOD_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct debuginfod;

/* Each fetch may take so long. NULL: out of memory or descriptors. */
struct debuginfod *debuginfod_new(uint32_t deadline_ms);

/* Kills what still runs. */
void debuginfod_free(struct debuginfod *debuginfod);

/*
 * The debug file with this build-id, fetched if that was not tried yet; `path`, of the stripped
 * file, is for messages. A descriptor that the caller closes; -EAGAIN: it is being fetched;
 * -ENOENT: no server has it, or none answered in time. Which of these it is, is found out once.
 */
int debuginfod_open(struct debuginfod *debuginfod, const char *build_id, const char *path);

/*
 * Takes what has come, ends what took too long, starts what waits for its turn. Whether any
 * debuginfod_open() will answer otherwise than before. Does not wait.
 */
bool debuginfod_take(struct debuginfod *debuginfod);

/* Waits until nothing is being fetched, at most timeout_ms (-1: for ever). 0 or -EAGAIN. */
int debuginfod_wait(struct debuginfod *debuginfod, int timeout_ms);

/* Becomes readable when there is something to take, or to show; -1: nothing is being fetched. */
int debuginfod_fd(const struct debuginfod *debuginfod);

struct fetch_progress {
	const char *path;	      /* of what is fetched the longest; untrusted */
	uint32_t seconds, of_seconds; /* since its start; until it is given up */
	size_t others;		      /* that are being fetched or wait for it */
};

/* false: nothing is being fetched. */
bool debuginfod_progress(const struct debuginfod *debuginfod, struct fetch_progress *progress);

/* One run of debuginfod-find(1), with no more rights than a fetch needs. */

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
