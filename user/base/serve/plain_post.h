/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The head of a request without TLS, for push_plain_open() (push_transport.h) and tests. */
#ifndef LEAKMON_SERVE_PLAIN_POST_H
#define LEAKMON_SERVE_PLAIN_POST_H

#include "base/serve/push_transport.h"

/*
 * Returns the request line and headers, with the empty line behind them; the caller frees. A given
 * header replaces the default one of its name, as in libcurl, except headers that frame the
 * message. NULL: out of memory.
 */
char *plain_post_head(const struct push_exchange *exchange);

#endif
