// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * thread_server [MILLISECONDS]: a server that makes a thread per request, for `make demo-threads`.
 *
 * Workers for long jobs are joined, as they should be; the threads that answer requests end on
 * their own and are forgotten: search for BUG. Each keeps its stack, its descriptor and its
 * thread-local blocks for as long as the server runs.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

/* In a program of many source files these would be calls, too. */
#define CALLED __attribute__((noinline))

struct request {
	char path[64];
	int number;
};

static void *request_serve(void *argument)
{
	struct request *request = argument;
	char answer[512];

	snprintf(answer, sizeof(answer), "200 %s %d", request->path, request->number);
	free(request);
	return NULL;
}

static void *job_run(void *argument)
{
	struct timespec work = {.tv_nsec = 1000000};

	nanosleep(&work, NULL);
	return argument;
}

CALLED static int request_dispatch(int number)
{
	struct request *request = malloc(sizeof(*request));
	pthread_t thread;

	if (!request)
		return -1;
	strcpy(request->path, "/index.html");
	request->number = number;
	return pthread_create(&thread, NULL, request_serve, request); /* BUG: never joined */
}

CALLED static void job_start_and_wait(void)
{
	pthread_t thread;

	if (!pthread_create(&thread, NULL, job_run, NULL))
		pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
	long milliseconds = argc > 1 ? atol(argv[1]) : 20;
	struct timespec between = {.tv_sec = milliseconds / 1000,
				   .tv_nsec = milliseconds % 1000 * 1000000};

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	for (int number = 0;; number++) {
		if (request_dispatch(number))
			fputs("out of threads\n", stderr);
		if (number % 3 == 0)
			job_start_and_wait();
		nanosleep(&between, NULL);
	}
}
