/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The monitor's end of --listen: it opens the socket, starts the serving process (http_server.h),
 * and hands it every finished document.
 */
#ifndef LEAKMON_SERVE_LISTENER_H
#define LEAKMON_SERVE_LISTENER_H

#include <stdio.h>

#include "base/serve/http_server.h"

struct listener;

/*
 * Returns whether `text` is [ADDRESS:]PORT: an IPv4 address or an IPv6 address in brackets; the
 * default is 127.0.0.1.
 */
bool listener_is_address(const char *text);

/* Listens at an address of that form, and logs it. Returns 0, or -errno after an error message. */
int listener_open(struct listener **listener, const char *address);
/* Ends the server. NULL is allowed. */
void listener_close(struct listener *listener);

/*
 * Hands over a document written to a handover_stream(), and closes the stream: `error` is that of
 * writing, 0 for none. If the handover fails, the previous document stays; that is logged, and no
 * error.
 */
void listener_publish(struct listener *listener, enum http_document document, FILE *stream,
		      int error, uint32_t good_for_ms);

#endif
