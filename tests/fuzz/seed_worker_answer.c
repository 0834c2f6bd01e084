// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Seeds for fuzz_worker_answer: answers of the honest parser about real files.
 *
 *   seed_worker_answer DIRECTORY FILE…
 */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/sandbox/worker_process.h"
#include "binary/parse/questions.h"
#include "fuzz/worker_answer.h"

/* libFuzzer makes little of large ones. */
#define MAX_SEED_BYTES 65536

static const enum parse_question kinds[] = {
	[FUZZ_DESCRIPTION] = PARSE_DESCRIPTION,
	[FUZZ_IMAGE] = PARSE_IMAGE,
	[FUZZ_LINES] = PARSE_LINES,
	[FUZZ_UNWIND] = PARSE_UNWIND,
	[FUZZ_PLAN] = PARSE_PLAN,
};

static int write_seed(const char *path, uint8_t use, const struct bytes *body)
{
	_cleanup_fclose_ FILE *file = fopen(path, "we");

	if (!file || fputc(use, file) == EOF || fwrite(body->data, body->size, 1, file) != 1)
		return -EIO;
	return 0;
}

static struct worker_request request_of(enum parse_question kind, size_t number)
{
	struct worker_request request = {.kind = kind, .file_count = 1};
	struct wire_lines_question lines = {.key = number};

	if (kind == PARSE_PLAN)
		request.question_size = sizeof(struct wire_plan_question);
	if (kind != PARSE_LINES)
		return request;
	for (uint32_t i = 0; i < FUZZ_ADDRESSES; i++)
		lines.addresses[i] = 0x1000 + i * 16;
	request.question_size = (uint32_t)(offsetof(struct wire_lines_question, addresses) +
					   FUZZ_ADDRESSES * sizeof(uint64_t));
	memcpy(request.question, &lines, request.question_size);
	return request;
}

static int seed(struct parser *parser, const char *directory, size_t number, const char *name)
{
	_cleanup_close_ int fd = open(name, O_RDONLY | O_CLOEXEC);
	char path[4096];
	int error = fd < 0 ? -errno : 0;

	for (size_t use = 0; !error && use < ARRAY_SIZE(kinds); use++) {
		struct worker_request request = request_of(kinds[use], number);
		_cleanup_(bytes_free) struct bytes body = {0};

		if (parser_run(parser, &request, &fd, &body) || !body.size ||
		    body.size > MAX_SEED_BYTES)
			continue;
		snprintf(path, sizeof(path), "%s/%zu-%zu", directory, number, use);
		error = write_seed(path, (uint8_t)use, &body);
	}
	return error;
}

int main(int argc, char **argv)
{
	struct parser *parser = parser_new(&parse_kinds);
	int error = argc > 2 && parser ? 0 : -EINVAL;

	for (int i = 2; !error && i < argc; i++)
		error = seed(parser, argv[1], (size_t)i, argv[i]);
	parser_free(parser);
	if (error)
		fprintf(stderr, "seed_worker_answer: %s\n", strerror(-error));
	return error != 0;
}
