// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Threads of every kind that a monitor can find when it comes late.
 *
 *   older DEAD [small]    DEAD threads end unjoined before `ready`; small: on stacks of 16 KiB
 *
 * Beside them: 8 that live, of which 3 are detached; 20 dead on stacks of the program's own; 10
 * that were joined, 10 that ended detached, and a stack that was used many times.
 *
 *   release    the living ones end            join       the 20 are joined
 *   crowd      2,000 more end unjoined        truth      what is dead now, by start routine
 *   fork       a child without threads
 *   run_in_a_circle, lead_nowhere, lead_to_what_is_no_thread    breaks its own list of threads
 *
 * The list is found as a debugger finds it, through the descriptors that glibc exports; once it is
 * broken no thread may be made or joined.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>

#include "workload.h"

#define LIVING 8
#define DETACHED 3
#define GIVEN 20
#define GIVEN_BYTES (64 << 10)
#define CROWD 2000

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static pthread_t given[GIVEN], forgotten;
static uint64_t dead_quick, dead_given, dead_living;

SITE static void *ends_quickly(void *argument)
{
	return argument;
}

SITE static void *ends_on_given_stack(void *argument)
{
	return OPAQUE(argument);
}

SITE static void *lives_on(void *argument)
{
	pthread_mutex_lock(&gate);
	pthread_mutex_unlock(&gate);
	return argument;
}

SITE static void *detaches_itself(void *argument)
{
	pthread_detach(pthread_self());
	return argument;
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

static void settle(unsigned living)
{
	const struct timespec pause = {.tv_nsec = 1000000};

	while (alive() > living)
		nanosleep(&pause, NULL);
}

static pthread_t create(const pthread_attr_t *attr, void *(*run)(void *))
{
	const struct timespec pause = {.tv_nsec = 1000000};
	pthread_t thread;

	while (pthread_create(&thread, attr, run, NULL))
		nanosleep(&pause, NULL);
	return thread;
}

static void create_dead(uint64_t count, bool small)
{
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	if (small) {
		pthread_attr_setguardsize(&attr, 0);
		pthread_attr_setstacksize(&attr, 16 << 10);
	}
	for (uint64_t i = 0; i < count; i++)
		forgotten = create(&attr, ends_quickly);
	dead_quick += count;
	pthread_attr_destroy(&attr);
}

static void create_given(void)
{
	pthread_attr_t attr;
	char *stacks = mmap(NULL, GIVEN * GIVEN_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	pthread_attr_init(&attr);
	for (unsigned i = 0; i < GIVEN; i++) {
		pthread_attr_setstack(&attr, stacks + i * GIVEN_BYTES, GIVEN_BYTES);
		given[i] = create(&attr, ends_on_given_stack);
	}
	dead_given = GIVEN;
	pthread_attr_destroy(&attr);
}

static void create_gone(void)
{
	for (unsigned i = 0; i < 10; i++)
		pthread_join(create(NULL, ends_quickly), NULL);
	for (unsigned i = 0; i < 10; i++)
		create(NULL, detaches_itself);
	settle(1);
}

static void create_living(void)
{
	pthread_mutex_lock(&gate);
	for (unsigned i = 0; i < LIVING; i++) {
		pthread_t thread = create(NULL, lives_on);

		if (i < DETACHED)
			pthread_detach(thread);
	}
}

static void release(void)
{
	pthread_mutex_unlock(&gate);
	settle(1);
	dead_living = LIVING - DETACHED;
}

static void join(void)
{
	for (unsigned i = 0; i < GIVEN; i++)
		pthread_join(given[i], NULL);
	dead_given = 0;
}

static void crowd(void)
{
	unsigned living = alive();

	create_dead(CROWD, true);
	settle(living);
}

static void make_child(void)
{
	pid_t child = fork();

	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pause();
		_exit(0);
	}
	say("{\"pid\":%d}\n", child);
}

static void report(void)
{
	say("{\"dead\":%lu,\"ends_quickly\":%lu,\"ends_on_given_stack\":%lu,\"lives_on\":%lu}\n",
	    dead_quick + dead_given + dead_living, dead_quick, dead_given, dead_living);
}

/* -------- damage */

struct node {
	struct node *next, *prev;
};

static struct node *node_of_forgotten(void)
{
	const uint32_t *list = dlsym(RTLD_DEFAULT, "_thread_db_pthread_list");

	if (!list)
		abort();
	return (struct node *)((uintptr_t)forgotten + list[2]);
}

static void run_in_a_circle(void)
{
	struct node *node = node_of_forgotten();

	node->next->next = node;
	node->prev = node->next;
}

static void lead_nowhere(void)
{
	node_of_forgotten()->next = (struct node *)0x123456789000;
}

static void lead_to_what_is_no_thread(void)
{
	static struct {
		char before[4096];
		struct node node;
	} __attribute__((aligned(64))) fake;
	struct node *node = node_of_forgotten();
	struct node *lie = (struct node *)(fake.before + ((uintptr_t)node & 63) + 2048);

	lie->prev = node;
	lie->next = node->next;
	node->next = lie;
}

int main(int argc, char **argv)
{
	static const struct command commands[] = {
		{"release", release, false},
		{"join", join, false},
		{"crowd", crowd, false},
		{"truth", report, true},
		{"fork", make_child, true},
		{"run_in_a_circle", run_in_a_circle, false},
		{"lead_nowhere", lead_nowhere, false},
		{"lead_to_what_is_no_thread", lead_to_what_is_no_thread, false},
	};
	static const struct truth none;

	create_gone();
	create_given();
	create_dead(argument(argc, argv, 1, 100), argc > 2);
	settle(1);
	create_living();
	return workload_serve(commands, ARRAY_SIZE(commands), &none);
}
