/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fetches debug files by build-id from the servers in $DEBUGINFOD_URLS (debuginfod(8)), on request
 * with --debuginfod: it tells the servers what runs here.
 *
 * Each fetch is a run of debuginfod-find(1), a separate process without capabilities that is killed
 * at a deadline: name resolution, TLS and HTTP stay out of the privileged monitor, and nothing here
 * ever waits for a server. libdebuginfod's own limit, 90 s without 100 KB each, ends no slow
 * transfer. Files land in debuginfod's usual cache; they are as hostile as any other and go to the
 * sandboxed parser, as descriptors. Users compare their build-id.
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

/* Returns a new fetcher with that deadline per fetch. NULL: out of memory or descriptors. */
struct debuginfod *debuginfod_new(uint32_t deadline_ms);

/* Kills running fetches. */
void debuginfod_free(struct debuginfod *debuginfod);

/*
 * Opens the debug file with this build-id, starting a fetch if none was tried yet; `path`, of the
 * stripped file, is for messages. Returns a descriptor that the caller closes; -EAGAIN: being
 * fetched; -ENOENT: no server has it, or none answered in time, which is final.
 */
int debuginfod_open(struct debuginfod *debuginfod, const char *build_id, const char *path);

/*
 * Collects finished fetches, kills late ones, starts waiting ones. Returns whether any
 * debuginfod_open() will answer differently than before. Does not wait.
 */
bool debuginfod_take(struct debuginfod *debuginfod);

/* Waits until all fetches are done, at most timeout_ms (-1: for ever). Returns 0 or -EAGAIN. */
int debuginfod_wait(struct debuginfod *debuginfod, int timeout_ms);

/*
 * Returns a descriptor that becomes readable when there is something to take, or to show; -1: no
 * fetch.
 */
int debuginfod_fd(const struct debuginfod *debuginfod);

struct fetch_progress {
	const char *path;	      /* of the longest-running fetch; untrusted */
	uint32_t seconds, of_seconds; /* since its start; its deadline */
	size_t others;		      /* running or waiting */
};

/* Returns false if nothing is being fetched. */
bool debuginfod_progress(const struct debuginfod *debuginfod, struct fetch_progress *progress);

/* One run of debuginfod-find(1), with minimal rights. */

#define FETCH_PROGRAM "debuginfod-find"

/*
 * Returns why nothing can be fetched, and the remedy, as a static string; NULL: fetching is
 * possible.
 */
const char *fetch_obstacle(void);

struct fetch_process {
	pid_t pid;
	int fd;			   /* its output */
	char answer[PATH_MAX + 1]; /* so far; finally the path of the file */
	size_t length;
};

/*
 * Finds the separate debug file of a stripped one, as gdb does (its manual, "Separate Debug
 * Files"): by build-id, then by .gnu_debuglink, finally over the network. Only a file with the same
 * build-id is accepted.
 */

struct debug_request {
	struct worker *worker;	       /* parses candidates */
	struct debuginfod *debuginfod; /* NULL: this machine only */
	const char *build_id;	       /* of the stripped file; "": nothing can be found */
	const char *link;	       /* its .gnu_debuglink; "": none */
	const char *path;	       /* its path in the process; may be "" */
	/* its root is searched before leakmon's; 0: leakmon's only */
	int task;
};

/*
 * Returns a descriptor that the caller closes, and its description; -ENOENT; -EAGAIN: being
 * fetched.
 */
int debug_file_open(const struct debug_request *request, struct debug_description *found);
/* Opens a debug file as debug_file_open() does, but searches debuginfod only. */
int debug_file_fetch(const struct debug_request *request, struct debug_description *found);

/*
 * Opens the supplementary file of dwz (.gnu_debugaltlink), given by request->build_id and
 * request->link. Returns a descriptor, or the errors of debug_file_open(). The link may be relative
 * to the directory of the debug file, for which the usual place is assumed.
 */
int debug_file_open_alternate(const struct debug_request *request);

#endif
