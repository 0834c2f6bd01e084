// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/sandbox/worker.h"

#include <errno.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/interrupt.h"
#include "base/sandbox/lane.h"
#include "base/sandbox/failed_files.h"
#include "base/sandbox/worker_process.h"

#define DEFAULT_MEMORY_BYTES (1ull << 30)
#define DEFAULT_DEADLINE_MS 5000
/* The deadline of requests that nobody waits for. */
#define DEFAULT_BACKGROUND_DEADLINE_MS 5000

/*
 * The total time limit for a process's files: the first may use the whole deadline, each other one
 * half of the rest of twice the deadline, and later ones a small part each, which is ten times the
 * need of most files. So a hung file leaves time for all others.
 */
#define SMALL_PART 25
#define SMALL_PARTS 20
/* Files below this time are not charged, even by the hundred. */
#define QUICK_MS 250
#define QUICK_COSTS_LESS 4
/* The share of elapsed time that a process regains. */
#define REFILL_EVERY 50
#define MAX_PROCESSES 4096
/* Background work is charged to no process. */
#define BACKGROUND_ACCOUNT UINT64_MAX

#define NS_PER_MS 1000000u

/* A request, kept until its answer comes or fails. */
struct asked {
	struct file_identity identity;
	uint32_t kind;
	size_t question_size;
	uint64_t account;
	uint64_t time_ns;
};

/* The time left for the files of a process. */
struct account {
	uint32_t left_ms, at_ms; /* at_ms: since the worker's creation */
};
_Static_assert(sizeof(struct account) == sizeof(uint64_t), "a value of the hash");

struct worker {
	const struct parse_kinds *kinds;
	struct lane lanes[WORKER_LANE_MAX_];
	struct asked asked[WORKER_LANE_MAX_];
	struct failed_files failed;
	struct hash accounts; /* PID -> struct account */
	uint64_t account;     /* charged for current requests */
	uint64_t made_ns;
	bool cut; /* a file hung when no time was left for it */
};

static const struct {
	int error;
	const char *text;
	bool marks; /* the failure is the file's fault */
} failures[] = {
	{-ECONNRESET, "the file made the parser crash", true},
	{-ETIMEDOUT, "parsing the file took too long", true},
	{-EPROTO, "the file confused the parser", true},
	{-EDQUOT, "parsing the file took too much memory", true},
	{-ETIME, "parsing the process's other files took too long", false},
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
	worker->made_ns = monotonic_ns();
	if (!limits || !limits->deadline_ms)
		worker->lanes[WORKER_LANE_BACKGROUND].limits.deadline_ms =
			DEFAULT_BACKGROUND_DEADLINE_MS;
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
	vec_free(&worker->failed.list);
	hash_free(&worker->accounts);
	free(worker);
}

static uint32_t now_ms(const struct worker *worker)
{
	return (uint32_t)((monotonic_ns() - worker->made_ns) / NS_PER_MS);
}

void worker_begin_process(struct worker *worker, pid_t pid)
{
	worker->account = (uint64_t)pid;
}

static uint32_t small_part(uint32_t deadline_ms)
{
	return MAX(deadline_ms / SMALL_PART, 1u);
}

/* Returns the account's current state. */
static struct account account_of(const struct worker *worker, uint64_t key, uint32_t deadline_ms)
{
	uint32_t allowance_ms = 2 * deadline_ms + SMALL_PARTS * small_part(deadline_ms);
	struct account account = {.left_ms = allowance_ms};
	const uint64_t *value = hash_get(&worker->accounts, key);
	uint32_t now = now_ms(worker);

	if (value) {
		memcpy(&account, value, sizeof(account));
		account.left_ms += MIN((now - account.at_ms) / REFILL_EVERY, allowance_ms);
		account.left_ms = MIN(account.left_ms, allowance_ms);
	}
	account.at_ms = now;
	return account;
}

/* If out of memory, nothing is charged. */
static void charge(struct worker *worker, uint64_t key, uint32_t deadline_ms, uint32_t ms)
{
	struct account account = account_of(worker, key, deadline_ms);
	uint64_t *value;

	if (worker->accounts.count >= MAX_PROCESSES)
		hash_free(&worker->accounts);
	value = hash_put(&worker->accounts, key, NULL);
	account.left_ms -= MIN(ms, account.left_ms);
	if (value)
		memcpy(value, &account, sizeof(account));
}

/*
 * Computes the time limit for the next request in *slot_ms. Returns 0; -ETIME: too little is left
 * to call a file hung.
 */
static int find_slot(const struct worker *worker, uint64_t key, uint32_t deadline_ms,
		     uint32_t *slot_ms)
{
	uint32_t left_ms = account_of(worker, key, deadline_ms).left_ms;
	uint32_t small_ms = small_part(deadline_ms), reserve_ms = SMALL_PARTS * small_ms;
	uint32_t half_ms = (MAX(left_ms, reserve_ms) - reserve_ms) / 2;

	*slot_ms = MAX(half_ms, small_ms);
	return left_ms >= small_ms ? 0 : -ETIME;
}

/* Settles a request whose answer has come or failed. */
static void settle(struct worker *worker, enum worker_lane lane, int error)
{
	const struct asked *asked = &worker->asked[lane];
	uint64_t took_ms = (monotonic_ns() - asked->time_ns) / NS_PER_MS;

	if (took_ms <= QUICK_MS && !is_marking(error))
		took_ms /= QUICK_COSTS_LESS;
	charge(worker, asked->account, worker->lanes[lane].limits.deadline_ms,
	       (uint32_t)MIN(took_ms, UINT32_MAX));
	/* Requests for a report were waited for; others are dropped at once, hung or not. */
	if (error == -EINTR && worker->kinds->rows[asked->kind]->haste == LANE_FOR_A_REPORT)
		worker->cut = true;
}

static int mark(struct worker *worker, enum worker_lane lane, int error)
{
	const struct asked *asked = &worker->asked[lane];
	struct failed_file file = {
		.identity = asked->identity, .kind = asked->kind, .error = error};

	/* A malformed answer may come from code in the hostile file. */
	if (error == -EPROTO)
		lane_stop(&worker->lanes[lane]);
	if (is_marking(error))
		failed_files_add(&worker->failed, &file);
	return error;
}

int worker_begin(struct worker *worker, uint32_t number, const struct worker_question *question)
{
	const struct parse_kind *kind = worker->kinds->rows[number];
	bool background = kind->lane == WORKER_LANE_BACKGROUND;
	struct lane *lane = &worker->lanes[kind->lane];
	struct asked asked = {.kind = number,
			      .question_size = question->size,
			      .account = background ? BACKGROUND_ACCOUNT : worker->account,
			      .time_ns = monotonic_ns()};
	struct worker_request request = {.kind = number,
					 .file_count = (uint32_t)question->file_count,
					 .question_size = (uint32_t)question->size};
	uint32_t slot_ms = 0;
	int error = file_identity_read(question->files[0], &asked.identity);

	if (question->size > sizeof(request.question))
		return -EINVAL;
	if (question->size)
		memcpy(request.question, question->data, question->size);
	if (interrupt_check() && (worker->cut || kind->haste == LANE_AT_ONCE))
		return -EINTR;
	if (!error)
		error = failed_files_find(&worker->failed, &asked.identity, number);
	if (!error)
		error = find_slot(worker, asked.account, lane->limits.deadline_ms, &slot_ms);
	if (!error)
		error = lane_begin(lane, &request, question->files, slot_ms, kind->haste);
	if (!error)
		worker->asked[kind->lane] = asked;
	return error;
}

int worker_finish(struct worker *worker, enum worker_lane lane, int timeout_ms, void *out)
{
	_cleanup_(bytes_free) struct bytes body = {0};
	const struct asked *asked = &worker->asked[lane];
	struct parse_origin origin = {asked->identity.size, asked->question_size};
	int error = lane_finish(&worker->lanes[lane], timeout_ms, &body);

	if (error == -EAGAIN || error == -ENOENT)
		return error;
	settle(worker, lane, error);
	if (!error)
		error = worker->kinds->rows[asked->kind]->decode(&body, &origin, out);
	return error ? mark(worker, lane, error) : 0;
}

int worker_ask(struct worker *worker, uint32_t kind, const struct worker_question *question,
	       void *out)
{
	int error = worker_begin(worker, kind, question);

	return error ? error : worker_finish(worker, worker->kinds->rows[kind]->lane, -1, out);
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

	if ((lane->child.pid || lane->local) &&
	    !lane_begin(lane, &request, NULL, lane->limits.deadline_ms, LANE_FOR_A_REPORT))
		lane_finish(lane, -1, &body);
}

pid_t worker_pid(const struct worker *worker, enum worker_lane lane)
{
	return worker->lanes[lane].child.pid;
}
