// SPDX-License-Identifier: GPL-2.0-or-later
#include "probe/parting.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

enum parting_state { PARTING_NONE, PARTING_WAITS, PARTING_GOES };

struct parting {
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	enum parting_state state;
	uint64_t deadline_ns, apart_ns;
	struct attachments attachments;
	bool end;
};

/* Until there is something to close, or nothing more will come. */
static void wait_for_work(struct parting *parting)
{
	struct timespec deadline;

	while (!parting->end && parting->state != PARTING_GOES) {
		if (parting->state == PARTING_NONE) {
			pthread_cond_wait(&parting->changed, &parting->mutex);
			continue;
		}
		deadline.tv_sec = (time_t)(parting->deadline_ns / 1000000000u);
		deadline.tv_nsec = (long)(parting->deadline_ns % 1000000000u);
		if (pthread_cond_timedwait(&parting->changed, &parting->mutex, &deadline) &&
		    parting->state == PARTING_WAITS)
			parting->state = PARTING_GOES;
	}
}

static void *part(void *context)
{
	struct parting *parting = context;

	pthread_mutex_lock(&parting->mutex);
	for (;;) {
		struct attachments attachments;

		wait_for_work(parting);
		if (parting->state == PARTING_NONE)
			break;
		parting->state = PARTING_GOES;
		attachments = parting->attachments;
		parting->attachments = (struct attachments){0};
		pthread_mutex_unlock(&parting->mutex);
		attachments_close(&attachments);
		pthread_mutex_lock(&parting->mutex);
		parting->apart_ns += attachments.apart_ns;
		parting->state = PARTING_NONE;
		pthread_cond_broadcast(&parting->changed);
	}
	pthread_mutex_unlock(&parting->mutex);
	return NULL;
}

/* Signals are for the thread that waits for them. */
static int start_thread(struct parting *parting)
{
	sigset_t all, before;
	int error;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&parting->thread, NULL, part, parting);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return error;
}

struct parting *parting_new(void)
{
	struct parting *parting = calloc(1, sizeof(*parting));
	pthread_condattr_t monotonic;

	if (!parting)
		return NULL;
	pthread_mutex_init(&parting->mutex, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&parting->changed, &monotonic);
	pthread_condattr_destroy(&monotonic);
	if (!start_thread(parting))
		return parting;
	free(parting);
	return NULL;
}

void parting_free(struct parting *parting)
{
	if (!parting)
		return;
	pthread_mutex_lock(&parting->mutex);
	parting->end = true;
	pthread_cond_broadcast(&parting->changed);
	pthread_mutex_unlock(&parting->mutex);
	pthread_join(parting->thread, NULL);
	free(parting);
}

int parting_take(struct parting *parting, struct attachments *attachments, uint64_t deadline_ns)
{
	int error;

	pthread_mutex_lock(&parting->mutex);
	error = attachments_move(&parting->attachments, attachments);
	parting->apart_ns += attachments->apart_ns;
	parting->deadline_ns = deadline_ns;
	parting->state = deadline_ns && !error ? PARTING_WAITS : PARTING_GOES;
	pthread_cond_broadcast(&parting->changed);
	pthread_mutex_unlock(&parting->mutex);
	if (error)
		attachments_close(attachments);
	vec_free(&attachments->fds);
	attachments->apart_ns = 0;
	return error;
}

bool parting_now(struct parting *parting)
{
	bool waited;

	pthread_mutex_lock(&parting->mutex);
	waited = parting->state == PARTING_WAITS;
	if (waited)
		parting->state = PARTING_GOES;
	pthread_cond_broadcast(&parting->changed);
	pthread_mutex_unlock(&parting->mutex);
	return waited;
}

bool parting_is_done(struct parting *parting)
{
	bool done;

	pthread_mutex_lock(&parting->mutex);
	done = parting->state == PARTING_NONE;
	pthread_mutex_unlock(&parting->mutex);
	return done;
}

double parting_apart_s(struct parting *parting)
{
	uint64_t apart_ns;

	pthread_mutex_lock(&parting->mutex);
	apart_ns = parting->apart_ns;
	pthread_mutex_unlock(&parting->mutex);
	return (double)apart_ns / 1e9;
}
