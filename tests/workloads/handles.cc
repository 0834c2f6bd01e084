// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * handles: `go` creates threads that end at once and are never joined; each function keeps their
 * pthread_ts somewhere else, or nowhere. `truth` prints the number of each.
 */
#include "workload.h"

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/syscall.h>
#include <thread>
#include <vector>

enum { IN_ARRAY = 40, IN_LIST = 30, IN_VECTOR = 20, LOST = 10, IN_LOST_LIST = 5, ON_STACK = 1 };

struct node {
	struct node *next;
	char name[24];
	pthread_t thread;
};

static pthread_t handles[64]; /* from the fourth on */
static struct node *volatile list_head;
static std::vector<std::thread> *pool;
static sem_t never, kept;
static volatile pid_t last_tid;

static void *worker(void *)
{
	last_tid = (pid_t)syscall(SYS_gettid);
	return nullptr;
}

static void wait_for_its_end()
{
	while (!last_tid || !syscall(SYS_tgkill, getpid(), last_tid, 0))
		usleep(100);
	last_tid = 0;
}

static SITE void keep_in_array()
{
	for (size_t i = 0; i < IN_ARRAY; i++) {
		pthread_create(&handles[3 + i], nullptr, worker, nullptr);
		wait_for_its_end();
	}
}

static SITE struct node *list_of(size_t count)
{
	struct node *head = nullptr;

	for (size_t i = 0; i < count; i++) {
		struct node *node = (struct node *)calloc(1, sizeof(*node));

		node->next = head;
		head = node;
		pthread_create(&node->thread, nullptr, worker, nullptr);
		wait_for_its_end();
	}
	return head;
}

static SITE void keep_in_list()
{
	list_head = list_of(IN_LIST);
}

static SITE void keep_in_lost_list()
{
	opaque_pointer(list_of(IN_LOST_LIST));
}

static SITE void keep_in_vector()
{
	pool = new std::vector<std::thread>();
	pool->reserve(IN_VECTOR);
	for (size_t i = 0; i < IN_VECTOR; i++) {
		pool->emplace_back(worker, nullptr);
		wait_for_its_end();
	}
}

static SITE void lose()
{
	for (size_t i = 0; i < LOST; i++) {
		pthread_t thread;

		pthread_create(&thread, nullptr, worker, nullptr);
		wait_for_its_end();
	}
}

static SITE void keep_on_stack()
{
	volatile pthread_t thread;

	pthread_create((pthread_t *)&thread, nullptr, worker, nullptr);
	wait_for_its_end();
	sem_post(&kept);
	while (sem_wait(&never))
		;
	pthread_join(thread, nullptr);
}

static void *keeper(void *)
{
	keep_on_stack();
	return nullptr;
}

/* Left-over words of calls must not hold anything. */
static SITE void wipe()
{
	volatile char stack[65536];

	for (size_t i = 0; i < sizeof(stack); i++)
		stack[i] = 0;
}

static void go()
{
	pthread_t thread;

	sem_init(&never, 0, 0);
	sem_init(&kept, 0, 0);
	keep_in_array();
	keep_in_list();
	keep_in_lost_list();
	keep_in_vector();
	lose();
	pthread_create(&thread, nullptr, keeper, nullptr);
	while (sem_wait(&kept))
		;
	wipe();
}

static void print_truth()
{
	say("{\"keep_in_array\":%d,\"keep_in_list\":%d,\"keep_in_lost_list\":%d,"
	    "\"keep_in_vector\":%d,\"lose\":%d,\"keep_on_stack\":%d}\n",
	    IN_ARRAY, IN_LIST, IN_LOST_LIST, IN_VECTOR, LOST, ON_STACK);
}

int main()
{
	static const struct command commands[] = {
		{"go", go, false},
		{"truth", print_truth, true},
	};
	static const struct truth truth = {};

	return workload_serve(commands, ARRAY_SIZE(commands), &truth);
}
