/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parsing of files that may be hostile.
 *
 * All parsing happens in sandboxed child processes (sandbox.h), which get descriptors and answer
 * in a bounded format. Each request has a deadline, each child a limit of memory. A file at which a
 * child crashes, hangs or runs out of memory costs that file: the child is replaced, the pair of
 * file (its identity, not its name) and kind of request is marked, and asking again gives the same
 * error at once. What can be asked stands in a table that the caller brings (parse_kind.h).
 *
 * A file may be slow without being hung, and a process may map as many as it likes. So what the
 * files of one process may take in sum is limited, too (worker_begin_process()): each gets less
 * than the one before, and -ETIME when too little is left. It comes back with time, a fiftieth of
 * it; a file that took too long is tried again after a minute.
 *
 * When the monitor is asked to end (base/interrupt.h), nothing is begun that no last report needs,
 * and one file more that hangs ends all the rest.
 *
 * Besides what the kind lists, all requests can fail with
 *   -ECONNRESET  the file made the parser crash           -EPROTO  the parser's answer is broken
 *   -ETIMEDOUT   parsing took longer than the deadline    -EDQUOT  it took too much memory
 *   -ECHILD      no sandbox can be had on this machine    -ENOMEM  we are out of memory, -EMFILE
 *   -ETIME       other files of the process took too long -EINTR   the monitor is asked to end
 * and leave their outputs untouched then. Not for use in signal handlers.
 */
#ifndef LEAKMON_SANDBOX_WORKER_H
#define LEAKMON_SANDBOX_WORKER_H

#include <sys/types.h>

#include "base/sandbox/parse_kind.h"

struct worker;

struct worker_limits {
	uint64_t memory_bytes; /* of each child's address space; 0: 1 GiB */
	uint32_t deadline_ms;  /* for one request; 0: 5000 */
};

/* The table is borrowed; `limits` may be NULL. NULL: out of memory. Starts nothing yet. */
struct worker *worker_new(const struct parse_kinds *kinds, const struct worker_limits *limits);
/* Parses in this very process, without any protection: for the parsers' own tests. */
struct worker *worker_new_local(const struct parse_kinds *kinds);
void worker_free(struct worker *worker);

/* The account for the time that requests take from now on; 0: none in particular. */
void worker_begin_process(struct worker *worker, pid_t pid);

/* All borrowed. The first file is the one that answers for a failure. */
struct worker_question {
	const int *files;
	size_t file_count;
	const void *data;
	size_t size; /* at most WORKER_MAX_QUESTION */
};

/* Asks, waits, and decodes the answer into *out. 0, or -errno. */
int worker_ask(struct worker *worker, uint32_t kind, const struct worker_question *question,
	       void *out);

/* Asks without waiting; at most one such request at a time in a lane. 0; -EBUSY; -EINVAL. */
int worker_begin(struct worker *worker, uint32_t kind, const struct worker_question *question);
/*
 * Waits for the answer, at most timeout_ms (0: just looks; -1: until the deadline). 0; -EAGAIN: not
 * yet; -ENOENT: nothing was asked; or the kind's own errors.
 */
int worker_finish(struct worker *worker, enum worker_lane lane, int timeout_ms, void *out);
/* Becomes readable when there is something to finish; -1: nothing was asked, or no need to wait. */
int worker_fd(const struct worker *worker, enum worker_lane lane);

/* Gives up what a lane's parser keeps between requests; not while a request is under way. */
void worker_release(struct worker *worker, enum worker_lane lane);
/*
 * Ends a lane's process: the next request starts another. A file that took it over could answer for
 * the next one. The second one also waits for all that are ending.
 */
void worker_leave(struct worker *worker, enum worker_lane lane);
void worker_end(struct worker *worker, enum worker_lane lane);

/* A message about a failed file, as a static string; NULL: not one of those above. */
const char *worker_failure(int error);

/* The process behind a lane, or 0: none runs now. For tests, which stop and kill it. */
pid_t worker_pid(const struct worker *worker, enum worker_lane lane);

#endif
