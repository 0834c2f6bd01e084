// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/sandbox/lane.h"

#include <errno.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "base/sandbox/worker_process.h"

#define NS_PER_MS 1000000ll
/* Extra time for a large answer that began in time. */
#define GRACE_MS 1000
/* Time limit, once a last report was requested, for its names from one hung file. */
#define HASTE_MS 1000
/* Time to start a process, on a busy machine. */
#define START_MS 10000

static int64_t now_ns(void)
{
	return (int64_t)monotonic_ns();
}

static void end_request(struct lane *lane)
{
	bytes_free(&lane->receipt.body);
	lane->receipt = (struct receipt){0};
	lane->pending = false;
	lane->graced = false;
}

void lane_stop(struct lane *lane)
{
	child_stop(&lane->child, &lane->dying);
	end_request(lane);
}

void lane_free(struct lane *lane)
{
	lane_stop(lane);
	dying_reap(&lane->dying, true);
	parser_free(lane->local);
}

static void expect(struct lane *lane, uint32_t id, uint32_t timeout_ms)
{
	lane->receipt = (struct receipt){.id = id};
	lane->asked_ns = now_ns();
	lane->deadline_ns = lane->asked_ns + timeout_ms * NS_PER_MS;
	lane->pending = true;
	lane->graced = false;
}

/* CLOCK_MONOTONIC; INT64_MAX: no interrupt. */
static int64_t end_of_patience(const struct lane *lane)
{
	int64_t interrupted = (int64_t)interrupt_time_ns();

	if (!interrupted)
		return INT64_MAX;
	if (lane->haste == LANE_AT_ONCE)
		return interrupted;
	return MAX(interrupted, lane->asked_ns) + HASTE_MS * NS_PER_MS;
}

/* Returns -EAGAIN while time is left. */
static int check_deadline(struct lane *lane)
{
	int64_t now = now_ns();

	if (now >= end_of_patience(lane))
		return -EINTR;
	if (now < lane->deadline_ns)
		return -EAGAIN;
	if (!lane->receipt.begun || lane->graced)
		return -ETIMEDOUT;
	lane->graced = true;
	lane->deadline_ns = now + GRACE_MS * NS_PER_MS;
	return -EAGAIN;
}

static int milliseconds_until(int64_t then_ns)
{
	int64_t left = then_ns - now_ns();

	return left <= 0 ? 0 : (int)((left + NS_PER_MS - 1) / NS_PER_MS);
}

/* Returns 0: the receipt is complete; -EAGAIN after timeout_ms; -errno: the process is unusable. */
static int wait_for_receipt(struct lane *lane, int timeout_ms)
{
	int64_t end = timeout_ms < 0 ? INT64_MAX : now_ns() + timeout_ms * NS_PER_MS;

	for (;;) {
		int error = child_receive(&lane->child, &lane->receipt);

		if (error == -EAGAIN)
			error = check_deadline(lane);
		if (error != -EAGAIN || now_ns() >= end)
			return error;
		child_wait(&lane->child, milliseconds_until(MIN(MIN(end, lane->deadline_ns),
								end_of_patience(lane))));
	}
}

static int start(struct lane *lane)
{
	int error;

	dying_reap(&lane->dying, false);
	error = child_start(&lane->child, lane->limits.memory_bytes);
	if (error == -ENOMEM || error == -EMFILE || error == -ENFILE || error == -EAGAIN)
		return error == -EAGAIN ? -ENOMEM : error;
	if (!error) {
		expect(lane, 0, START_MS);
		error = wait_for_receipt(lane, -1);
		if (!error)
			error = lane->receipt.header.status;
		end_request(lane);
	}
	if (!error)
		return 0;
	lane_stop(lane);
	if (error == -EINTR)
		return error;
	lane->broken = error;
	log_warning(
		"cannot start the sandboxed parser: %s; without it no file of a target is read, and functions have no names",
		error == -ECONNRESET ? "it ended at once" : strerror(-error));
	return -ECHILD;
}

/* A process that ended between two requests did not end because of a file. */
static int send_request(struct lane *lane, const struct worker_request *request, const int *files)
{
	int error = lane->child.pid ? child_send(&lane->child, request, files) : -EPIPE;

	if (error != -EPIPE)
		return error;
	lane_stop(lane);
	error = start(lane);
	if (!error)
		error = child_send(&lane->child, request, files);
	return error == -EPIPE ? -ECONNRESET : error;
}

int lane_begin(struct lane *lane, struct worker_request *request, const int *files,
	       uint32_t deadline_ms, enum lane_haste haste)
{
	int error;

	if (lane->pending)
		return -EBUSY;
	if (lane->broken)
		return -ECHILD;
	request->id = lane->id = lane->id == UINT32_MAX ? 1 : lane->id + 1;
	request->cpu_seconds = deadline_ms / 1000 + 1;
	lane->haste = haste;
	if (lane->local) {
		expect(lane, request->id, 0);
		lane->receipt.header.status =
			parser_run(lane->local, request, files, &lane->receipt.body);
		return 0;
	}
	error = send_request(lane, request, files);
	if (error)
		return error;
	expect(lane, request->id, deadline_ms);
	return 0;
}

static int take_body(struct lane *lane, struct bytes *body)
{
	int status = lane->receipt.header.status;

	if (status) {
		end_request(lane);
		/* It hit its own memory limit; a fresh process starts without leftovers. */
		if (status != -ENOMEM || lane->local)
			return status;
		lane_stop(lane);
		return -EDQUOT;
	}
	*body = lane->receipt.body;
	lane->receipt.body = (struct bytes){0};
	end_request(lane);
	return 0;
}

int lane_finish(struct lane *lane, int timeout_ms, struct bytes *body)
{
	int error;

	if (!lane->pending)
		return -ENOENT;
	error = lane->local ? 0 : wait_for_receipt(lane, timeout_ms);
	if (!error)
		return take_body(lane, body);
	if (error != -EAGAIN)
		lane_stop(lane);
	return error;
}
