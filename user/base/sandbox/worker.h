/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parsing of files that may be hostile.
 *
 * All parsing happens in sandboxed child processes (sandbox.h), which receive descriptors and
 * answer in a bounded format. Each request has a deadline, each child a memory limit. A file at
 * which a child crashes, hangs or runs out of memory costs only that file: the child is replaced,
 * the pair of file (its identity, not its name) and kind of request is marked, and asking again
 * gives the same error at once. The caller supplies the table of possible requests (parse_kind.h).
 *
 * A file may be slow without being hung, and a process may map any number of files. So the total
 * time for the files of one process is limited, too (worker_begin_process()): each gets less than
 * the one before, and -ETIME when too little is left. The account recovers with time, at a fiftieth
 * of it; a file that took too long is retried after a minute.
 *
 * When the monitor is asked to end (base/interrupt.h), only requests needed for a last report are
 * begun, and one more hung file ends all others.
 *
 * Besides the kind's own errors, all requests can fail with
 *   -ECONNRESET  the file crashed the parser              -EPROTO  the parser's answer is malformed
 *   -ETIMEDOUT   parsing took longer than the deadline    -EDQUOT  it took too much memory
 *   -ECHILD      this machine has no sandbox              -ENOMEM  the monitor is out of memory,
 * -EMFILE -ETIME       other files of the process took too long -EINTR   the monitor is asked to
 * end and then leave their outputs untouched. Not for use in signal handlers.
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

/*
 * Returns a new worker. The table is borrowed; `limits` may be NULL. NULL: out of memory. Starts no
 * process yet.
 */
struct worker *worker_new(const struct parse_kinds *kinds, const struct worker_limits *limits);
/*
 * Returns a worker that parses in this very process, without any protection: for the parsers' own
 * tests.
 */
struct worker *worker_new_local(const struct parse_kinds *kinds);
void worker_free(struct worker *worker);

/* Charges the time of requests from now on to this process; 0: to none. */
void worker_begin_process(struct worker *worker, pid_t pid);

/* A request. All pointers are borrowed. Failures are charged to the first file. */
struct worker_question {
	const int *files;
	size_t file_count;
	const void *data;
	size_t size; /* at most WORKER_MAX_QUESTION */
};

/* Asks, waits, and decodes the answer into *out. Returns 0, or -errno. */
int worker_ask(struct worker *worker, uint32_t kind, const struct worker_question *question,
	       void *out);

/* Asks without waiting; at most one such request at a time per lane. Returns 0; -EBUSY; -EINVAL. */
int worker_begin(struct worker *worker, uint32_t kind, const struct worker_question *question);
/*
 * Waits for the answer, at most timeout_ms (0: only checks; -1: until the deadline). Returns 0;
 * -EAGAIN: not yet; -ENOENT: no request; or the kind's own errors.
 */
int worker_finish(struct worker *worker, enum worker_lane lane, int timeout_ms, void *out);
/*
 * Returns a descriptor that becomes readable when an answer may be ready; -1: no request, or no
 * need to wait.
 */
int worker_fd(const struct worker *worker, enum worker_lane lane);

/* Releases the state that a lane's parser keeps between requests; not during a request. */
void worker_release(struct worker *worker, enum worker_lane lane);
/*
 * Ends a lane's process: the next request starts another. A file that took it over could answer for
 * the next one. worker_end() also waits for all ending processes.
 */
void worker_leave(struct worker *worker, enum worker_lane lane);
void worker_end(struct worker *worker, enum worker_lane lane);

/* Returns a static message about a failed file; NULL: not one of the errors above. */
const char *worker_failure(int error);

/* Returns the process of a lane; 0: not running. For tests, which stop and kill it. */
pid_t worker_pid(const struct worker *worker, enum worker_lane lane);

#endif
