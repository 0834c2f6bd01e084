// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/proc/aside.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "binary/arch/machine.h"

/* Polls the result before the caller sleeps: a call takes microseconds, a sleep takes as long. */
#define SPINS 2000

enum aside_state { ASIDE_IDLE, ASIDE_ASKED, ASIDE_DONE, ASIDE_ENDED };

static void wake(struct aside *aside)
{
	syscall(SYS_futex, &aside->state, FUTEX_WAKE_PRIVATE, INT_MAX);
}

static long own_call(struct aside *aside, long number, long first, long second, long third)
{
	aside->own_arguments[0] = first;
	aside->own_arguments[1] = second;
	aside->own_arguments[2] = third;
	return machine_system_call(number, aside->own_arguments);
}

/*
 * Must not use errno, or any other thread-local of its creator; nor an array, whose stack a
 * sanitizer would poison for good when the process is killed in the middle.
 */
static int serve(void *context)
{
	static const char title[] = "leakmon-reader";
	struct aside *aside = context;
	long state = (long)&aside->state;

	own_call(aside, SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0);
	if (own_call(aside, SYS_getppid, 0, 0, 0) != aside->parent)
		return 0;
	own_call(aside, SYS_prctl, PR_SET_NAME, (long)title, 0);
	/* A signal to a whole process group must not end or stop this one. */
	own_call(aside, SYS_setsid, 0, 0, 0);
	for (;;) {
		uint32_t seen = atomic_load(&aside->state);

		if (seen != ASIDE_ASKED) {
			own_call(aside, SYS_futex, state, FUTEX_WAIT_PRIVATE, seen);
			continue;
		}
		aside->result = machine_system_call(aside->number, aside->arguments);
		atomic_store(&aside->state, ASIDE_DONE);
		own_call(aside, SYS_futex, state, FUTEX_WAKE_PRIVATE, INT_MAX);
	}
	return 0;
}

static int start(struct aside *aside)
{
	sigset_t all, before;
	pid_t pid;

	aside->parent = getpid();
	atomic_store(&aside->state, ASIDE_IDLE);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	/* It sends no signal when it ends, and no other wait collects it. */
	pid = clone(serve, aside->stack + sizeof(aside->stack), CLONE_VM | CLONE_FILES, aside);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (pid < 0)
		return -errno;
	atomic_store(&aside->pid, pid);
	return 0;
}

int aside_call(struct aside *aside, long number, const long arguments[6], long *result)
{
	int error = atomic_load(&aside->pid) ? 0 : start(aside);
	uint32_t state = ASIDE_ASKED;

	if (error)
		return error;
	aside->number = number;
	for (int i = 0; i < 6; i++)
		aside->arguments[i] = arguments[i];
	atomic_store(&aside->state, ASIDE_ASKED);
	wake(aside);
	for (int i = 0; i < SPINS && state == ASIDE_ASKED; i++)
		state = atomic_load_explicit(&aside->state, memory_order_acquire);
	while ((state = atomic_load(&aside->state)) == ASIDE_ASKED)
		syscall(SYS_futex, &aside->state, FUTEX_WAIT_PRIVATE, ASIDE_ASKED, NULL, NULL, 0);
	*result = aside->result;
	return state == ASIDE_DONE ? 0 : -ECHILD;
}

void aside_kill(struct aside *aside)
{
	pid_t pid = atomic_load(&aside->pid);

	if (pid)
		kill(pid, SIGKILL);
}

void aside_end(struct aside *aside)
{
	pid_t pid = atomic_exchange(&aside->pid, 0);

	if (pid && !kill(pid, SIGKILL))
		while (waitpid(pid, NULL, __WALL) < 0 && errno == EINTR)
			;
}

bool aside_look(struct aside *aside)
{
	pid_t pid = atomic_load(&aside->pid);
	uint32_t asked = ASIDE_ASKED;

	if (atomic_load(&aside->state) != ASIDE_ASKED)
		return false;
	if (pid && !waitpid(pid, NULL, WNOHANG | __WALL))
		return true;
	/* It has ended, whoever noticed first. */
	atomic_store(&aside->pid, 0);
	if (atomic_compare_exchange_strong(&aside->state, &asked, ASIDE_ENDED))
		wake(aside);
	return false;
}
