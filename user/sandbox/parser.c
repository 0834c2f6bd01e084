// SPDX-License-Identifier: GPL-2.0-or-later
#include "sandbox/parser.h"

#include <errno.h>

#include "base/cleanup.h"

struct parser {
	const struct parse_kinds *kinds;
	void *states[]; /* one for each kind */
};

struct parser *parser_new(const struct parse_kinds *kinds)
{
	struct parser *parser = calloc(1, sizeof(*parser) + kinds->count * sizeof(void *));

	if (parser)
		parser->kinds = kinds;
	return parser;
}

static void release_all(struct parser *parser)
{
	for (size_t i = 0; i < parser->kinds->count; i++) {
		if (parser->states[i])
			parser->kinds->rows[i]->release(parser->states[i]);
		parser->states[i] = NULL;
	}
}

void parser_free(struct parser *parser)
{
	if (parser)
		release_all(parser);
	free(parser);
}

int parser_run(struct parser *parser, const struct worker_request *request, const int *files,
	       struct bytes *body)
{
	struct parse_input input = {.files = files,
				    .file_count = request->file_count,
				    .question = request->question,
				    .question_size = request->question_size};
	const struct parse_kind *kind;

	if (request->kind == WORKER_RELEASE && !input.file_count) {
		release_all(parser);
		return 0;
	}
	if (request->kind >= parser->kinds->count)
		return -EINVAL;
	kind = parser->kinds->rows[request->kind];
	if (!input.file_count || input.file_count > kind->max_files ||
	    input.question_size < kind->min_question || input.question_size > kind->max_question)
		return -EINVAL;
	input.state = &parser->states[request->kind];
	return kind->parse(&input, body);
}
