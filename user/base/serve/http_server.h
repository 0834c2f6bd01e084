/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The process behind --listen: the same program, started again with HTTP_SERVER_ARGUMENT (by
 * listener.h), without privileges. It knows no reports: it serves files that the monitor has
 * finished, over HTTP (RFC 9112), one answer per connection.
 *
 * No client is trusted. There are at most HTTP_CLIENTS_MAX at a time; when one more comes, the
 * client whose request has been outstanding longest is dropped, so that prompt clients are
 * answered, whatever others do. Requests are small, and both directions have time limits. There is
 * no encryption and no authentication: these are a proxy's task.
 *
 * It serves only five paths and two methods, and must decide itself which client to drop and when.
 * libmicrohttpd, which would bring GnuTLS into the static program, and libevent limit a client's
 * silence, but not the total time of its request.
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
#define HTTP_REQUEST_MS 5000 /* for a whole request */
#define HTTP_ANSWER_MS 30000 /* for a whole answer */

enum http_document {
	HTTP_METRICS, /* /metrics: Prometheus' text format */
	HTTP_PROFILE, /* /profile, and /debug/pprof/heap: pprof */
	HTTP_PAGE,    /* /: HTML */
	HTTP_DOCUMENT_MAX_,
};

/* A finished document, in a sealed memfd. */
struct http_handover {
	uint32_t document;
	uint32_t good_for_ms; /* after that, /healthz reports the monitor as hung */
	uint64_t size;
};

enum http_target { HTTP_TARGET_DOCUMENT, HTTP_TARGET_HEALTH };

struct http_request {
	enum http_target target;
	enum http_document document;
	bool head_only;
};

/*
 * Parses `head`, up to and including the empty line. Returns 0, or the status of an error answer:
 * 400, 404, 405, 505; then *request is untouched but for head_only.
 */
int http_request_parse(const char *head, size_t size, struct http_request *request);

/* Returns unless this process was started as a server. Called first in main(). */
void http_server_enter(int argc, char **argv);

#endif
