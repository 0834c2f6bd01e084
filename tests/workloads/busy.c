// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * busy [THREADS [HELD]]: threads that serve their own requests and check every answer, while
 * signals arrive and blocks are allocated and freed; one global holds HELD blocks, which are never
 * touched. `check` answers how many requests were served, how many failed, and how many signals of
 * a timer were seen and overrun.
 */
#include "workload.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/time.h>

#define SLOTS 512
#define MAX_THREADS 64

static atomic_ulong served, wrong, signals;
static size_t thread_count, held_count;
static void **held;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t guarded[2];

struct request {
	uint64_t number, answer;
	size_t size;
	unsigned char body[];
};

static SITE struct request *request_make(uint64_t number)
{
	size_t size = 16 + number * 2654435761u % 700;
	struct request *request = malloc(sizeof(*request) + size);

	*request = (struct request){number, number * 0x9e3779b97f4a7c15ull, size};
	memset(request->body, (int)number, size);
	return request;
}

static SITE bool request_holds(const struct request *request)
{
	if (request->answer != request->number * 0x9e3779b97f4a7c15ull)
		return false;
	for (size_t i = 0; i < request->size; i++) {
		if (request->body[i] != (unsigned char)request->number)
			return false;
	}
	return true;
}

static void *serve(void *argument)
{
	struct request *slots[SLOTS] = {0};

	for (uint64_t number = (uintptr_t)argument;; number += MAX_THREADS) {
		struct request **slot = &slots[number / MAX_THREADS % SLOTS];

		if (*slot && !request_holds(*slot))
			atomic_fetch_add(&wrong, 1);
		free(*slot);
		*slot = request_make(number);
		pthread_mutex_lock(&lock);
		guarded[0]++;
		guarded[1]++;
		if (guarded[0] != guarded[1])
			atomic_fetch_add(&wrong, 1);
		pthread_mutex_unlock(&lock);
		atomic_fetch_add(&served, 1);
	}
	return NULL;
}

static void on_signal(int number)
{
	(void)number;
	atomic_fetch_add(&signals, 1);
}

static void go(void)
{
	struct itimerval every = {{0, 1000}, {0, 1000}};
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
	pthread_t thread;

	sigaction(SIGALRM, &action, NULL);
	sigaction(SIGUSR1, &action, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
	held = calloc(held_count, sizeof(*held));
	for (size_t i = 0; i < held_count; i++)
		held[i] = calloc(1, 40);
	for (size_t i = 0; i < thread_count; i++)
		pthread_create(&thread, NULL, serve, (void *)(i + 1));
}

static void check(void)
{
	say("{\"served\":%lu,\"wrong\":%lu,\"signals\":%lu}\n", atomic_load(&served),
	    atomic_load(&wrong), atomic_load(&signals));
}

int main(int argc, char **argv)
{
	static const struct command commands[] = {
		{.name = "go", .run = go},
		{.name = "check", .run = check, .silent = true},
	};
	static const struct truth truth = {0};

	thread_count = argument(argc, argv, 1, 4);
	held_count = argument(argc, argv, 2, 1000);
	return workload_serve(commands, ARRAY_SIZE(commands), &truth);
}
