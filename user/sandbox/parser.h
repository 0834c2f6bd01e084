/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parser process does with a request. Also run by tests, without any process. */
#ifndef LEAKMON_SANDBOX_PARSER_H
#define LEAKMON_SANDBOX_PARSER_H

#include "sandbox/bytes.h"
#include "sandbox/parse_kind.h"
#include "sandbox/protocol.h"

struct parser;

struct parser *parser_new(const struct parse_kinds *kinds); /* NULL: out of memory */
void parser_free(struct parser *parser);

/*
 * The body of the answer, appended to *body, or -errno as its status. `files` are
 * request->file_count descriptors, borrowed. -EINVAL: not a request.
 */
int parser_run(struct parser *parser, const struct worker_request *request, const int *files,
	       struct bytes *body);

#endif
