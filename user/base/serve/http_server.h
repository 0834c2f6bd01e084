/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The process behind --listen: the same program, started again with HTTP_SERVER_ARGUMENT
 * (listener.h does), without privileges. It knows no reports: it hands out files that the monitor
 * has finished, to whoever asks over HTTP (RFC 9112), one answer per connection.
 *
 * No client is trusted. There are at most HTTP_CLIENTS_MAX at a time; when one more
 * comes, the one that has kept us waiting for its request the longest is dropped, so that those
 * that ask at once are answered, whatever others do. Requests are small, and both directions have
 * limits of time. There is no encryption and no authentication: they are a proxy's task.
 *
 * Five paths and two methods are all there is to serve, and which client is dropped when has to be
 * ours to say: libmicrohttpd, which would bring GnuTLS into the static program, and libevent know
 * how long a client may be silent, but not how long all of its request may take.
 */
#ifndef LEAKMON_SERVE_HTTP_SERVER_H
#define LEAKMON_SERVE_HTTP_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HTTP_SERVER_ARGUMENT "--http-server"
#define HTTP_CONTROL 3 /* SOCK_SEQPACKET: handovers, each with one descriptor */
#define HTTP_LISTENING 4

#define HTTP_CLIENTS_MAX 64
#define HTTP_REQUEST_MAX 8192
#define HTTP_REQUEST_MS 5000 /* for all of a request */
#define HTTP_ANSWER_MS 30000 /* for all of an answer */

enum http_document {
	HTTP_METRICS, /* /metrics: Prometheus' text format */
	HTTP_PROFILE, /* /profile, and /debug/pprof/heap: pprof */
	HTTP_PAGE,    /* /: HTML */
	HTTP_DOCUMENT_MAX_,
};

/* A finished document, in a sealed memfd. */
struct http_handover {
	uint32_t document;
	uint32_t good_for_ms; /* after that, /healthz says that the monitor hangs */
	uint64_t size;
};

enum http_target { HTTP_TARGET_DOCUMENT, HTTP_TARGET_HEALTH };

struct http_request {
	enum http_target target;
	enum http_document document;
	bool head_only;
};

/*
 * Parses `head`, all up to the empty line. 0, or the status of the answer that it gets: 400, 404,
 * 405, 505; then *request is untouched but for head_only.
 */
int http_request_parse(const char *head, size_t size, struct http_request *request);

/* Called first in main(): returns unless this process was started to be a server. */
void http_server_enter(int argc, char **argv);

#endif
