// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Threads that leave blocks behind when they end: joined, detached, forgotten; and some that stay.
 *
 *   thread_heap    commands: go (all of them), end (those that stayed end, and are joined),
 *                  reuse (a thread gets the tid of one that left a block and was joined; answers
 *                  with JSON whether it came to that), ledger, quit
 *
 * A command is done when every thread that it ends has ended in the kernel's eyes.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

#include "workload.h"

#define JOINED 40
#define DETACHED 30
#define FORGOTTEN 20
#define STAYING 10
/* Another process on the machine may get the tid. */
#define REUSE_TRIES 1000

enum { BY_JOINED, BY_DETACHED, BY_FORGOTTEN, BY_STAYING, BY_MAIN, BEFORE_REUSE, AFTER_REUSE };

static struct truth truth = {.sites = {
				     [BY_JOINED] = {.function = "leak_joined"},
				     [BY_DETACHED] = {.function = "leak_detached"},
				     [BY_FORGOTTEN] = {.function = "leak_forgotten"},
				     [BY_STAYING] = {.function = "leak_staying"},
				     [BY_MAIN] = {.function = "leak_main"},
				     [BEFORE_REUSE] = {.function = "leak_before"},
				     [AFTER_REUSE] = {.function = "leak_after"},
			     }};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t leaving = PTHREAD_MUTEX_INITIALIZER;
static pthread_t staying[STAYING], reused;
static volatile int first_tid, second_tid;
static bool went, has_reused;

static void born(unsigned site, size_t size)
{
	pthread_mutex_lock(&lock);
	truth_born(&truth, site, size);
	pthread_mutex_unlock(&lock);
}

static uint64_t count_of(unsigned site)
{
	uint64_t count;

	pthread_mutex_lock(&lock);
	count = truth.sites[site].count;
	pthread_mutex_unlock(&lock);
	return count;
}

/* Shared by the leaking functions, each with a separate frame. */
#define LEAKER(name, site)                                                                         \
	SITE static void name(size_t size)                                                         \
	{                                                                                          \
		OPAQUE(malloc(size));                                                              \
		born(site, size);                                                                  \
	}
LEAKER(leak_joined, BY_JOINED)
LEAKER(leak_detached, BY_DETACHED)
LEAKER(leak_forgotten, BY_FORGOTTEN)
LEAKER(leak_staying, BY_STAYING)
LEAKER(leak_main, BY_MAIN)
LEAKER(leak_before, BEFORE_REUSE)
LEAKER(leak_after, AFTER_REUSE)

static void wait_to_leave(void)
{
	pthread_mutex_lock(&leaving);
	pthread_mutex_unlock(&leaving);
}

static void *run_joined(void *argument)
{
	leak_joined(32 + (size_t)argument);
	leak_joined(64);
	return NULL;
}

static void *run_detached(void *argument)
{
	leak_detached(100 + (size_t)argument);
	return NULL;
}

static void *run_forgotten(void *argument)
{
	for (int i = 0; i < 3; i++)
		leak_forgotten(1000 + (size_t)argument);
	return NULL;
}

static void *run_staying(void *argument)
{
	leak_staying(5000 + (size_t)argument);
	wait_to_leave();
	return NULL;
}

static void *run_before(void *argument)
{
	first_tid = (int)syscall(SYS_gettid);
	leak_before(77);
	return argument;
}

static void *run_after(void *argument)
{
	second_tid = (int)syscall(SYS_gettid);
	if (second_tid != first_tid)
		return argument;
	leak_after(88);
	wait_to_leave();
	return argument;
}

static pthread_t create(void *(*run)(void *), size_t argument)
{
	pthread_t thread;

	while (pthread_create(&thread, NULL, run, (void *)argument))
		sched_yield();
	return thread;
}

SITE static void create_forgotten(size_t i)
{
	create(run_forgotten, i);
}

/* Without opendir(), which allocates. */
static unsigned alive(void)
{
	struct stat status;

	return stat("/proc/self/task", &status) ? 0 : (unsigned)status.st_nlink - 2;
}

static void settle(unsigned count)
{
	struct timespec pause = {.tv_nsec = 5000000};

	while (alive() > count)
		nanosleep(&pause, NULL);
}

static void go(void)
{
	leak_main(12345);
	for (size_t i = 0; i < JOINED; i++)
		pthread_join(create(run_joined, i), NULL);
	for (size_t i = 0; i < DETACHED; i++)
		pthread_detach(create(run_detached, i));
	for (size_t i = 0; i < FORGOTTEN; i++)
		create_forgotten(i);
	for (size_t i = 0; i < STAYING; i++)
		staying[i] = create(run_staying, i);
	went = true;
	settle(1 + STAYING);
	while (count_of(BY_STAYING) < STAYING)
		sched_yield();
}

static void end(void)
{
	pthread_mutex_unlock(&leaving);
	for (size_t i = 0; i < STAYING && went; i++)
		pthread_join(staying[i], NULL);
	if (has_reused)
		pthread_join(reused, NULL);
	settle(1);
	pthread_mutex_lock(&leaving);
}

/* The kernel gives the tid after the one written here. */
static bool next_tid(int tid)
{
	char text[16];
	int fd = open("/proc/sys/kernel/ns_last_pid", O_WRONLY), size;
	bool done;

	if (fd < 0)
		return false;
	size = snprintf(text, sizeof(text), "%d", tid - 1);
	done = write(fd, text, (size_t)size) == size;
	close(fd);
	return done;
}

static void reuse(void)
{
	pthread_join(create(run_before, 0), NULL);
	for (int i = 0; i < REUSE_TRIES && !has_reused && next_tid(first_tid); i++) {
		second_tid = 0;
		reused = create(run_after, 0);
		while (!second_tid)
			sched_yield();
		has_reused = second_tid == first_tid;
		if (!has_reused)
			pthread_join(reused, NULL);
	}
	while (has_reused && !count_of(AFTER_REUSE))
		sched_yield();
	say("{\"reused\":%s}\n", has_reused ? "true" : "false");
}

int main(void)
{
	static const struct command commands[] = {
		{"go", go, false}, {"end", end, false}, {"reuse", reuse, true}};

	pthread_mutex_lock(&leaving);
	return workload_serve(commands, ARRAY_SIZE(commands), &truth);
}
