// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/debuginfod.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "proc/target_file.h"
#include "sandbox/child.h"
#include "symbol/fetch_process.h"
#include "symbol/intern.h"

/* At a time: a target may map hundreds of stripped files. */
#define MAX_RUNNING 4
/* Servers that let so many fetches in a row run into the deadline are not asked again. */
#define MAX_TIMEOUTS 3
/* The program gives up before it is killed: it knows best what is to be cleaned up. */
#define GIVES_UP_BEFORE_MS 1000

enum fetch_state { FETCH_WAITING, FETCH_RUNNING, FETCH_HERE, FETCH_NONE };

struct fetch {
	enum fetch_state state;
	char build_id[82];
	char *path; /* of the stripped file; owned */
	struct fetch_process process;
	int64_t started_ms;
};

struct debuginfod {
	VEC(struct fetch *) list;
	struct hash index; /* hash of a build-id -> struct fetch * */
	size_t running, waiting;
	int epoll_fd, timer_fd; /* the pipes, and a tick each second while something runs */
	uint32_t deadline_ms;
	unsigned int timeouts; /* in a row */
	bool changed;	       /* since the last take */
	struct dying dying;
};

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000ll + now.tv_nsec / 1000000;
}

static int watch_fd(struct debuginfod *debuginfod, int fd)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

	return epoll_ctl(debuginfod->epoll_fd, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

struct debuginfod *debuginfod_new(uint32_t deadline_ms)
{
	struct debuginfod *debuginfod = calloc(1, sizeof(*debuginfod));

	if (!debuginfod)
		return NULL;
	debuginfod->deadline_ms = deadline_ms;
	debuginfod->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	debuginfod->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (debuginfod->epoll_fd >= 0 && debuginfod->timer_fd >= 0 &&
	    !watch_fd(debuginfod, debuginfod->timer_fd))
		return debuginfod;
	debuginfod_free(debuginfod);
	return NULL;
}

static void tick(struct debuginfod *debuginfod, bool on)
{
	struct itimerspec each = {.it_value.tv_sec = on, .it_interval.tv_sec = on};

	timerfd_settime(debuginfod->timer_fd, 0, &each, NULL);
}

static void end_process(struct debuginfod *debuginfod, struct fetch *fetch)
{
	pid_t *place = vec_push(&debuginfod->dying.pids);

	fetch_process_end(&fetch->process);
	if (place)
		*place = fetch->process.pid;
	debuginfod->running--;
}

void debuginfod_free(struct debuginfod *debuginfod)
{
	if (!debuginfod)
		return;
	for (size_t i = 0; i < debuginfod->list.count; i++) {
		struct fetch *fetch = debuginfod->list.items[i];

		if (fetch->state == FETCH_RUNNING)
			end_process(debuginfod, fetch);
		free(fetch->path);
		free(fetch);
	}
	dying_reap(&debuginfod->dying, true);
	vec_free(&debuginfod->list);
	hash_free(&debuginfod->index);
	cleanup_close(&debuginfod->epoll_fd);
	cleanup_close(&debuginfod->timer_fd);
	free(debuginfod);
}

static void settle(struct debuginfod *debuginfod, struct fetch *fetch, enum fetch_state state)
{
	debuginfod->waiting -= fetch->state == FETCH_WAITING;
	fetch->state = state;
	debuginfod->changed |= state == FETCH_HERE || state == FETCH_NONE;
}

static void start(struct debuginfod *debuginfod, struct fetch *fetch)
{
	uint32_t deadline_ms = debuginfod->deadline_ms;
	uint32_t seconds =
		MAX(deadline_ms, 2 * GIVES_UP_BEFORE_MS) / 1000 - GIVES_UP_BEFORE_MS / 1000;
	int err = fetch_process_start(fetch->build_id, seconds, &fetch->process);

	if (err) {
		log_warning("debuginfod: cannot start " FETCH_PROGRAM ": %s", strerror(-err));
		settle(debuginfod, fetch, FETCH_NONE);
		return;
	}
	watch_fd(debuginfod, fetch->process.fd); /* failing that, the tick finds it */
	settle(debuginfod, fetch, FETCH_RUNNING);
	fetch->started_ms = now_ms();
	if (!debuginfod->running++)
		tick(debuginfod, true);
}

static void start_waiting(struct debuginfod *debuginfod)
{
	for (size_t i = 0; debuginfod->waiting && i < debuginfod->list.count; i++) {
		struct fetch *fetch = debuginfod->list.items[i];

		if (fetch->state != FETCH_WAITING)
			continue;
		if (debuginfod->timeouts >= MAX_TIMEOUTS)
			settle(debuginfod, fetch, FETCH_NONE);
		else if (debuginfod->running < MAX_RUNNING)
			start(debuginfod, fetch);
	}
	if (!debuginfod->running)
		tick(debuginfod, false);
}

static struct fetch *add(struct debuginfod *debuginfod, const char *build_id, const char *path)
{
	struct fetch *fetch = calloc(1, sizeof(*fetch)), **place;

	if (!fetch)
		return NULL;
	fetch->path = strdup(path);
	place = fetch->path ? vec_push(&debuginfod->list) : NULL;
	if (!place) {
		free(fetch->path);
		free(fetch);
		return NULL;
	}
	snprintf(fetch->build_id, sizeof(fetch->build_id), "%s", build_id);
	debuginfod->waiting++;
	*place = fetch;
	return fetch;
}

static struct fetch *find_or_add(struct debuginfod *debuginfod, const char *build_id,
				 const char *path)
{
	uint64_t key = intern_hash(build_id), *slot;
	struct fetch *fetch;

	for (; (slot = hash_put(&debuginfod->index, key, NULL)) && *slot; key++) {
		fetch = (struct fetch *)(uintptr_t)*slot;
		if (!strcmp(fetch->build_id, build_id))
			return fetch;
	}
	if (!slot)
		return NULL;
	fetch = add(debuginfod, build_id, path);
	*slot = (uintptr_t)fetch;
	return fetch;
}

int debuginfod_open(struct debuginfod *debuginfod, const char *build_id, const char *path)
{
	struct fetch *fetch = find_or_add(debuginfod, build_id, path);
	int fd;

	if (!fetch)
		return -ENOMEM;
	start_waiting(debuginfod);
	if (fetch->state == FETCH_NONE)
		return -ENOENT;
	if (fetch->state != FETCH_HERE)
		return -EAGAIN;
	fd = target_file_open_path(0, fetch->process.answer);
	return fd < 0 ? -ENOENT : fd;
}

static void on_end(struct debuginfod *debuginfod, struct fetch *fetch, bool found)
{
	int64_t took_ms = now_ms() - fetch->started_ms;

	end_process(debuginfod, fetch);
	settle(debuginfod, fetch, found ? FETCH_HERE : FETCH_NONE);
	debuginfod->timeouts = 0;
	if (found)
		log_info("debuginfod: fetched the debug file of %s in %lld.%lld s", fetch->path,
			 (long long)took_ms / 1000, (long long)took_ms / 100 % 10);
	else
		log_debug("debuginfod: there is no debug file of %s", fetch->path);
}

static void on_timeout(struct debuginfod *debuginfod, struct fetch *fetch)
{
	end_process(debuginfod, fetch);
	settle(debuginfod, fetch, FETCH_NONE);
	debuginfod->timeouts++;
	log_warning("debuginfod: the debug file of %s did not come within %u s%s", fetch->path,
		    debuginfod->deadline_ms / 1000,
		    debuginfod->timeouts == MAX_TIMEOUTS ? "; the servers are not asked again"
							 : "");
}

static void take_one(struct debuginfod *debuginfod, struct fetch *fetch)
{
	int err = fetch_process_read(&fetch->process);
	int64_t took_ms = now_ms() - fetch->started_ms;

	/* Its seconds are not to the millisecond. */
	if (err == -ENOENT && took_ms + 3 * GIVES_UP_BEFORE_MS / 2 >= debuginfod->deadline_ms)
		on_timeout(debuginfod, fetch);
	else if (err != -EAGAIN)
		on_end(debuginfod, fetch, !err);
	else if (took_ms >= debuginfod->deadline_ms)
		on_timeout(debuginfod, fetch);
}

bool debuginfod_take(struct debuginfod *debuginfod)
{
	uint64_t ticks;
	bool changed;

	while (read(debuginfod->timer_fd, &ticks, sizeof(ticks)) > 0)
		continue;
	for (size_t i = 0; debuginfod->running && i < debuginfod->list.count; i++) {
		if (debuginfod->list.items[i]->state == FETCH_RUNNING)
			take_one(debuginfod, debuginfod->list.items[i]);
	}
	start_waiting(debuginfod);
	dying_reap(&debuginfod->dying, false);
	changed = debuginfod->changed;
	debuginfod->changed = false;
	return changed;
}

int debuginfod_wait(struct debuginfod *debuginfod, int timeout_ms)
{
	int64_t end = now_ms() + timeout_ms, left = timeout_ms;
	struct pollfd waited[] = {{.fd = debuginfod->epoll_fd, .events = POLLIN},
				  {.fd = interrupt_fd(), .events = POLLIN}};
	bool changed = false;

	while (debuginfod->running && !interrupt_check() && (timeout_ms < 0 || left > 0)) {
		poll(waited, ARRAY_SIZE(waited), (int)left);
		changed |= debuginfod_take(debuginfod);
		left = timeout_ms < 0 ? -1 : end - now_ms();
	}
	debuginfod->changed = changed; /* for whoever takes next */
	return debuginfod->running ? -EAGAIN : 0;
}

int debuginfod_fd(const struct debuginfod *debuginfod)
{
	return debuginfod->running ? debuginfod->epoll_fd : -1;
}

bool debuginfod_progress(const struct debuginfod *debuginfod, struct fetch_progress *progress)
{
	const struct fetch *oldest = NULL;

	for (size_t i = 0; debuginfod->running && i < debuginfod->list.count; i++) {
		const struct fetch *fetch = debuginfod->list.items[i];

		if (fetch->state == FETCH_RUNNING &&
		    (!oldest || fetch->started_ms < oldest->started_ms))
			oldest = fetch;
	}
	if (!oldest)
		return false;
	*progress = (struct fetch_progress){
		.path = oldest->path,
		.seconds = (uint32_t)((now_ms() - oldest->started_ms) / 1000),
		.of_seconds = debuginfod->deadline_ms / 1000,
		.others = debuginfod->running + debuginfod->waiting - 1,
	};
	return true;
}
