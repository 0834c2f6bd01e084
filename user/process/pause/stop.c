// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/pause/stop.h"

#include <errno.h>
#include <linux/filter.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "binary/arch/system_call.h"
#include "process/pause/seccomp_filter.h"
#include "process/proc/process_list.h"

/* Values that a call returns inside the kernel (include/linux/errno.h). */
#define ERESTART_RESTARTBLOCK 516

/*
 * Returns whether the thread has any filter, for kernels that do not show filters. True also if
 * unknown.
 */
static bool has_filter(pid_t tid)
{
	_cleanup_fclose_ FILE *file = NULL;
	char path[64], line[256];
	int mode;

	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "Seccomp: %d", &mode) == 1)
			return mode != 0;
	}
	return true;
}

/* Returns whether every filter of the thread allows restart_syscall(2). */
static bool may_go_on(pid_t tid, const struct machine_registers *registers, uint32_t architecture,
		      struct sock_filter *program)
{
	const struct seccomp_data call = system_call_restart(registers, architecture);

	for (long i = 0;; i++) {
		long count = ptrace(PTRACE_SECCOMP_GET_FILTER, tid, i, NULL);

		if (count < 0 && (errno == ENOENT || (errno == EINVAL && !i)))
			return true;
		/* Without CAP_SYS_ADMIN, or CONFIG_CHECKPOINT_RESTORE. */
		if (count < 0)
			return !has_filter(tid);
		if (count > BPF_MAXINSNS ||
		    ptrace(PTRACE_SECCOMP_GET_FILTER, tid, i, program) != count ||
		    !seccomp_filter_allows(program, (size_t)count, &call))
			return false;
	}
}

/* Returns AUDIT_ARCH_...; 0: unknown. */
static uint32_t architecture_of(pid_t tid)
{
	struct __ptrace_syscall_info info = {0};

	if (ptrace(PTRACE_GET_SYSCALL_INFO, tid, sizeof(info), &info) < 0)
		return 0;
	return info.arch;
}

static bool is_mended(pid_t tid, const struct machine_registers *registers, uint32_t architecture,
		      struct sock_filter *program)
{
	switch (system_call_result(registers, architecture)) {
	case -EINTR:
		return system_call_can_be_repeated(architecture, system_call_number(registers));
	case -ERESTART_RESTARTBLOCK:
		return !may_go_on(tid, registers, architecture, program);
	default:
		return false;
	}
}

/*
 * For a stopped thread (ptrace(2)), with its registers. `program` has room for BPF_MAXINSNS
 * instructions. Returns 1: its call will restart; 0: nothing to do; -errno: it failed.
 */
static int interrupted_call_mend(const struct stopped_thread *thread, struct sock_filter *program)
{
	const struct machine_registers *registers = &thread->registers;
	pid_t tid = thread->tid;
	uint32_t architecture;
	int error;

	/* Most threads are in no such call. */
	if (!system_call_may_return(registers, -EINTR) &&
	    !system_call_may_return(registers, -ERESTART_RESTARTBLOCK))
		return 0;
	architecture = architecture_of(tid);
	if (!architecture)
		return -ENOTSUP;
	if (!is_mended(tid, registers, architecture, program))
		return 0;
	error = system_call_begin_again(tid, registers, &thread->before);
	return error ? error : 1;
}

/* Threads may be created during the listing: the number of further passes. */
#define MAX_ROUNDS 100
#define POLL_NS 50000
/* Time to resume one thread; at most half of a pause is reserved for that. */
#define RESUME_NS 5000ull
/*
 * How long to wait for threads that have not stopped yet, once all others run: for those in an
 * uninterruptible call; for those that only lack CPU time.
 */
#define UNINTERRUPTIBLE_NS 100000000ull
#define STARVED_NS 30000000000ull
#define STRAGGLER_POLL_NS 500000

/*
 * A thread in an uninterruptible call does not stop, and all others would be stopped in vain until
 * the deadline. Disk waits are short; others are not: of a thread that waits for its vfork child,
 * or is frozen by a control group, v1. Limits of the threads checked, and of the wait.
 */
#define STATES_MAX 256
#define STATE_STEPS 20
#define STATE_STEP_NS 1000000

/* An ended thread is listed until its parent, or the last other thread, reaps it. */
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
	thread->before.number = -1;
	return 0;
}

/* *added: the number of new threads. */
static int seize_listed(pid_t pid, struct deadline *deadline, struct stop *stop, size_t *added)
{
	_cleanup_closedir_ DIR *tasks = process_tasks_open(pid);
	size_t before = stop->threads.count;
	int error = 0;
	pid_t tid;

	if (!tasks)
		return errno == ENOENT ? -ESRCH : -errno;
	while (!error && (tid = process_tasks_next(tasks)))
		error = deadline_has_passed(deadline) ? -ETIMEDOUT : seize(pid, tid, stop);
	*added = stop->threads.count - before;
	return error;
}

/* Seized threads run on: the stop begins here. */
static void interrupt_all(struct stop *stop)
{
	for (size_t i = 0; i < stop->threads.count; i++) {
		struct stopped_thread *thread = &stop->threads.items[i];

		/* ESRCH: it is ending; waitpid() will report it. */
		if (!thread->interrupted) {
			system_call_before(thread->tid, &thread->before);
			ptrace(PTRACE_INTERRUPT, thread->tid, NULL, NULL);
		}
		thread->interrupted = true;
	}
}

static void drop(struct stop *stop, size_t i)
{
	stop->threads.items[i] = stop->threads.items[--stop->threads.count];
}

/*
 * Returns 1: stopped; -ESRCH: gone; 0: not yet. An interrupted call is mended here, not at the
 * resume, which the kernel does without us if we are killed.
 */
static int look_at(struct stop *stop, struct stopped_thread *thread)
{
	int status;
	pid_t got = waitpid(thread->tid, &status, __WALL | WNOHANG);

	if (!got || (got < 0 && errno == EINTR))
		return 0;
	if (got < 0 || !WIFSTOPPED(status))
		return -ESRCH;
	/*
	 * Neither our interruption nor a group stop: a signal in delivery, which is passed on
	 * later.
	 */
	if (status >> 16 != PTRACE_EVENT_STOP)
		thread->signal = WSTOPSIG(status);
	/* Killed during the stop. */
	if (machine_registers_read(thread->tid, &thread->registers))
		return -ESRCH;
	thread->stopped = true;
	/* A group stop is not ours. */
	if ((thread->signal || WSTOPSIG(status) == SIGTRAP) &&
	    interrupted_call_mend(thread, stop->program) > 0) {
		thread->repeats = true;
		stop->repeated++;
	}
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

/* Seizes until no thread is new: with many threads, the slow part is done while they run. */
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

/* Threads created meanwhile are found once all possible creators are stopped. */
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

/*
 * Before anything is seized: a thread stopped in such a call might fail with EINTR after it, long
 * after the attempt was given up.
 */
static bool is_uninterruptible(pid_t pid)
{
	const struct timespec pause = {.tv_nsec = STATE_STEP_NS};
	_cleanup_closedir_ DIR *tasks = process_tasks_open(pid);
	size_t looked = 0, steps = 0;
	pid_t tid;

	while (looked++ < STATES_MAX && (tid = process_tasks_next(tasks))) {
		for (; process_task_state(pid, tid) == 'D'; nanosleep(&pause, NULL)) {
			if (steps++ == STATE_STEPS)
				return true;
		}
	}
	return false;
}

int stop_process(pid_t pid, uint64_t max_pause_ns, struct stop *stop)
{
	struct deadline deadline;
	uint64_t seized_ns;
	int error;

	*stop = (struct stop){0};
	if (is_uninterruptible(pid))
		return -ETIMEDOUT;
	stop->program = calloc(BPF_MAXINSNS, sizeof(*stop->program));
	if (!stop->program)
		return -ENOMEM;
	seized_ns = monotonic_ns();
	deadline = (struct deadline){.at_ns = seized_ns + max_pause_ns};
	error = seize_all(pid, &deadline, stop);
	if (!error) {
		stop->began_ns = monotonic_ns();
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
	if (thread->repeats)
		system_call_let_go(thread->tid, &thread->registers);
	ptrace(PTRACE_DETACH, thread->tid, NULL, (void *)(intptr_t)thread->signal);
}

/* Returns whether it may still stop. */
static bool is_awaited(struct stop *stop, struct stopped_thread *thread, bool is_late)
{
	int stands;

	if (!thread->interrupted || thread->stopped)
		return false;
	stands = look_at(stop, thread);
	if (stands > 0)
		let_go(thread);
	else if (stands < 0)
		thread->interrupted = false; /* it is gone */
	return !stands && !(is_late && process_task_state(thread->tid, thread->tid) == 'D');
}

/*
 * Waits for late threads, once all others run: when they stop, a call of theirs may need mending.
 * The kernel releases those in an uninterruptible call when this thread ends; any other would then
 * fail with EINTR if it got the CPU too late.
 */
static void await_stragglers(struct stop *stop)
{
	const struct timespec pause = {.tv_nsec = STRAGGLER_POLL_NS};
	uint64_t began_ns = monotonic_ns();
	struct deadline late = {.at_ns = began_ns + UNINTERRUPTIBLE_NS};
	struct deadline last = {.at_ns = began_ns + STARVED_NS};
	size_t left = 1;

	while (left && !deadline_has_passed(&last)) {
		bool is_late = deadline_has_passed(&late);

		left = 0;
		for (size_t i = 0; i < stop->threads.count; i++)
			left += is_awaited(stop, &stop->threads.items[i], is_late);
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
}

void stop_free(struct stop *stop)
{
	vec_free(&stop->threads);
	hash_free(&stop->known);
	free(stop->program);
	stop->program = NULL;
}
