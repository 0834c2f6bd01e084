// SPDX-License-Identifier: GPL-2.0-or-later
#include "proc/stuck_read.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/exit_code.h"
#include "base/fatal_signal.h"
#include "base/interrupt.h"
#include "base/log.h"

/* Threads that read at once; of more, some are not watched. */
#define SLOTS 16
#define TICK_NS 250000000
#define TICKS_PER_SECOND 4
#define LIMIT_SECONDS 30
#define WATCHER_STACK_BYTES (256u << 10)

struct slot {
	atomic_int task;    /* that is read; 0: free */
	atomic_uint reads;  /* begun so far */
	unsigned int seen;  /* the watcher's: at its last tick */
	unsigned int ticks; /* the watcher's: since that one began */
	char padding_[64 - 4 * sizeof(int)];
};

static struct {
	pthread_once_t once;
	atomic_uint is_awake; /* a futex: the watcher looks at every tick */
	unsigned int limit_ticks;
	_Alignas(64) struct slot slots[SLOTS];
} state = {.once = PTHREAD_ONCE_INIT, .limit_ticks = LIMIT_SECONDS * TICKS_PER_SECOND};

static _Noreturn void give_up(pid_t task)
{
	/* Of top: the message goes to the terminal. */
	fatal_signal_act_last();
	log_error("reading the memory of process %d has not ended for %u s: its pages are on a "
		  "userfaultfd or a FUSE file system that does not answer; leave it out, or end it",
		  task, state.limit_ticks / TICKS_PER_SECOND);
	interrupt_end(EXIT_ERROR);
}

/* Ticks are counted, not timed: if the machine or leakmon stood still, the reader did, too. */
static bool look_at_slots(void)
{
	bool any = false;

	for (size_t i = 0; i < SLOTS; i++) {
		struct slot *slot = &state.slots[i];
		unsigned int reads = atomic_load(&slot->reads);
		pid_t task = atomic_load(&slot->task);

		slot->ticks = task && reads == slot->seen ? slot->ticks + 1 : 0;
		any |= task || reads != slot->seen;
		slot->seen = reads;
		if (slot->ticks > state.limit_ticks)
			give_up(task);
	}
	return any;
}

static void *watch(void *unused)
{
	(void)unused;
	for (;;) {
		clock_nanosleep(CLOCK_MONOTONIC, 0, &(struct timespec){.tv_nsec = TICK_NS}, NULL);
		if (look_at_slots())
			continue;
		/* A read that begins from here on wakes it. */
		atomic_store(&state.is_awake, 0);
		if (!look_at_slots())
			syscall(SYS_futex, &state.is_awake, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
		atomic_store(&state.is_awake, 1);
	}
	return NULL;
}

/* Without it reads are not watched. */
static void start_watcher(void)
{
	pthread_attr_t attributes;
	sigset_t all, before;
	pthread_t thread;

	atomic_store(&state.is_awake, 1);
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, WATCHER_STACK_BYTES);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (pthread_create(&thread, &attributes, watch, NULL))
		log_debug("no thread: a read that never ends would not be noticed");
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
}

int stuck_read_begin(pid_t task)
{
	int errno_before = errno;

	pthread_once(&state.once, start_watcher);
	for (int i = 0; i < SLOTS; i++) {
		struct slot *slot = &state.slots[i];
		int none = 0;

		if (atomic_load_explicit(&slot->task, memory_order_relaxed) ||
		    !atomic_compare_exchange_strong(&slot->task, &none, task))
			continue;
		atomic_fetch_add(&slot->reads, 1);
		if (!atomic_load(&state.is_awake) && !atomic_exchange(&state.is_awake, 1))
			syscall(SYS_futex, &state.is_awake, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
		errno = errno_before;
		return i;
	}
	return -1;
}

void stuck_read_step(int slot)
{
	if (slot >= 0)
		atomic_fetch_add(&state.slots[slot].reads, 1);
}

void stuck_read_end(const int *slot)
{
	if (*slot >= 0)
		atomic_store_explicit(&state.slots[*slot].task, 0, memory_order_release);
}

void stuck_read_limit(unsigned int seconds)
{
	state.limit_ticks = seconds * TICKS_PER_SECOND;
}
