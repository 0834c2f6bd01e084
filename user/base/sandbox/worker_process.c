// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/sandbox/worker_process.h"

#include <errno.h>
#include <malloc.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/sandbox/sandbox.h"

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

/* An answer above this size leaves much free memory behind. */
#define TRIM_BYTES (1u << 20)

struct received {
	struct worker_request request;
	int files[WORKER_MAX_FILES];
	uint32_t file_count;
};

static void take_files(struct msghdr *message, struct received *received)
{
	struct cmsghdr *control = CMSG_FIRSTHDR(message);

	if (!control || control->cmsg_level != SOL_SOCKET || control->cmsg_type != SCM_RIGHTS)
		return;
	received->file_count = (uint32_t)((control->cmsg_len - CMSG_LEN(0)) / sizeof(int));
	memcpy(received->files, CMSG_DATA(control), received->file_count * sizeof(int));
}

/* Returns whether there was a request: if not, the monitor is gone or corrupt. */
static bool receive(struct received *received)
{
	char control[CMSG_SPACE(sizeof(received->files))] __attribute__((aligned(8)));
	struct iovec vector = {&received->request, sizeof(received->request)};
	struct msghdr message = {
		.msg_iov = &vector,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};
	ssize_t got;

	*received = (struct received){0};
	got = recvmsg(WORKER_SOCKET, &message, MSG_CMSG_CLOEXEC);
	if (got > 0)
		take_files(&message, received);
	return got == (ssize_t)sizeof(received->request) &&
	       received->file_count == received->request.file_count;
}

static bool send_packet(const void *data, size_t size)
{
	return send(WORKER_SOCKET, data, size, MSG_NOSIGNAL) == (ssize_t)size;
}

static bool answer(uint32_t id, int status, const struct bytes *body)
{
	struct worker_answer header = {.id = id, .status = status, .size = status ? 0 : body->size};
	bool sent;

	if (header.size > WORKER_MAX_ANSWER_BYTES)
		header = (struct worker_answer){.id = id, .status = -EFBIG};
	sent = send_packet(&header, sizeof(header));
	for (size_t at = 0; sent && at < header.size; at += WORKER_CHUNK_BYTES)
		sent = send_packet(body->data + at, MIN(header.size - at, WORKER_CHUNK_BYTES));
	return sent;
}

static bool serve_one(struct parser *parser)
{
	struct bytes body = {0};
	struct received received;
	bool answered, large;
	int status;

	if (!receive(&received))
		return false;
	sandbox_limit_cpu(received.request.cpu_seconds);
	status = parser_run(parser, &received.request, received.files, &body);
	/* Closed before the answer, after which the monitor takes these files as done. */
	for (uint32_t i = 0; i < received.file_count; i++)
		close(received.files[i]);
	answered = answer(received.request.id, status, &body);
	large = body.size > TRIM_BYTES;
	bytes_free(&body);
	if (large)
		malloc_trim(0);
	return answered;
}

static _Noreturn void serve(const struct parse_kinds *kinds, uint64_t memory_bytes)
{
	struct parser *parser = parser_new(kinds);
	struct bytes nothing = {0};
	int error = parser ? sandbox_enter(WORKER_SOCKET, memory_bytes) : -ENOMEM;
	bool more = answer(0, error, &nothing) && !error;

	while (more)
		more = serve_one(parser);
	/* Without exit handlers: none here is worth a system call that may be forbidden. */
	_exit(0);
}

void worker_process_enter(int argc, char **argv, const struct parse_kinds *kinds)
{
	if (argc == 3 && !strcmp(argv[1], WORKER_ARGUMENT))
		serve(kinds, strtoull(argv[2], NULL, 10));
}
