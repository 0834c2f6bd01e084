/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Passes finished documents from the monitor to an unprivileged process (http_server.h,
 * push_process.h): written to a memfd, sealed, and handed over with a packet that describes it.
 */
#ifndef LEAKMON_SERVE_HANDOVER_H
#define LEAKMON_SERVE_HANDOVER_H

#include <stdint.h>
#include <stdio.h>

#include "base/sandbox/child.h"

/* Returns a stream for writing a document; NULL with errno. */
FILE *handover_stream(void);

/*
 * Seals the document. Returns its size, or -errno. `error` is that of writing, 0 for none. The
 * caller still closes the stream.
 */
int64_t handover_seal(FILE *stream, int error);

/*
 * Starts such a process (`argument` and `served`: base/sandbox/child.h) and waits until it has
 * dropped its rights. Returns its 32-bit answer, of which
 * a negative one ends it; -ETIMEDOUT, -ECONNRESET or -errno: the process did
 * not start.
 */
int handover_start(struct child *child, struct dying *dying, const char *argument, int served);

#endif
