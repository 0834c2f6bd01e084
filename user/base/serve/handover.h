/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How the monitor gives finished documents to a process without rights (http_server.h,
 * push_process.h): written to a memfd, sealed, and handed over with a packet that describes it.
 */
#ifndef LEAKMON_SERVE_HANDOVER_H
#define LEAKMON_SERVE_HANDOVER_H

#include <stdint.h>
#include <stdio.h>

#include "base/sandbox/child.h"

/* A stream to write a document to; NULL with errno. */
FILE *handover_stream(void);

/* Seals the document: its size, or -errno. `error` is that of writing, 0 for none. The stream stays
 * to be closed. */
int64_t handover_seal(FILE *stream, int error);

/* Starts such a process (`argument` and `served`: base/sandbox/child.h) and waits until it has
 * given up its rights. Its 32-bit answer; -ETIMEDOUT, -ECONNRESET or -errno: there is no
 * process. */
int handover_start(struct child *child, struct dying *dying, const char *argument, int served);

#endif
