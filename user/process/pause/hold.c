// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/pause/hold.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fatal_signal.h"
#include "base/page.h"
#include "process/proc/maps.h"

#define NS_PER_MS 1000000ull
#define PAUSE_NS_PER_GIB (100 * NS_PER_MS)
#define PAUSE_MIN_NS (100 * NS_PER_MS)
#define HOLDER_STACK_BYTES (1u << 20)
/* Reading ends this long before the tracer resumes the process. */
#define READ_EARLIER_NS (2 * NS_PER_MS)

/* Linux 5.14; missing in older headers. */
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif

struct holder {
	struct hold *hold;
	int error;
};

/*
 * Other processes must not prolong the pause, not even by the CPU share that nice leaves them.
 * Without the right to do so, the priority stays. Helper threads get nice only: they use all CPUs.
 */
static void go_first(void)
{
	const struct sched_param lowest = {.sched_priority = sched_get_priority_min(SCHED_RR)};

	setpriority(PRIO_PROCESS, 0, -20);
	sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &lowest);
}

/*
 * Absent pages of leakmon's own program and libraries would be read from a disk, or over a network,
 * during the stop. May fail.
 */
static void load_own_files(void)
{
	_cleanup_(maps_free) struct maps maps = {0};

	if (maps_read(getpid(), MAPS_ALL, &maps))
		return;
	for (size_t i = 0; i < maps.list.count; i++) {
		const struct mapping *mapping = &maps.list.items[i];

		if (mapping->inode && mapping->readable && !mapping->shared)
			madvise((void *)(uintptr_t)mapping->start, mapping->end - mapping->start,
				MADV_POPULATE_READ);
	}
}

/*
 * Runs on a separate, high-priority thread. It must not wait for others: no output (messages come
 * later).
 */
static void *hold_and_read(void *argument)
{
	struct holder *holder = argument;
	struct hold *hold = holder->hold;
	struct deadline deadline;
	int error;

	go_first();
	holder->error = tracer_stop(hold->tracer, hold->pid, hold->max_pause_ns, &hold->stop);
	hold->stood = !holder->error;
	if (holder->error)
		return NULL;
	deadline = (struct deadline){.at_ns = hold->stop.resume_ns -
					      MIN(hold->max_pause_ns / 20, READ_EARLIER_NS)};
	holder->error = hold->read(hold->context, &hold->stop, &deadline);
	error = tracer_resume(hold->tracer, &hold->stop);
	if (error && (!holder->error || error != -ETIMEDOUT))
		holder->error = error;
	return NULL;
}

int hold_process(struct hold *hold)
{
	FATAL_SIGNAL_PHASE("it stops a process to read its heap");
	struct holder holder = {.hold = hold};
	pthread_attr_t attributes;
	pthread_t thread;
	int error;

	hold->stood = false;
	if (!hold->tracer->pid)
		return -EAGAIN;
	load_own_files();
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, HOLDER_STACK_BYTES);
	error = pthread_create(&thread, &attributes, hold_and_read, &holder);
	pthread_attr_destroy(&attributes);
	if (!error)
		pthread_join(thread, NULL);
	tracer_end(hold->tracer);
	return error ? -EAGAIN : holder.error;
}

const char *hold_why_not(int error)
{
	if (error == -EPERM)
		return "the kernel refuses to stop it (a debugger traces it, or yama forbids)";
	if (error == -ETIMEDOUT)
		return "a thread is in an uninterruptible call, or stopping all took longer than "
		       "--max-pause allows";
	if (error == -EAGAIN)
		return "there can be no process beside leakmon that stops it, or that process is "
		       "gone";
	if (error == -ECANCELED)
		return "leakmon was stopped (Ctrl-Z, SIGSTOP) during the pause";
	return "stopping it failed";
}

uint64_t hold_limit_ns(uint64_t given_ns, uint64_t writable_bytes)
{
	/* Reserved memory is not resident. */
	double bytes =
		fmin((double)writable_bytes, (double)sysconf(_SC_PHYS_PAGES) * (double)page_size());
	uint64_t scaled = (uint64_t)(bytes / (1 << 30) * PAUSE_NS_PER_GIB);

	return given_ns ? given_ns : MAX(scaled, PAUSE_MIN_NS);
}
