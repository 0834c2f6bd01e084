/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fetching debug files by build-id from the servers in $DEBUGINFOD_URLS (debuginfod(8)), for those
 * that ask for it with --debuginfod: it shows the servers what runs here.
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

#include "binary/elf/debug_sections.h"

struct debuginfod;
struct worker;

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
 * Finding the separate debug file of a stripped one, as gdb does (its manual, "Separate Debug
 * Files"): by build-id, then by .gnu_debuglink, at last over the network. Only a file with the same
 * build-id is taken.
 */

struct debug_request {
	struct worker *worker;	       /* looks into what is found */
	struct debuginfod *debuginfod; /* NULL: only what is on this machine */
	const char *build_id;	       /* of the stripped file; "": nothing can be found */
	const char *link;	       /* its .gnu_debuglink; "": none */
	const char *path;	       /* where its process maps it from; may be "" */
	int task;		       /* its root is searched before our own; 0: our own only */
};

/* A descriptor that the caller closes, and what is in it; -ENOENT; -EAGAIN: it is being fetched. */
int debug_file_open(const struct debug_request *request, struct debug_description *found);
/* The same, from debuginfod alone. */
int debug_file_fetch(const struct debug_request *request, struct debug_description *found);

/*
 * The same for what dwz moved out into a file shared by several (.gnu_debugaltlink), of which
 * request->build_id and request->link say. The link may be relative to the directory of the debug
 * file, for which the usual place is taken.
 */
int debug_file_open_alternate(const struct debug_request *request);

#endif
