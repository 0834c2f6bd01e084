/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads a server's answer to one HTTP/1.1 request (RFC 9112), in pieces as they arrive. The server
 * is not trusted: lines, headers and the kept part of the body are bounded, and only the status,
 * Retry-After and the beginning of the body are kept.
 */
#ifndef LEAKMON_SERVE_HTTP_ANSWER_H
#define LEAKMON_SERVE_HTTP_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HTTP_ANSWER_LINE 8192
/* Of the status line, headers and trailers, those of interim answers (1xx) included. */
#define HTTP_ANSWER_HEAD_MAX (64u << 10)
#define HTTP_ANSWER_KEPT 256

enum http_answer_part {
	HTTP_ANSWER_STATUS,
	HTTP_ANSWER_HEADERS,
	HTTP_ANSWER_BODY,	/* of known length */
	HTTP_ANSWER_TO_END,	/* until the server closes the connection */
	HTTP_ANSWER_CHUNK_SIZE, /* RFC 9112, 7.1 */
	HTTP_ANSWER_CHUNK,
	HTTP_ANSWER_CHUNK_END,
	HTTP_ANSWER_TRAILERS,
	HTTP_ANSWER_COMPLETE,
};

/* Zero-initialise. */
struct http_answer {
	long status;		     /* 0: not yet read */
	uint64_t retry_after_s;	     /* 0: none */
	char kept[HTTP_ANSWER_KEPT]; /* the beginning of the body, NUL-terminated */
	size_t kept_size;
	/* Of the reader. */
	enum http_answer_part part;
	bool has_length, chunked;
	uint64_t left; /* bytes of the body or chunk */
	size_t head_size, line_size;
	char line[HTTP_ANSWER_LINE];
};

/*
 * Reads further bytes. Sets *complete if the answer is complete: the rest of a body that is longer
 * than the kept part is not waited for. Returns NULL, or the problem, in English; then the answer
 * is not usable.
 */
const char *http_answer_take(struct http_answer *answer, const char *bytes, size_t size,
			     bool *complete);

/* The server has closed the connection. Returns NULL if the answer is complete, or the problem. */
const char *http_answer_end(const struct http_answer *answer);

#endif
