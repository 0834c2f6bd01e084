// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Threads in every way they can come and go, counted: workers create, join, try to join, join with
 * a deadline, detach, cancel and forget threads in random order, on stacks that are used again.
 *
 *   threads [SEED]    commands: some (a round of 2000 threads), endless (rounds until SIGUSR1),
 *                     truth, quit
 *
 * A round ends when every thread that it made has ended in the kernel's eyes.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>

#include "workload.h"

#define WORKERS 4
#define ROUND 2000
#define MAX_FORGOTTEN 8192

enum way { JOIN, TRY, TIMED, DETACH, BORN_DETACHED, SELF_DETACH, CANCEL, FORGET, KEEP, WAYS };

struct worker {
	unsigned random;
	uint64_t created, joined, detached, forgotten[2];
	pthread_t kept[64];
	unsigned kept_count;
};

static struct worker workers[WORKERS];

static unsigned random_below(struct worker *worker, unsigned limit)
{
	worker->random = worker->random * 1103515245u + 12345u;
	return (worker->random >> 16) % limit;
}

static void *ends_at_once(void *argument)
{
	return argument;
}

static void *detaches_itself(void *argument)
{
	pthread_detach(pthread_self());
	return argument;
}

static void *takes_its_time(void *argument)
{
	struct timespec pause = {.tv_nsec = 2000000};

	nanosleep(&pause, NULL);
	pthread_exit(argument);
}

static void *waits_for_cancel(void *argument)
{
	for (;;)
		pause();
	return argument;
}

static pthread_t create(struct worker *worker, const pthread_attr_t *attr, void *(*run)(void *))
{
	pthread_t thread;

	while (pthread_create(&thread, attr, run, NULL))
		sched_yield();
	worker->created++;
	return thread;
}

SITE static void forget_one(struct worker *worker)
{
	create(worker, NULL, ends_at_once);
	worker->forgotten[0]++;
}

SITE static void forget_other(struct worker *worker)
{
	create(worker, NULL, takes_its_time);
	worker->forgotten[1]++;
}

static void join(struct worker *worker, pthread_t thread)
{
	if (pthread_join(thread, NULL))
		abort();
	worker->joined++;
}

static void try_join(struct worker *worker, pthread_t thread)
{
	while (pthread_tryjoin_np(thread, NULL))
		sched_yield();
	worker->joined++;
}

/* Deadlines that pass, then one that does not. */
static void timed_join(struct worker *worker, pthread_t thread)
{
	struct timespec now;

	do {
		clock_gettime(CLOCK_REALTIME, &now);
		now.tv_nsec += 100000;
		if (now.tv_nsec >= 1000000000) {
			now.tv_nsec -= 1000000000;
			now.tv_sec++;
		}
	} while (pthread_timedjoin_np(thread, NULL, &now));
	worker->joined++;
}

static void detached_by_attribute(struct worker *worker)
{
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	create(worker, &attr, ends_at_once);
	pthread_attr_destroy(&attr);
	worker->detached++;
}

static void cancel(struct worker *worker)
{
	pthread_t thread = create(worker, NULL, waits_for_cancel);

	pthread_cancel(thread);
	join(worker, thread);
}

/* Some are joined long after their end, by the same worker. */
static void keep(struct worker *worker)
{
	unsigned place = random_below(worker, ARRAY_SIZE(worker->kept));

	if (place < worker->kept_count) {
		join(worker, worker->kept[place]);
		worker->kept[place] = worker->kept[--worker->kept_count];
	} else if (worker->kept_count < ARRAY_SIZE(worker->kept)) {
		worker->kept[worker->kept_count++] = create(worker, NULL, ends_at_once);
	}
}

static void one(struct worker *worker)
{
	void *(*run)(void *) = random_below(worker, 8) ? ends_at_once : takes_its_time;
	pthread_t thread;

	switch ((enum way)random_below(worker, WAYS)) {
	case JOIN:
		join(worker, create(worker, NULL, run));
		break;
	case TRY:
		try_join(worker, create(worker, NULL, run));
		break;
	case TIMED:
		timed_join(worker, create(worker, NULL, run));
		break;
	case DETACH:
		thread = create(worker, NULL, run);
		if (random_below(worker, 2))
			sched_yield();
		if (pthread_detach(thread))
			abort();
		worker->detached++;
		break;
	case BORN_DETACHED:
		detached_by_attribute(worker);
		break;
	case SELF_DETACH:
		create(worker, NULL, detaches_itself);
		worker->detached++;
		break;
	case CANCEL:
		cancel(worker);
		break;
	case FORGET:
		if (random_below(worker, 8))
			break;
		if (random_below(worker, 2))
			forget_one(worker);
		else
			forget_other(worker);
		break;
	default:
		keep(worker);
	}
}

static void *work(void *argument)
{
	for (unsigned i = 0; i < ROUND / WORKERS; i++)
		one(argument);
	return NULL;
}

static unsigned alive(void)
{
	DIR *directory = opendir("/proc/self/task");
	unsigned count = 0;

	while (directory && readdir(directory))
		count++;
	if (directory)
		closedir(directory);
	return count - 2;
}

static void settle(void)
{
	struct timespec pause = {.tv_nsec = 20000000};

	while (alive() > 1)
		nanosleep(&pause, NULL);
	nanosleep(&pause, NULL);
}

static uint64_t extra_created, extra_joined;
static volatile sig_atomic_t enough;

static void some(void)
{
	pthread_t threads[WORKERS];

	for (unsigned i = 0; i < WORKERS; i++)
		pthread_create(&threads[i], NULL, work, &workers[i]);
	for (unsigned i = 0; i < WORKERS; i++)
		pthread_join(threads[i], NULL);
	extra_created += WORKERS;
	extra_joined += WORKERS;
	settle();
}

static void stop(int signal)
{
	enough = signal;
}

static void endless(void)
{
	for (enough = 0; !enough;)
		some();
}

static void report(void)
{
	struct worker sum = {.created = extra_created, .joined = extra_joined};
	uint64_t kept = 0;

	for (unsigned i = 0; i < WORKERS; i++) {
		sum.created += workers[i].created;
		sum.joined += workers[i].joined;
		sum.detached += workers[i].detached;
		sum.forgotten[0] += workers[i].forgotten[0];
		sum.forgotten[1] += workers[i].forgotten[1];
		kept += workers[i].kept_count;
	}
	say("{\"created\":%lu,\"joined\":%lu,\"detached\":%lu,\"dead\":%lu,\"kept\":%lu,"
	    "\"forget_one\":%lu,\"forget_other\":%lu}\n",
	    sum.created, sum.joined, sum.detached, sum.forgotten[0] + sum.forgotten[1] + kept, kept,
	    sum.forgotten[0], sum.forgotten[1]);
}

int main(int argc, char **argv)
{
	static const struct command commands[] = {
		{"some", some, false}, {"endless", endless, false}, {"truth", report, true}};
	static const struct truth none;

	for (unsigned i = 0; i < WORKERS; i++)
		workers[i].random = (unsigned)argument(argc, argv, 1, 1) * 7919 + i;
	signal(SIGUSR1, stop);
	return workload_serve(commands, ARRAY_SIZE(commands), &none);
}
