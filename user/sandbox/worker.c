// SPDX-License-Identifier: GPL-2.0-or-later
#include "sandbox/worker.h"

#include <errno.h>

#include "base/cleanup.h"
#include "sandbox/lane.h"
#include "sandbox/marked.h"
#include "sandbox/parser.h"

#define DEFAULT_MEMORY_BYTES (1ull << 30)
#define DEFAULT_DEADLINE_MS 5000

/* What was asked, for when the answer comes or does not. */
struct asked {
	struct file_identity identity;
	uint32_t kind;
	size_t question_size;
};

struct worker {
	const struct parse_kinds *kinds;
	struct lane lanes[WORKER_LANE_MAX_];
	struct asked asked[WORKER_LANE_MAX_];
	struct marked_files marked;
};

static const struct {
	int error;
	const char *text;
	bool marks; /* it is the file's fault */
} failures[] = {
	{-ECONNRESET, "the file made the parser crash", true},
	{-ETIMEDOUT, "parsing the file took too long", true},
	{-EPROTO, "the file confused the parser", true},
	{-EDQUOT, "parsing the file took too much memory", true},
	{-ECHILD, "the sandboxed parser could not be started", false},
};

const char *worker_failure(int error)
{
	for (size_t i = 0; i < ARRAY_SIZE(failures); i++) {
		if (failures[i].error == error)
			return failures[i].text;
	}
	return NULL;
}

static bool is_marking(int error)
{
	for (size_t i = 0; i < ARRAY_SIZE(failures); i++) {
		if (failures[i].error == error)
			return failures[i].marks;
	}
	return false;
}

struct worker *worker_new(const struct parse_kinds *kinds, const struct worker_limits *limits)
{
	struct worker *worker = calloc(1, sizeof(*worker));
	struct lane_limits set = {DEFAULT_MEMORY_BYTES, DEFAULT_DEADLINE_MS};

	if (!worker)
		return NULL;
	worker->kinds = kinds;
	if (limits && limits->memory_bytes)
		set.memory_bytes = limits->memory_bytes;
	if (limits && limits->deadline_ms)
		set.deadline_ms = limits->deadline_ms;
	for (size_t i = 0; i < WORKER_LANE_MAX_; i++)
		worker->lanes[i] = (struct lane){.limits = set, .child.fd = -1};
	return worker;
}

struct worker *worker_new_local(const struct parse_kinds *kinds)
{
	struct worker *worker = worker_new(kinds, NULL);
	bool whole = worker != NULL;

	for (size_t i = 0; worker && i < WORKER_LANE_MAX_; i++) {
		worker->lanes[i].local = parser_new(kinds);
		whole &= worker->lanes[i].local != NULL;
	}
	if (whole)
		return worker;
	worker_free(worker);
	return NULL;
}

void worker_free(struct worker *worker)
{
	if (!worker)
		return;
	for (size_t i = 0; i < WORKER_LANE_MAX_; i++)
		lane_free(&worker->lanes[i]);
	vec_free(&worker->marked.list);
	free(worker);
}

static int mark(struct worker *worker, enum worker_lane lane, int err)
{
	const struct asked *asked = &worker->asked[lane];
	struct marked_file file = {asked->identity, asked->kind, err};

	/* What answers nonsense may be the hostile file's own program by now. */
	if (err == -EPROTO)
		lane_stop(&worker->lanes[lane]);
	if (is_marking(err))
		marked_add(&worker->marked, &file);
	return err;
}

int worker_begin(struct worker *worker, uint32_t kind, const struct worker_question *question)
{
	enum worker_lane lane = worker->kinds->rows[kind]->lane;
	struct asked asked = {.kind = kind, .question_size = question->size};
	struct worker_request request = {.kind = kind,
					 .file_count = (uint32_t)question->file_count,
					 .question_size = (uint32_t)question->size};
	int err = file_identity_read(question->files[0], &asked.identity);

	if (question->size > sizeof(request.question))
		return -EINVAL;
	if (question->size)
		memcpy(request.question, question->data, question->size);
	if (!err)
		err = marked_find(&worker->marked, &asked.identity, asked.kind);
	if (!err)
		err = lane_begin(&worker->lanes[lane], &request, question->files);
	if (!err)
		worker->asked[lane] = asked;
	return err;
}

int worker_finish(struct worker *worker, enum worker_lane lane, int timeout_ms, void *out)
{
	_cleanup_(bytes_free) struct bytes body = {0};
	const struct asked *asked = &worker->asked[lane];
	struct parse_origin origin = {asked->identity.size, asked->question_size};
	int err = lane_finish(&worker->lanes[lane], timeout_ms, &body);

	if (!err)
		err = worker->kinds->rows[asked->kind]->decode(&body, &origin, out);
	return err ? mark(worker, lane, err) : 0;
}

int worker_ask(struct worker *worker, uint32_t kind, const struct worker_question *question,
	       void *out)
{
	int err = worker_begin(worker, kind, question);

	return err ? err : worker_finish(worker, worker->kinds->rows[kind]->lane, -1, out);
}

void worker_leave(struct worker *worker, enum worker_lane lane)
{
	lane_stop(&worker->lanes[lane]);
}

void worker_end(struct worker *worker, enum worker_lane lane)
{
	worker_leave(worker, lane);
	dying_reap(&worker->lanes[lane].dying, true);
}

int worker_fd(const struct worker *worker, enum worker_lane number)
{
	const struct lane *lane = &worker->lanes[number];

	return lane->pending && !lane->local ? lane->child.fd : -1;
}

void worker_release(struct worker *worker, enum worker_lane number)
{
	struct worker_request request = {.kind = WORKER_RELEASE};
	_cleanup_(bytes_free) struct bytes body = {0};
	struct lane *lane = &worker->lanes[number];

	if ((lane->child.pid || lane->local) && !lane_begin(lane, &request, NULL))
		lane_finish(lane, -1, &body);
}

pid_t worker_pid(const struct worker *worker, enum worker_lane lane)
{
	return worker->lanes[lane].child.pid;
}
