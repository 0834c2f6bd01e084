// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * dispatcher: a process that at times directs its system calls to a signal handler of its own
 * (Syscall User Dispatch, as emulators use it); here there is no handler, and one of those kills
 * it.
 *
 *   on       prctl(PR_SET_SYSCALL_USER_DISPATCH), for now letting all of them pass
 *   go       with them not passing: 100 blocks of 24 bytes from malloc, 50 of 32 from calloc, 50 of
 *            48 from posix_memalign, 50 of the 24 are freed and 50 grown to 28 by realloc
 *   threads  with them not passing: pthread_detach of 3 threads; they have just been created with
 *            attributes
 */
#include <pthread.h>
#include <sys/prctl.h>

#include "workload.h"

#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#define PR_SYS_DISPATCH_ON 1
#define SYSCALL_DISPATCH_FILTER_ALLOW 0
#define SYSCALL_DISPATCH_FILTER_BLOCK 1
#endif

#define SMALL 100
#define OTHERS 50

enum { SMALL_SITE, COUNTED_SITE, ALIGNED_SITE, GROWN_SITE };

static struct truth truth = {
	.sites =
		{
			[SMALL_SITE] = {.function = "allocate_small"},
			[COUNTED_SITE] = {.function = "allocate_counted"},
			[ALIGNED_SITE] = {.function = "allocate_aligned"},
			[GROWN_SITE] = {.function = "grow"},
		},
};
static volatile char selector = SYSCALL_DISPATCH_FILTER_ALLOW;
static volatile bool dispatches;
static void *small[SMALL];

static SITE void *allocate_small(void)
{
	truth_born(&truth, SMALL_SITE, 24);
	return OPAQUE(malloc(24));
}

static SITE void allocate_counted(void)
{
	truth_born(&truth, COUNTED_SITE, 32);
	OPAQUE(calloc(4, 8));
}

static SITE void allocate_aligned(void)
{
	void *block;

	if (OPAQUE(posix_memalign(&block, 64, 48)))
		_exit(113);
	truth_born(&truth, ALIGNED_SITE, 48);
}

static SITE void *grow(void *block)
{
	truth_died(&truth, SMALL_SITE, 24);
	truth_born(&truth, GROWN_SITE, 28);
	return OPAQUE(realloc(block, 28));
}

static void go(void)
{
	if (dispatches)
		selector = SYSCALL_DISPATCH_FILTER_BLOCK;
	for (int i = 0; i < SMALL; i++)
		small[i] = allocate_small();
	for (int i = 0; i < OTHERS; i++) {
		allocate_counted();
		allocate_aligned();
		free(small[i]);
		truth_died(&truth, SMALL_SITE, 24);
		small[OTHERS + i] = grow(small[OTHERS + i]);
	}
	selector = SYSCALL_DISPATCH_FILTER_ALLOW;
}

static void on(void)
{
	if (prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_ON, 0, 0, &selector))
		_exit(114);
	dispatches = true;
}

static void *wait_for_end(void *mutex)
{
	pthread_mutex_lock(mutex);
	pthread_mutex_unlock(mutex);
	return NULL;
}

static void threads(void)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	pthread_attr_t attributes;
	pthread_t made[3];

	pthread_mutex_lock(&mutex);
	pthread_attr_init(&attributes);
	for (int i = 0; i < 3; i++) {
		if (pthread_create(&made[i], &attributes, wait_for_end, &mutex))
			_exit(115);
	}
	if (dispatches)
		selector = SYSCALL_DISPATCH_FILTER_BLOCK;
	for (int i = 0; i < 3; i++)
		pthread_detach(made[i]);
	selector = SYSCALL_DISPATCH_FILTER_ALLOW;
	pthread_mutex_unlock(&mutex);
}

int main(void)
{
	static const struct command commands[] = {
		{.name = "on", .run = on},
		{.name = "go", .run = go},
		{.name = "threads", .run = threads},
	};

	/* The heap has room: it asks the kernel for nothing later. */
	free(OPAQUE(malloc(100000)));
	return workload_serve(commands, ARRAY_SIZE(commands), &truth);
}
