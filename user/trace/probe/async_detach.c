// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace/probe/async_detach.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/urgency.h"

/* Shortest interval between calls of a guard. */
#define LOOK_MIN_NS 1000000u

enum detach_state { DETACH_IDLE, DETACH_WAITS, DETACH_RUNS };

struct async_detach {
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	enum detach_state state;
	uint64_t deadline_ns, closed_ns, apart_ns;
	struct detach_guard guard;
	struct attachments attachments;
	bool end;
};

/*
 * Returns the time of the next check: the rest cannot be used up before, even by all CPUs together.
 */
static uint64_t next_look_ns(const struct detach_guard *guard, uint64_t now_ns)
{
	double left_s = guard->left_s ? guard->left_s(guard->context) : 0;
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	if (!guard->left_s)
		return UINT64_MAX;
	if (left_s <= 0)
		return now_ns;
	return now_ns + MAX((uint64_t)(left_s * 1e9) / (uint64_t)MAX(cpus, 1), LOOK_MIN_NS);
}

/* Waits until there is something to close, or the end. */
static void wait_for_work(struct async_detach *detach)
{
	while (!detach->end && detach->state != DETACH_RUNS) {
		uint64_t now_ns = monotonic_ns(), wake_ns;
		struct timespec wake;

		if (detach->state == DETACH_IDLE) {
			pthread_cond_wait(&detach->changed, &detach->mutex);
			continue;
		}
		wake_ns = MIN(detach->deadline_ns, next_look_ns(&detach->guard, now_ns));
		if (wake_ns <= now_ns) {
			detach->state = DETACH_RUNS;
			continue;
		}
		wake.tv_sec = (time_t)(wake_ns / 1000000000u);
		wake.tv_nsec = (long)(wake_ns % 1000000000u);
		pthread_cond_timedwait(&detach->changed, &detach->mutex, &wake);
	}
}

static void *run(void *context)
{
	struct async_detach *detach = context;
	struct urgency urgency;

	/* A target that hits probes waits for this thread; other processes do so for a moment. */
	urgency_begin(&urgency);
	pthread_mutex_lock(&detach->mutex);
	for (;;) {
		struct attachments attachments;

		wait_for_work(detach);
		if (detach->state == DETACH_IDLE)
			break;
		detach->state = DETACH_RUNS;
		detach->closed_ns = monotonic_ns();
		attachments = detach->attachments;
		detach->attachments = (struct attachments){0};
		pthread_mutex_unlock(&detach->mutex);
		attachments_close(&attachments);
		pthread_mutex_lock(&detach->mutex);
		detach->apart_ns += attachments.apart_ns;
		detach->state = DETACH_IDLE;
		pthread_cond_broadcast(&detach->changed);
	}
	pthread_mutex_unlock(&detach->mutex);
	return NULL;
}

/* Signals are left to the thread that waits for them. */
static int start_thread(struct async_detach *detach)
{
	sigset_t all, before;
	int error;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&detach->thread, NULL, run, detach);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return error;
}

struct async_detach *async_detach_new(void)
{
	struct async_detach *detach = calloc(1, sizeof(*detach));
	pthread_condattr_t monotonic;

	if (!detach)
		return NULL;
	pthread_mutex_init(&detach->mutex, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&detach->changed, &monotonic);
	pthread_condattr_destroy(&monotonic);
	if (!start_thread(detach))
		return detach;
	free(detach);
	return NULL;
}

void async_detach_free(struct async_detach *detach)
{
	if (!detach)
		return;
	pthread_mutex_lock(&detach->mutex);
	detach->end = true;
	pthread_cond_broadcast(&detach->changed);
	pthread_mutex_unlock(&detach->mutex);
	pthread_join(detach->thread, NULL);
	free(detach);
}

int async_detach_add(struct async_detach *detach, struct attachments *attachments,
		     uint64_t deadline_ns, const struct detach_guard *guard)
{
	int error;

	pthread_mutex_lock(&detach->mutex);
	error = attachments_move(&detach->attachments, attachments);
	detach->apart_ns += attachments->apart_ns;
	detach->deadline_ns = deadline_ns;
	detach->closed_ns = 0;
	detach->guard = guard ? *guard : (struct detach_guard){0};
	detach->state = deadline_ns && !error ? DETACH_WAITS : DETACH_RUNS;
	pthread_cond_broadcast(&detach->changed);
	pthread_mutex_unlock(&detach->mutex);
	if (error)
		attachments_close(attachments);
	vec_free(&attachments->fds);
	attachments->apart_ns = 0;
	return error;
}

bool async_detach_now(struct async_detach *detach)
{
	bool waited;

	pthread_mutex_lock(&detach->mutex);
	waited = detach->state == DETACH_WAITS;
	if (waited)
		detach->state = DETACH_RUNS;
	pthread_cond_broadcast(&detach->changed);
	pthread_mutex_unlock(&detach->mutex);
	return waited;
}

uint64_t async_detach_closed_ns(struct async_detach *detach)
{
	uint64_t closed_ns;

	pthread_mutex_lock(&detach->mutex);
	closed_ns = detach->closed_ns;
	pthread_mutex_unlock(&detach->mutex);
	return closed_ns;
}

bool async_detach_is_done(struct async_detach *detach)
{
	bool done;

	pthread_mutex_lock(&detach->mutex);
	done = detach->state == DETACH_IDLE;
	pthread_mutex_unlock(&detach->mutex);
	return done;
}

double async_detach_cpu_s(struct async_detach *detach)
{
	uint64_t apart_ns;

	pthread_mutex_lock(&detach->mutex);
	apart_ns = detach->apart_ns;
	pthread_mutex_unlock(&detach->mutex);
	return (double)apart_ns / 1e9;
}
