// SPDX-License-Identifier: GPL-2.0-or-later
#include "pause/stop.h"

#include <ctype.h>
#include <elf.h>
#include <errno.h>
#include <linux/filter.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "pause/interrupted_call.h"
#include "pause/pause_guard.h"
#include "proc/process_list.h"

/* Threads can be born while we list them: as often as that we look again. */
#define MAX_ROUNDS 100
#define POLL_NS 50000
/* Letting a thread go takes about as long; of a pause, at most half is kept for that. */
#define RESUME_NS 5000ull
/* How long those are waited for that have been told to stop, but have not, once all others run. */
#define STRAGGLERS_NS 100000000ull

/*
 * A thread in an uninterruptible call does not stop, and all others would stand in vain until time
 * is up. That of a disk is over soon; others are not: of one that waits for its vfork child, or is
 * frozen by a control group, v1. So many are looked at, and so long they are waited for.
 */
#define STATES_MAX 256
#define STATE_STEPS 20
#define STATE_STEP_NS 1000000

/* A thread that has ended is listed until its parent, or the last other one, takes note. */
static bool has_ended(pid_t pid, pid_t tid)
{
	char state = process_task_state(pid, tid);

	return !state || state == 'Z' || state == 'X';
}

static int seize(pid_t pid, pid_t tid, struct stop *stop)
{
	struct stopped_thread *thread;
	bool fresh;

	if (!hash_put(&stop->known, (uint64_t)tid, &fresh))
		return -ENOMEM;
	if (!fresh)
		return 0;
	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL)) {
		int error = -errno;

		return error == -ESRCH || (error == -EPERM && has_ended(pid, tid)) ? 0 : error;
	}
	thread = vec_push(&stop->threads);
	if (!thread) {
		ptrace(PTRACE_DETACH, tid, NULL, NULL);
		return -ENOMEM;
	}
	thread->tid = tid;
	return 0;
}

/* *added: how many threads were not known before. */
static int seize_listed(pid_t pid, struct deadline *deadline, struct stop *stop, size_t *added)
{
	_cleanup_closedir_ DIR *tasks = NULL;
	size_t before = stop->threads.count;
	struct dirent *entry;
	char path[64];
	int error = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	tasks = opendir(path);
	if (!tasks)
		return errno == ENOENT ? -ESRCH : -errno;
	while (!error && (entry = readdir(tasks))) {
		pid_t tid = isdigit((unsigned char)entry->d_name[0]) ? atoi(entry->d_name) : 0;

		if (deadline_has_passed(deadline))
			error = -ETIMEDOUT;
		else if (tid)
			error = seize(pid, tid, stop);
	}
	*added = stop->threads.count - before;
	return error;
}

/* Seized threads run on: only from here on they stand. */
static void interrupt_all(struct stop *stop)
{
	for (size_t i = 0; i < stop->threads.count; i++) {
		struct stopped_thread *thread = &stop->threads.items[i];

		/* ESRCH: it is ending. waitpid() will tell. */
		if (!thread->interrupted)
			ptrace(PTRACE_INTERRUPT, thread->tid, NULL, NULL);
		thread->interrupted = true;
	}
}

static void drop(struct stop *stop, size_t i)
{
	stop->threads.items[i] = stop->threads.items[--stop->threads.count];
}

static int read_registers(struct stopped_thread *thread)
{
	struct user_fpregs_struct other = {0};
	struct iovec floating = {&other, sizeof(other)};

	/* In the tracer's layout, also of a 32-bit program. */
	if (ptrace(PTRACE_GETREGS, thread->tid, NULL, &thread->registers))
		return -errno;
	if (!ptrace(PTRACE_GETREGSET, thread->tid, NT_PRFPREG, &floating))
		memcpy(thread->vectors, other.xmm_space, sizeof(thread->vectors));
	return 0;
}

/*
 * 1: it stands; -ESRCH: it is gone; 0: not yet. What we interrupted is mended here, and not when it
 * goes on, since nobody asks us then if we are killed.
 */
static int look_at(struct stop *stop, struct stopped_thread *thread)
{
	int status;
	pid_t got = waitpid(thread->tid, &status, __WALL | WNOHANG);

	if (!got || (got < 0 && errno == EINTR))
		return 0;
	if (got < 0 || !WIFSTOPPED(status))
		return -ESRCH;
	/* Not our interruption and no group stop: a signal on its way, which it gets later. */
	if (status >> 16 != PTRACE_EVENT_STOP)
		thread->signal = WSTOPSIG(status);
	/* Killed while it stood. */
	if (read_registers(thread))
		return -ESRCH;
	thread->stopped = true;
	/* A group stop is not our doing. */
	if ((thread->signal || WSTOPSIG(status) == SIGTRAP) &&
	    interrupted_call_mend(thread->tid, &thread->registers, stop->program) > 0)
		stop->repeated++;
	return 1;
}

static int wait_for_all(struct stop *stop, struct deadline *deadline, uint64_t seized_ns)
{
	const struct timespec pause = {.tv_nsec = POLL_NS};
	int stands;

	for (size_t i = 0; i < stop->threads.count;) {
		if (deadline_has_passed(deadline))
			return -ETIMEDOUT;
		if (stop->threads.items[i].stopped) {
			i++;
			continue;
		}
		stands = look_at(stop, &stop->threads.items[i]);
		if (stands < 0)
			drop(stop, i);
		else if (!stands)
			nanosleep(&pause, NULL);
		else if (stop->threads.items[i].signal)
			stop->began_ns = seized_ns;
	}
	return stop->threads.count ? 0 : -ESRCH;
}

/* Seizes until no thread is new: what takes long with many threads is done while they run. */
static int seize_all(pid_t pid, struct deadline *deadline, struct stop *stop)
{
	size_t added = 1;
	int error = 0;

	for (size_t round = 0; !error && added && round < MAX_ROUNDS; round++)
		error = seize_listed(pid, deadline, stop, &added);
	if (error)
		return error;
	return stop->threads.count ? 0 : -ESRCH;
}

/* Threads that were born meanwhile are found when those that could make more stand. */
static int interrupt_until_stable(pid_t pid, struct deadline *deadline, uint64_t seized_ns,
				  struct stop *stop)
{
	size_t added = 1;
	int error = 0;

	for (size_t round = 0; !error && added && round < MAX_ROUNDS; round++) {
		interrupt_all(stop);
		error = wait_for_all(stop, deadline, seized_ns);
		if (!error)
			error = seize_listed(pid, deadline, stop, &added);
	}
	return error ? error : added ? -ETIMEDOUT : 0;
}

/* Before anything is seized: one that is told to stop in such a call might fail with EINTR after
 * it, when we have long given up. */
static bool is_uninterruptible(pid_t pid)
{
	const struct timespec pause = {.tv_nsec = STATE_STEP_NS};
	_cleanup_closedir_ DIR *tasks = NULL;
	size_t looked = 0, steps = 0;
	struct dirent *entry;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	tasks = opendir(path);
	while (tasks && looked < STATES_MAX && (entry = readdir(tasks))) {
		pid_t tid = isdigit((unsigned char)entry->d_name[0]) ? atoi(entry->d_name) : 0;

		for (; tid && process_task_state(pid, tid) == 'D'; nanosleep(&pause, NULL)) {
			if (steps++ == STATE_STEPS)
				return true;
		}
		looked += tid != 0;
	}
	return false;
}

int stop_process(pid_t pid, uint64_t max_pause_ns, struct pause_guard *guard, struct stop *stop)
{
	struct deadline deadline;
	uint64_t seized_ns;
	int error;

	*stop = (struct stop){.guard = guard};
	if (is_uninterruptible(pid))
		return -ETIMEDOUT;
	stop->program = calloc(BPF_MAXINSNS, sizeof(*stop->program));
	if (!stop->program)
		return -ENOMEM;
	seized_ns = monotonic_ns();
	deadline = (struct deadline){.at_ns = seized_ns + max_pause_ns};
	pause_guard_watch(guard, deadline.at_ns);
	error = seize_all(pid, &deadline, stop);
	if (!error) {
		stop->began_ns = monotonic_ns();
		pause_guard_watch(guard, stop->began_ns + max_pause_ns);
		stop->resume_ns = stop->began_ns + max_pause_ns -
				  MIN(stop->threads.count * RESUME_NS, max_pause_ns / 2);
		deadline = (struct deadline){.at_ns = stop->resume_ns};
		error = interrupt_until_stable(pid, &deadline, seized_ns, stop);
	}
	if (error)
		stop_resume(stop);
	return error;
}

static void let_go(const struct stopped_thread *thread)
{
	ptrace(PTRACE_DETACH, thread->tid, NULL, (void *)(intptr_t)thread->signal);
}

/*
 * Those that were told to stop and have not, once all others run: when they do, a call of theirs
 * may have to be mended. If they are in an uninterruptible one, the kernel lets go of them when our
 * thread ends.
 */
static void await_stragglers(struct stop *stop)
{
	const struct timespec pause = {.tv_nsec = POLL_NS};
	struct deadline deadline = {.at_ns = monotonic_ns() + STRAGGLERS_NS};
	size_t left = 1;

	while (left && !deadline_has_passed(&deadline)) {
		left = 0;
		for (size_t i = 0; i < stop->threads.count; i++) {
			struct stopped_thread *thread = &stop->threads.items[i];

			if (!thread->interrupted || thread->stopped)
				continue;
			if (look_at(stop, thread) > 0)
				let_go(thread);
			else
				left++;
		}
		if (left)
			nanosleep(&pause, NULL);
	}
}

void stop_resume(struct stop *stop)
{
	bool all = true;

	if (stop->ended_ns)
		return;
	for (size_t i = 0; i < stop->threads.count; i++) {
		struct stopped_thread *thread = &stop->threads.items[i];

		if (thread->stopped || look_at(stop, thread) > 0)
			let_go(thread);
		all = all && thread->stopped;
	}
	if (stop->began_ns)
		stop->ended_ns = monotonic_ns();
	if (!all)
		await_stragglers(stop);
	pause_guard_watch(stop->guard, 0);
}

void stop_free(struct stop *stop)
{
	vec_free(&stop->threads);
	hash_free(&stop->known);
	free(stop->program);
	stop->program = NULL;
}
