/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The monitor's end of --push, --webhook and --otlp: it reads what the process that pushes
 * (push_process.h) may not read, starts that process, and hands it every finished document. It
 * never waits for a server, but for the last documents of a run, and for these not for long.
 */
#ifndef LEAKMON_SERVE_PUSHER_H
#define LEAKMON_SERVE_PUSHER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/serve/push_process.h"

/* How long the end of a run waits for what was not delivered yet. */
#define PUSH_LAST_MS 5000

enum push_to { PUSH_TO_PYROSCOPE, PUSH_TO_WEBHOOK, PUSH_TO_OTLP, PUSH_TO_MAX_ };

/* Texts are borrowed; NULL: not given. */
struct push_options {
	struct push_destination {
		const char *url;     /* or "@FILE" with it as first line */
		const char *headers; /* file of HTTP headers, one a line */
	} to[PUSH_TO_MAX_];
	const char *ca; /* file of certificates (PEM) to trust instead of the system's */
};

struct pusher;

/* Whether something is to be pushed. */
bool push_is_wanted(const struct push_options *options);

/* Whether `text` is http://..., https://... or @FILE. */
bool pusher_is_destination(const char *text);

/* 0, or -errno after an error message; *pusher is NULL if nothing is to be pushed. */
int pusher_open(struct pusher **pusher, const struct push_options *options);

/* Whether documents of that lane are sent anywhere. NULL is allowed. */
bool pusher_has(const struct pusher *pusher, enum push_lane lane);

/*
 * Hands over what was written to a handover_stream() (handover.h), and closes it: `error` is that
 * of writing, 0 for none; `query` stands behind the `?` of the URL, or is "". What could not be
 * handed over is lost: counted, and said once.
 */
void pusher_send(struct pusher *pusher, enum push_lane lane, const char *query, FILE *stream,
		 int error);

/* Says how it goes, if that has changed. NULL is allowed. */
void pusher_tend(struct pusher *pusher);

/* Documents of a lane so far, as pusher_tend() heard last. */
struct push_counts {
	uint64_t delivered, lost, waiting;
};
/* All zero where nothing is sent. NULL is allowed. */
struct push_counts pusher_counts(const struct pusher *pusher, enum push_lane lane);

/* Waits for what is left, at most PUSH_LAST_MS, says what was lost, and ends the process. Returns
 * how many documents were. NULL is allowed. */
uint64_t pusher_close(struct pusher *pusher);

#endif
