/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Documents that wait to be sent, oldest first, within bounds; and what an attempt to send the
 * first of them says about the next one. When one more does not fit, the oldest go: the latest
 * matter most.
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
	char *query; /* owned; "" or what stands behind the `?` of the URL */
};

/* Zero-initialise. */
struct push_queue {
	struct push_document items[PUSH_QUEUE_DOCUMENTS];
	size_t count, bytes;
	bool sending; /* the first is being sent, and must not go */
	uint64_t lost;
};

/* Takes it over, if it fits into an empty queue at all; what goes is counted as lost. */
void push_queue_add(struct push_queue *queue, struct push_document document);
/* The first goes: it was delivered, or is lost. */
void push_queue_remove(struct push_queue *queue, bool delivered);
/* For tests: the pushing process owns its queue until its end. */
void push_queue_free(struct push_queue *queue);

enum push_result {
	PUSH_DELIVERED,
	PUSH_RETRY,   /* this may pass */
	PUSH_REFUSED, /* the same again would be answered the same way: it is lost */
};

/* The result by an HTTP status, 0: there was no answer. RFC 9110, 15; 429: RFC 6585. With `otlp`,
 * as OTLP has it (opentelemetry.io/docs/specs/otlp, "Retryable Response Codes"). */
enum push_result push_result_of(long status, bool otlp);

/* How long to wait after so many failures in a row, from 1: twice as long each time, up to 30 s,
 * and up to a quarter more or less by `random`, that many monitors do not come at once. */
uint64_t push_backoff_ms(unsigned failures, uint32_t random);

/* Whether it is a URL to push to: http or https with a host; no user, no password (they would
 * be in a process list), no blanks. */
bool push_is_url(const char *url);

/* The host of such a URL, without the brackets of an IPv6 address, and its port. False: too
 * long. */
#define PUSH_HOST_SIZE 254
bool push_url_host(const char *url, char host[PUSH_HOST_SIZE], uint16_t *port);

#endif
