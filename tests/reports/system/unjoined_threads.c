// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Threads. `unjoined`: they end, and nobody joins them: their stacks stay. `waiting`: each request
 * gets a thread that waits for ever. `pool`: four threads, for good. `joined`: they come and go.
 *
 * kind: threads
 * leak threads-unjoined: unjoined
 *   part: threads|stacks
 *   code: task_start
 * leak threads-waiting: waiting
 *   part: threads
 *   code: task_start
 * healthy threads-joined: joined
 * healthy thread-pool: pool
 */
#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <unistd.h>

static sem_t never, work;
static int waits, pools;

static void *task_run(void *unused)
{
	char own[32 << 10];

	memset(own, 't', sizeof(own));
	__asm__ volatile("" ::"r"(own) : "memory");
	if (waits)
		sem_wait(&never);
	while (pools)
		sem_wait(&work);
	return unused;
}

static pthread_t __attribute__((noinline)) task_start(void)
{
	pthread_attr_t attributes;
	pthread_t thread = 0;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 128 << 10);
	if (pthread_create(&thread, &attributes, task_run, NULL))
		pause();
	pthread_attr_destroy(&attributes);
	return thread;
}

int main(int count, char **arguments)
{
	const char *mode = count > 1 ? arguments[1] : "unjoined";

	sem_init(&never, 0, 0);
	sem_init(&work, 0, 0);
	waits = !strcmp(mode, "waiting");
	pools = !strcmp(mode, "pool");
	for (int i = 0; pools && i < 4; i++)
		task_start();
	for (;; usleep(waits ? 500000 : 100000)) {
		if (pools) {
			sem_post(&work);
			continue;
		}
		pthread_t thread = task_start();

		if (!strcmp(mode, "joined"))
			pthread_join(thread, NULL);
	}
}
