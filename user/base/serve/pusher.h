/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The monitor's end of --push, --webhook and --otlp: it reads the files that the pushing process
 * (push_process.h) may not read, starts that process, and hands it every finished document. It
 * never waits for a server, except briefly for the last documents of a run.
 */
#ifndef LEAKMON_SERVE_PUSHER_H
#define LEAKMON_SERVE_PUSHER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/serve/push_process.h"

/* How long the end of a run waits for undelivered documents. */
#define PUSH_LAST_MS 5000

enum push_to { PUSH_TO_PYROSCOPE, PUSH_TO_WEBHOOK, PUSH_TO_OTLP, PUSH_TO_MAX_ };

/* Texts are borrowed; NULL: not given. */
struct push_options {
	struct push_destination {
		const char *url;     /* or "@FILE", whose first line it is */
		const char *headers; /* file of HTTP headers, one per line */
	} to[PUSH_TO_MAX_];
	const char *ca; /* file of certificates (PEM) to trust instead of the system's */
};

struct pusher;

/* Returns whether any destination is given. */
bool push_is_wanted(const struct push_options *options);

/* Returns whether `text` is http://..., https://... or @FILE. */
bool pusher_is_destination(const char *text);

/* Returns 0, or -errno after an error message; sets *pusher to NULL if no destination is given. */
int pusher_open(struct pusher **pusher, const struct push_options *options);

/* Returns whether documents of that lane are sent anywhere. NULL is allowed. */
bool pusher_has(const struct pusher *pusher, enum push_lane lane);

/*
 * Hands over a document written to a handover_stream() (handover.h), and closes the stream: `error`
 * is that of writing, 0 for none; `query` follows the `?` of the URL, or is "". A failed handover
 * is counted as lost, and logged once.
 */
void pusher_send(struct pusher *pusher, enum push_lane lane, const char *query, FILE *stream,
		 int error);

/* Logs a lane's state when it has changed. NULL is allowed. */
void pusher_tend(struct pusher *pusher);

/* Counts of a lane's documents, as of the latest pusher_tend(). */
struct push_counts {
	uint64_t delivered, lost, waiting;
};
/* Returns a lane's counts; all zero if it is not used. NULL is allowed. */
struct push_counts pusher_counts(const struct pusher *pusher, enum push_lane lane);

/*
 * Waits for pending documents, at most PUSH_LAST_MS, logs losses, and ends the process. Returns the
 * number of lost documents. NULL is allowed.
 */
uint64_t pusher_close(struct pusher *pusher);

#endif
