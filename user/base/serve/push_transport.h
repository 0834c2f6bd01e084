/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How the pushing process (push_process.h) posts a document: by libcurl, or, where that cannot be
 * loaded, by its own HTTP without TLS. Both speak HTTP/1.1, follow no redirection, use no proxy,
 * and keep to PUSH_CONNECT_MS and PUSH_ATTEMPT_MS.
 */
#ifndef LEAKMON_SERVE_PUSH_TRANSPORT_H
#define LEAKMON_SERVE_PUSH_TRANSPORT_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/serve/push_queue.h"

#define PUSH_ATTEMPT_MS 30000 /* for a whole request */
#define PUSH_CONNECT_MS 10000
#define PUSH_AT_ONCE 4 /* one exchange per lane */

#define PUSH_ANSWER_SIZE 256
#define PUSH_ERROR_SIZE 256
#define PUSH_ADDRESSES_MAX 8

union push_address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

/* A request, and the answer to it. The caller owns it; it stays in place until it has ended. */
struct push_exchange {
	/* Borrowed; `headers` has one per line, `ca` is PEM or "". */
	const char *url, *type, *ca, *headers;
	char host[PUSH_HOST_SIZE]; /* of the URL, as its port */
	uint16_t port;
	bool is_numeric; /* the host is an address */
	union push_address addresses[PUSH_ADDRESSES_MAX];
	size_t address_count;
	const struct push_document *document; /* borrowed until the end */

	/* Of the answer; the beginning of its body is NUL-terminated. Untrusted. */
	long status; /* 0: none */
	uint64_t retry_after_s;
	char answer[PUSH_ANSWER_SIZE];
	size_t answered;
	char error[PUSH_ERROR_SIZE]; /* why there is no answer, or "" */
	bool untrusted;		     /* `error` is about the server's certificate */

	void *handle; /* the transport's; NULL at first */
};

struct push_transport {
	/*
	 * Begins to send; at most PUSH_AT_ONCE exchanges at a time. Returns false if that is
	 * impossible: exchange->error says why.
	 */
	bool (*begin)(struct push_transport *transport, struct push_exchange *exchange);
	/* Sends and receives without waiting. Returns an exchange that has ended; NULL: none. */
	struct push_exchange *(*step)(struct push_transport *transport);
	/* Waits for `control` to be readable, for the network, or for that long. */
	void (*wait)(struct push_transport *transport, int control, int timeout_ms);
};

/*
 * Makes the transport that uses libcurl, which it loads: before the sandbox is entered. It lives
 * until the process ends. Returns 0, PUSH_NO_LIBRARY or PUSH_STATIC (push_process.h), or -ENOMEM.
 */
int push_curl_open(struct push_transport **transport);

/* Makes the one that posts to http:// only. Returns 0 or -ENOMEM. */
int push_plain_open(struct push_transport **transport);

#endif
