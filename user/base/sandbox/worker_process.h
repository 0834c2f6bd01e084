/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parser process: the same program, started again with WORKER_ARGUMENT (child.h does). */
#ifndef LEAKMON_SANDBOX_WORKER_PROCESS_H
#define LEAKMON_SANDBOX_WORKER_PROCESS_H

#include "base/sandbox/bytes.h"
#include "base/sandbox/parse_kind.h"
#include "base/sandbox/protocol.h"

struct parser;

/* The parser process, request by request. Tests run it in-process. */

struct parser *parser_new(const struct parse_kinds *kinds); /* NULL: out of memory */
void parser_free(struct parser *parser);

/*
 * Appends the answer's body to *body. Returns 0, or -errno as its status; -EINVAL: malformed
 * request. `files` are request->file_count borrowed descriptors.
 */
int parser_run(struct parser *parser, const struct worker_request *request, const int *files,
	       struct bytes *body);

#define WORKER_ARGUMENT "--parse-worker"
#define WORKER_SOCKET 3

/*
 * Returns unless this process was started as a parser. Called first in main(), in the monitor and
 * in every test that starts parsers.
 */
void worker_process_enter(int argc, char **argv, const struct parse_kinds *kinds);

#endif
