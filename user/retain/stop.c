// SPDX-License-Identifier: GPL-2.0-or-later
#include "retain/stop.h"

#include <ctype.h>
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>

#include "base/cleanup.h"

/* Threads can be born while we list them: as often as that we look again. */
#define MAX_ROUNDS 100
#define POLL_NS 50000
/* A thread in an uninterruptible call is waited for as long, to let it go. */
#define LATE_NS 200000000ull

uint64_t stop_clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static bool is_known(const struct stop *stop, pid_t tid)
{
	for (size_t i = stop->threads.count; i-- > 0;) {
		if (stop->threads.items[i].tid == tid)
			return true;
	}
	return false;
}

static int seize(struct stop *stop, pid_t tid)
{
	struct stopped_thread *thread;

	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL))
		return errno == ESRCH ? 0 : -errno;
	thread = vec_push(&stop->threads);
	if (!thread) {
		ptrace(PTRACE_DETACH, tid, NULL, NULL);
		return -ENOMEM;
	}
	thread->tid = tid;
	if (!stop->began_ns)
		stop->began_ns = stop_clock_ns();
	/* ESRCH: it is ending. waitpid() will tell. */
	ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
	return 0;
}

/* *added: how many threads were not known before. */
static int seize_listed(pid_t pid, struct stop *stop, size_t *added)
{
	_cleanup_closedir_ DIR *tasks = NULL;
	size_t before = stop->threads.count;
	struct dirent *entry;
	char path[64];
	int err = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	tasks = opendir(path);
	if (!tasks)
		return errno == ENOENT ? -ESRCH : -errno;
	while (!err && (entry = readdir(tasks))) {
		pid_t tid = isdigit((unsigned char)entry->d_name[0]) ? atoi(entry->d_name) : 0;

		if (tid && !is_known(stop, tid))
			err = seize(stop, tid);
	}
	*added = stop->threads.count - before;
	return err;
}

static void drop(struct stop *stop, size_t i)
{
	stop->threads.items[i] = stop->threads.items[--stop->threads.count];
}

/* 1: it stands, or is gone (then its place holds another one); 0: not yet. */
static int look_at(struct stop *stop, size_t i)
{
	struct stopped_thread *thread = &stop->threads.items[i];
	int status;
	pid_t got = waitpid(thread->tid, &status, __WALL | WNOHANG);

	if (!got || (got < 0 && errno == EINTR))
		return 0;
	if (got < 0 || !WIFSTOPPED(status)) {
		drop(stop, i);
		return 1;
	}
	thread->stopped = true;
	/* Not our interruption and no group stop: a signal on its way, which it gets later. */
	if (status >> 16 != PTRACE_EVENT_STOP)
		thread->signal = WSTOPSIG(status);
	return 1;
}

static int wait_for_all(struct stop *stop, uint64_t deadline_ns)
{
	const struct timespec pause = {.tv_nsec = POLL_NS};

	for (size_t i = 0; i < stop->threads.count;) {
		if (stop->threads.items[i].stopped) {
			i++;
		} else if (!look_at(stop, i)) {
			if (stop_clock_ns() > deadline_ns)
				return -ETIMEDOUT;
			nanosleep(&pause, NULL);
		}
	}
	return stop->threads.count ? 0 : -ESRCH;
}

static int read_registers(struct stopped_thread *thread)
{
	struct iovec general = {&thread->registers, sizeof(thread->registers)};
	struct user_fpregs_struct other = {0};
	struct iovec floating = {&other, sizeof(other)};

	if (ptrace(PTRACE_GETREGSET, thread->tid, NT_PRSTATUS, &general))
		return -errno;
	if (!ptrace(PTRACE_GETREGSET, thread->tid, NT_PRFPREG, &floating))
		memcpy(thread->vectors, other.xmm_space, sizeof(thread->vectors));
	return 0;
}

static int read_all_registers(struct stop *stop)
{
	for (size_t i = 0; i < stop->threads.count;) {
		/* Killed while it stood. */
		if (read_registers(&stop->threads.items[i]))
			drop(stop, i);
		else
			i++;
	}
	return stop->threads.count ? 0 : -ESRCH;
}

static int stop_all(pid_t pid, uint64_t deadline_ns, struct stop *stop)
{
	size_t added = 1;
	int err = 0;

	for (size_t round = 0; !err && added && round < MAX_ROUNDS; round++) {
		err = seize_listed(pid, stop, &added);
		if (!err)
			err = wait_for_all(stop, deadline_ns);
	}
	if (!err && added)
		err = -ETIMEDOUT;
	return err ? err : read_all_registers(stop);
}

int stop_process(pid_t pid, uint64_t deadline_ns, struct stop *stop)
{
	struct stop made = {0};
	int err = stop_all(pid, deadline_ns, &made);

	if (err) {
		stop_resume(&made);
		stop_free(&made);
		return err;
	}
	*stop = made;
	return 0;
}

/* Only a thread that stands can be let go: this one was told to stop, and will some day. */
static void release_late(struct stopped_thread *thread)
{
	const struct timespec pause = {.tv_nsec = POLL_NS};
	uint64_t deadline_ns = stop_clock_ns() + LATE_NS;
	int status;
	pid_t got;

	while (!(got = waitpid(thread->tid, &status, __WALL | WNOHANG)) &&
	       stop_clock_ns() < deadline_ns)
		nanosleep(&pause, NULL);
	if (got != thread->tid || !WIFSTOPPED(status))
		return;
	if (status >> 16 != PTRACE_EVENT_STOP)
		thread->signal = WSTOPSIG(status);
	thread->stopped = true;
	ptrace(PTRACE_DETACH, thread->tid, NULL, (void *)(intptr_t)thread->signal);
}

static void release_all_late(struct stop *stop)
{
	for (size_t i = 0; i < stop->threads.count; i++) {
		if (!stop->threads.items[i].stopped)
			release_late(&stop->threads.items[i]);
	}
}

void stop_resume(struct stop *stop)
{
	if (stop->ended_ns)
		return;
	for (size_t i = 0; i < stop->threads.count; i++) {
		struct stopped_thread *thread = &stop->threads.items[i];

		if (thread->stopped)
			ptrace(PTRACE_DETACH, thread->tid, NULL, (void *)(intptr_t)thread->signal);
	}
	stop->ended_ns = stop_clock_ns();
	release_all_late(stop);
}

void stop_free(struct stop *stop)
{
	/* What still has not come to a stop is let go by the kernel when we end. */
	release_all_late(stop);
	vec_free(&stop->threads);
}
