// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Threads that each hold one block of 1000 bytes, which nothing else leads to: 10 of them.
 *
 *   ended            commands: go (they hold their blocks), join (they end and are joined; what
 *                    they held is lost), leave (they end and are not joined), quit
 *
 * One is held by the thread's argument, one by what it returns, one by a thread-local, the others
 * by locals. The thread that creates and joins all of them has ended, too, when "join" is done; and
 * the main thread never had a block's address.
 */
#include <pthread.h>
#include <sys/stat.h>

#include "workload.h"

#define THREADS 10
#define BLOCK_BYTES 1000
#define STACK_BYTES (64 << 10)

enum { BY_ARGUMENT, BY_RESULT, BY_THREAD_LOCAL };

/* Three gates, one after the other: a waiting thread keeps its blocks. */
static pthread_mutex_t ends = PTHREAD_MUTEX_INITIALIZER, joins = PTHREAD_MUTEX_INITIALIZER;
static volatile int holding;
static pthread_attr_t small;
static pthread_t creator;
static __thread void *volatile local_to_thread;

static void pass(pthread_mutex_t *gate)
{
	pthread_mutex_lock(gate);
	pthread_mutex_unlock(gate);
}

static void hold(void)
{
	__atomic_add_fetch(&holding, 1, __ATOMIC_SEQ_CST);
	pass(&ends);
}

static void *by_argument(void *argument)
{
	(void)argument;
	hold();
	return NULL;
}

static void *by_result(void *argument)
{
	void *volatile block = malloc(BLOCK_BYTES);

	(void)argument;
	hold();
	return block;
}

static void *by_thread_local(void *argument)
{
	(void)argument;
	local_to_thread = malloc(BLOCK_BYTES);
	hold();
	return NULL;
}

static void *by_local(void *argument)
{
	void *volatile block = malloc(BLOCK_BYTES);

	(void)argument;
	hold();
	OPAQUE((void *)block);
	return NULL;
}

static void *create_all(void *argument)
{
	static void *(*const runs[THREADS])(void *) = {
		[BY_ARGUMENT] = by_argument,
		[BY_RESULT] = by_result,
		[BY_THREAD_LOCAL] = by_thread_local,
	};
	static pthread_t threads[THREADS];

	(void)argument;
	for (size_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], &small, runs[i] ? runs[i] : by_local,
			       i == BY_ARGUMENT ? malloc(BLOCK_BYTES) : NULL);
	pass(&joins);
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return NULL;
}

/* Without opendir(), which allocates. */
static void settle(unsigned count)
{
	struct stat status;

	while (!stat("/proc/self/task", &status) && status.st_nlink - 2 > count)
		usleep(1000);
}

static void go(void)
{
	pthread_mutex_lock(&ends);
	pthread_mutex_lock(&joins);
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, STACK_BYTES);
	pthread_create(&creator, &small, create_all, NULL);
	while (holding < THREADS)
		usleep(1000);
}

static void leave(void)
{
	pthread_mutex_unlock(&ends);
	settle(2);
}

static void join(void)
{
	leave();
	pthread_mutex_unlock(&joins);
	pthread_join(creator, NULL);
	settle(1);
}

int main(void)
{
	static const struct command commands[] = {
		{"go", go, false}, {"leave", leave, false}, {"join", join, false}};
	static const struct truth nothing = {0};

	return workload_serve(commands, ARRAY_SIZE(commands), &nothing);
}
