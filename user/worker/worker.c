// SPDX-License-Identifier: GPL-2.0-or-later
#include "worker/worker.h"

#include <errno.h>

#include "base/cleanup.h"
#include "worker/lane.h"
#include "worker/marked.h"
#include "worker/parser.h"

#define DEFAULT_MEMORY_BYTES (1ull << 30)
#define DEFAULT_DEADLINE_MS 5000

/* What was asked, for when the answer comes or does not. */
struct asked {
	struct file_identity identity;
	enum worker_kind kind;
	size_t addresses;
};

struct worker {
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

struct worker *worker_new(const struct worker_limits *limits)
{
	struct worker *worker = calloc(1, sizeof(*worker));
	struct lane_limits set = {DEFAULT_MEMORY_BYTES, DEFAULT_DEADLINE_MS};

	if (!worker)
		return NULL;
	if (limits && limits->memory_bytes)
		set.memory_bytes = limits->memory_bytes;
	if (limits && limits->deadline_ms)
		set.deadline_ms = limits->deadline_ms;
	for (size_t i = 0; i < WORKER_LANE_MAX_; i++)
		worker->lanes[i] = (struct lane){.limits = set, .child.fd = -1};
	return worker;
}

struct worker *worker_new_local(void)
{
	struct worker *worker = worker_new(NULL);
	bool whole = worker != NULL;

	for (size_t i = 0; worker && i < WORKER_LANE_MAX_; i++) {
		worker->lanes[i].local = parser_new();
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

static int begin(struct worker *worker, enum worker_lane lane, struct worker_request *request,
		 const int *files)
{
	struct asked asked = {.kind = request->kind, .addresses = request->address_count};
	int err = file_identity_read(files[0], &asked.identity);

	if (!err)
		err = marked_find(&worker->marked, &asked.identity, asked.kind);
	if (!err)
		err = lane_begin(&worker->lanes[lane], request, files);
	if (!err)
		worker->asked[lane] = asked;
	return err;
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

/* The wait for the answer. */
static int begin_and_finish(struct worker *worker, enum worker_lane lane,
			    struct worker_request *request, int fd, struct bytes *body)
{
	int err = begin(worker, lane, request, &fd);

	if (err)
		return err;
	err = lane_finish(&worker->lanes[lane], -1, body);
	return err ? mark(worker, lane, err) : 0;
}

/* One file, one answer. */
static int ask(struct worker *worker, enum worker_kind kind, int fd, struct bytes *body)
{
	struct worker_request request = {.kind = kind, .file_count = 1};

	return begin_and_finish(worker, WORKER_LANE_NAMES, &request, fd, body);
}

int worker_describe(struct worker *worker, int fd, struct debug_description *description)
{
	_cleanup_(bytes_free) struct bytes body = {0};
	int err = ask(worker, WORKER_DESCRIBE, fd, &body);

	if (err)
		return err;
	err = decode_description(&body, description);
	return err ? mark(worker, WORKER_LANE_NAMES, err) : 0;
}

static int read_symbols(struct worker *worker, enum worker_kind kind, int fd, struct image *image)
{
	_cleanup_(bytes_free) struct bytes body = {0};
	int err = ask(worker, kind, fd, &body);

	if (err)
		return err;
	err = decode_image(&body, image);
	return err ? mark(worker, WORKER_LANE_NAMES, err) : 0;
}

int worker_read_image(struct worker *worker, int fd, struct image *image)
{
	return read_symbols(worker, WORKER_IMAGE, fd, image);
}

int worker_read_objects(struct worker *worker, int fd, struct image *image)
{
	return read_symbols(worker, WORKER_OBJECTS, fd, image);
}

int worker_read_perf_map(struct worker *worker, int fd, struct symbol_table *table)
{
	_cleanup_(image_free) struct image image = {.file.fd = -1};
	_cleanup_(bytes_free) struct bytes body = {0};
	int err = ask(worker, WORKER_PERF_MAP, fd, &body);

	if (err)
		return err;
	err = decode_image(&body, &image);
	if (err)
		return mark(worker, WORKER_LANE_NAMES, err);
	*table = image.table;
	image.table = (struct symbol_table){0};
	return 0;
}

int worker_compile_unwind(struct worker *worker, int fd, struct elf_file *file,
			  struct unwind_table *table)
{
	_cleanup_(bytes_free) struct bytes body = {0};
	int err = ask(worker, WORKER_UNWIND, fd, &body);

	if (err)
		return err;
	err = decode_unwind(&body, file, table);
	return err ? mark(worker, WORKER_LANE_NAMES, err) : 0;
}

int worker_plan(struct worker *worker, int fd, const char *symbol_prefix, enum probe_at probe_at,
		struct probe_plan *plan)
{
	struct worker_request request = {
		.kind = WORKER_PLAN, .file_count = 1, .probe_at = probe_at};
	_cleanup_(bytes_free) struct bytes body = {0};
	size_t length = strlen(symbol_prefix);
	int err;

	if (length >= sizeof(request.symbol_prefix))
		return -ENAMETOOLONG;
	memcpy(request.symbol_prefix, symbol_prefix, length);
	err = begin_and_finish(worker, WORKER_LANE_PLANS, &request, fd, &body);
	if (err)
		return err;
	err = decode_plan(&body, worker->asked[WORKER_LANE_PLANS].identity.size, plan);
	return err ? mark(worker, WORKER_LANE_PLANS, err) : 0;
}

int worker_read_threads(struct worker *worker, int fd, struct thread_library *library)
{
	struct worker_request request = {.kind = WORKER_THREADS, .file_count = 1};
	_cleanup_(bytes_free) struct bytes body = {0};
	int err = begin_and_finish(worker, WORKER_LANE_PLANS, &request, fd, &body);

	if (err)
		return err;
	err = decode_threads(&body, worker->asked[WORKER_LANE_PLANS].identity.size, library);
	return err ? mark(worker, WORKER_LANE_PLANS, err) : 0;
}

void worker_leave_planner(struct worker *worker)
{
	lane_stop(&worker->lanes[WORKER_LANE_PLANS]);
}

void worker_end_plans(struct worker *worker)
{
	worker_leave_planner(worker);
	dying_reap(&worker->lanes[WORKER_LANE_PLANS].dying, true);
}

int worker_start_lines(struct worker *worker, const struct line_request *request)
{
	struct worker_request sent = {
		.kind = WORKER_LINES,
		.file_count = request->alternate_fd < 0 ? 1 : 2,
		.key = request->key,
	};
	int files[] = {request->fd, request->alternate_fd};

	if (request->count > WORKER_MAX_ADDRESSES)
		return -EINVAL;
	sent.address_count = (uint32_t)request->count;
	memcpy(sent.addresses, request->addresses, request->count * sizeof(sent.addresses[0]));
	return begin(worker, WORKER_LANE_LINES, &sent, files);
}

int worker_finish_lines(struct worker *worker, int timeout_ms, struct line_answer *answer)
{
	_cleanup_(bytes_free) struct bytes body = {0};
	int err = lane_finish(&worker->lanes[WORKER_LANE_LINES], timeout_ms, &body);

	if (!err)
		err = decode_lines(&body, worker->asked[WORKER_LANE_LINES].addresses, answer);
	return err ? mark(worker, WORKER_LANE_LINES, err) : 0;
}

int worker_lines_fd(const struct worker *worker)
{
	const struct lane *lane = &worker->lanes[WORKER_LANE_LINES];

	return lane->pending && !lane->local ? lane->child.fd : -1;
}

void worker_release_lines(struct worker *worker)
{
	struct worker_request request = {.kind = WORKER_RELEASE};
	_cleanup_(bytes_free) struct bytes body = {0};
	struct lane *lane = &worker->lanes[WORKER_LANE_LINES];

	if ((lane->child.pid || lane->local) && !lane_begin(lane, &request, NULL))
		lane_finish(lane, -1, &body);
}

pid_t worker_pid(const struct worker *worker, enum worker_lane lane)
{
	return worker->lanes[lane].child.pid;
}
