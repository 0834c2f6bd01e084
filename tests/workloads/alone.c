// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * alone: linked statically too. `go` starts threads that keep blocks in thread-locals of odd sizes;
 * `truth` prints them as the workload `locals` does.
 */
#define _GNU_SOURCE
#include "workload.h"

#include <malloc.h>
#include <pthread.h>

#define THREADS 3

static __thread char padding[101];
static __thread void *volatile first_local;
__thread void *volatile second_local;
static __thread char tail[7];
static const size_t sizes[] = {20008, 20024};

static SITE void keep(void)
{
	padding[0] = tail[0] = 1;
	first_local = calloc(1, sizes[0]);
	second_local = calloc(1, sizes[1]);
}

/* Left-over words of calls must not hold anything. */
static SITE void wipe(void)
{
	volatile char stack[16384];

	for (size_t i = 0; i < sizeof(stack); i++)
		stack[i] = 0;
	for (size_t i = 0; i < sizeof(stack); i++)
		(void)stack[i];
}

static void *run(void *barrier)
{
	keep();
	wipe();
	pthread_barrier_wait(barrier);
	for (;;)
		pause();
	return padding + tail[0];
}

static void go(void)
{
	static pthread_barrier_t barrier;

	pthread_barrier_init(&barrier, NULL, THREADS + 1);
	for (size_t i = 0; i < THREADS; i++) {
		pthread_t thread;

		pthread_create(&thread, NULL, run, &barrier);
		pthread_detach(thread);
	}
	pthread_barrier_wait(&barrier);
	usleep(50000);
}

static void print_truth(void)
{
	static const char *const names[] = {"first_local", "second_local"};

	say("{\"locals\":[");
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		say("%s{\"name\":\"%s\",\"module\":\"%s\",\"threads\":%d,\"blocks\":%d,\"size\":%"
		    "zu}",
		    i ? "," : "", names[i], program_invocation_short_name, THREADS, THREADS,
		    sizes[i]);
	say("]}\n");
}

int main(void)
{
	static const struct command commands[] = {
		{"go", go, false},
		{"truth", print_truth, true},
	};
	static const struct truth truth = {0};

	return workload_serve(commands, ARRAY_SIZE(commands), &truth);
}
