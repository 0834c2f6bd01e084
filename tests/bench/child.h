/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The processes that a measurement starts. Every wait has a limit, a child is killed with its whole
 * process group when its variable goes out of scope, and none outlives this program:
 *
 *   _cleanup_(child_cleanup) struct child *target = NULL;
 *
 * Functions return 0 or -errno: -EPIPE when the child ended too early, -ETIMEDOUT, -EPROTO when it
 * answered something else, -EINTR on Ctrl-C (main() blocks SIGINT and SIGTERM; only the waits let
 * them in). All but -EINTR leave one sentence in the `struct why` given to child_start.
 */
#ifndef LEAKMON_BENCH_CHILD_H
#define LEAKMON_BENCH_CHILD_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "stream.h"

/* Why a figure could not be had, for the reader of the table. */
struct why {
	char text[200];
};

struct child {
	pid_t pid; /* 0: reaped */
	int pidfd, in;
	struct stream out, err;
	int64_t started_ns; /* CLOCK_MONOTONIC, just before fork */
	int code;	    /* once reaped: exit code, or 128 + signal */
	struct why *why;
	char name[16];
};

#define ARGUMENTS(...) ((const char *const[]){__VA_ARGS__, NULL})

int64_t now_ns(void);

/* argv[0] is looked up in PATH. *child belongs to the caller. */
int child_start(struct child **child, const char *const *argv, struct why *why);
void child_cleanup(struct child **child);

/*
 * Reads the next line of `stream` that starts with `prefix`, without its newline; skips earlier
 * lines. *line is valid until the next call; line and size may be NULL.
 */
int child_line(struct child *child, struct stream *stream, const char *prefix, char **line,
	       size_t *size);
/* Sends one command to a workload. *answer is its reply, one line, valid until the next call. */
int child_ask(struct child *child, const char *command, char **answer);
/* Sends a command and expects `done`. */
int child_do(struct child *child, const char *command);
/*
 * Sends `time` to a workload; returns the duration of one operation, from its answer "COUNT
 * NANOSECONDS".
 */
int child_time(struct child *child, double *ns);
/* Returns the CPU time of a child so far, with its threads. */
int child_cpu_ns(const struct child *child, int64_t *ns);
/* Waits at most that long for output of the child, and reads it. */
int child_drain(struct child *child, const struct timespec *wait);
/* Waits until the child has ended. Returns -EPROTO unless its exit code is 0. */
int child_end(struct child *child);
/* Does the same up to a deadline, for operations that may exceed the usual wait. */
int child_end_by(struct child *child, int64_t deadline_ns);

/*
 * Starts a workload and waits for its `ready`. *pid is the PID in it, which differs from the
 * child's under a launcher such as heaptrack.
 */
int workload_start(struct child **child, const char *const *argv, pid_t *pid, struct why *why);

int child_fail(const struct child *child, int error, const char *what);

#endif
