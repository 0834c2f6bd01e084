/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The monitor's end of one parser process.
 *
 * The process is leakmon executed again (/proc/self/exe, which is the running file even if its path
 * was replaced), not a fork: it starts with empty memory, without BPF maps and secrets, with no
 * descriptor but its socket, and can be started at any time.
 */
#ifndef LEAKMON_SANDBOX_CHILD_H
#define LEAKMON_SANDBOX_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/sandbox/bytes.h"
#include "base/sandbox/protocol.h"
#include "base/vec.h"

struct child {
	pid_t pid; /* 0: not running */
	int fd;
};

/* An answer being received. Zero-initialise it, except for `id`. */
struct receipt {
	uint32_t id; /* the request it must answer */
	bool begun;  /* header is filled */
	struct worker_answer header;
	struct bytes body;
};

/*
 * Processes that were killed but not yet waited for: even SIGKILL may take time, on a hung file
 * system.
 */
struct dying {
	VEC(pid_t) pids;
};

/* Starts a process; its first answer (id 0) is still to be received. Returns 0 or -errno. */
int child_start(struct child *child, uint64_t memory_bytes);

/*
 * Starts another kind of process, which gets `argument`, and the descriptor `served` (as number
 * WORKER_SOCKET + 1) besides its socket. Returns 0 or -errno.
 */
int child_start_server(struct child *child, const char *argument, int served);

/* Sends a request. Returns 0; -EPIPE: it has ended; -errno. Does not block. */
int child_send(const struct child *child, const struct worker_request *request, const int *files);

/*
 * Takes the part of the answer that has arrived. Returns 0: complete; -EAGAIN: not yet;
 * -ECONNRESET: the process ended; -EPROTO: malformed; -ENOMEM. Does not block.
 */
int child_receive(const struct child *child, struct receipt *receipt);

/* Waits for more to arrive, at most timeout_ms (-1: for ever); a signal ends the wait, too. */
void child_wait(const struct child *child, int timeout_ms);

/* Kills it without waiting for its end. Does nothing if none runs. */
void child_stop(struct child *child, struct dying *dying);
/* Reaps those that have ended by now, or all of them (waiting at most a second). */
void dying_reap(struct dying *dying, bool all);

#endif
