/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A server for --push, --webhook and --otlp, good or bad (push_server.py). */
#ifndef LEAKMON_E2E_PUSH_SERVER_H
#define LEAKMON_E2E_PUSH_SERVER_H

#include "harness.h"

struct push_server {
	struct child *child;
	char kept[64];		       /* directory of the requests that it accepted */
	char url[64], hook[80];	       /* hook: for --webhook */
	char certificate[64], key[64]; /* files, with TLS alone */
};

/*
 * Starts a server, with TLS and its own certificate if `tls`; `mode` is one of push_server.py's.
 * The teardown ends it.
 */
struct push_server push_server_start(struct harness *harness, const char *mode, bool tls);

/* A test in which leakmon cannot load libcurl: the dynamic linker finds empty files first. */
int push_setup_without_libcurl(void **state);
int push_teardown_without_libcurl(void **state);
#define without_libcurl(test)                                                                      \
	{                                                                                          \
		.name = #test "_without_libcurl", .test_func = (test),                             \
		.setup_func = push_setup_without_libcurl,                                          \
		.teardown_func = push_teardown_without_libcurl                                     \
	}

#endif
