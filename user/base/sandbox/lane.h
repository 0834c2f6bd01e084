/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sends one request at a time to one parser process, which is started on demand and replaced on
 * failure.
 */
#ifndef LEAKMON_SANDBOX_LANE_H
#define LEAKMON_SANDBOX_LANE_H

#include "base/sandbox/child.h"
#include "base/sandbox/parse_kind.h"

struct parser;

struct lane_limits {
	uint64_t memory_bytes;
	uint32_t deadline_ms; /* of the longest request */
};

struct lane {
	struct lane_limits limits;
	struct parser *local; /* not NULL: requests run in this process */
	struct child child;
	struct dying dying;
	int broken;   /* -errno of the sandbox: not retried */
	uint32_t id;  /* of the latest request */
	bool pending; /* a request is in progress */
	/* and its deadline was extended for the rest of its answer */
	bool graced;
	int64_t asked_ns, deadline_ns; /* CLOCK_MONOTONIC */
	enum lane_haste haste;
	struct receipt receipt;
};

/*
 * Sends a request (and sets its id), to be answered within deadline_ms. Returns 0; -EBUSY; -ECHILD,
 * -ENOMEM, ... as in worker.h.
 */
int lane_begin(struct lane *lane, struct worker_request *request, const int *files,
	       uint32_t deadline_ms, enum lane_haste haste);
/*
 * Receives the answer's body, which the caller frees. Returns 0; -EAGAIN after timeout_ms; the
 * request's own error; -ECONNRESET, -ETIMEDOUT, -EPROTO, -EDQUOT, -EINTR as in worker.h.
 */
int lane_finish(struct lane *lane, int timeout_ms, struct bytes *body);
/* Ends a process that can no longer be trusted. */
void lane_stop(struct lane *lane);
void lane_free(struct lane *lane);

#endif
