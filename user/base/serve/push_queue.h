/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A bounded queue of documents to send, oldest first; and the consequence of an attempt to send the
 * first for the next one. When a new one does not fit, the oldest are dropped: the latest matter
 * most.
 */
#ifndef LEAKMON_SERVE_PUSH_QUEUE_H
#define LEAKMON_SERVE_PUSH_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PUSH_QUEUE_DOCUMENTS 256
#define PUSH_QUEUE_BYTES (16u << 20)
#define PUSH_QUERY_SIZE 2048

struct push_document {
	uint8_t *body; /* owned */
	size_t size;
	char *query; /* owned; "" or the part of the URL after `?` */
};

/* Zero-initialise. */
struct push_queue {
	struct push_document items[PUSH_QUEUE_DOCUMENTS];
	size_t count, bytes;
	bool sending; /* the first is being sent, and must stay */
	uint64_t lost;
};

/*
 * Takes over a document, if it would fit into an empty queue at all; counts dropped ones as lost.
 */
void push_queue_add(struct push_queue *queue, struct push_document document);
/* Removes the first: it was delivered, or is lost. */
void push_queue_remove(struct push_queue *queue, bool delivered);
/* For tests: the pushing process owns its queue until its end. */
void push_queue_free(struct push_queue *queue);

enum push_result {
	PUSH_DELIVERED,
	PUSH_RETRY,   /* may succeed later */
	PUSH_REFUSED, /* a retry would fail in the same way: it is lost */
};

/*
 * Returns the result for an HTTP status; 0: no answer. RFC 9110, 15; 429: RFC 6585. With `otlp`, by
 * OTLP's rules (opentelemetry.io/docs/specs/otlp, "Retryable Response Codes").
 */
enum push_result push_result_of(long status, bool otlp);

/*
 * Returns the wait after that many consecutive failures, from 1: doubled each time, up to 30 s, and
 * varied by up to a quarter with `random`, so that many monitors do not retry at once.
 */
uint64_t push_backoff_ms(unsigned failures, uint32_t random);

/*
 * Returns whether it is a URL to push to: http or https with a host; no user or password (process
 * lists would show them), no blanks.
 */
bool push_is_url(const char *url);

/*
 * Copies the host of such a URL, without the brackets of an IPv6 address, and its port. Returns
 * false if too long.
 */
#define PUSH_HOST_SIZE 254
bool push_url_host(const char *url, char host[PUSH_HOST_SIZE], uint16_t *port);

#endif
