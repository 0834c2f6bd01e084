// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/proc/stuck_read.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/exit_code.h"
#include "base/fatal_signal.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "binary/arch/machine.h"
#include "process/proc/aside.h"
#include "process/proc/process_list.h"

/* Limit of concurrent watched reads; further ones are not watched. */
#define SLOTS 16
#define TICK_NS 250000000
#define TICKS_PER_SECOND 4
#define LIMIT_SECONDS 30
/* A monitor is blocked meanwhile. */
#define LIMIT_ASIDE_SECONDS 10
/* Time for the kernel to end a helper process. */
#define GRACE_TICKS (5 * TICKS_PER_SECOND)
/* A helper process may be killed by others, and ends with the thread that started it. */
#define TRIES 3
#define WATCHER_STACK_BYTES (256u << 10)

struct slot {
	_Alignas(64) atomic_int task; /* being read; 0: free slot */
	atomic_uint reads;	      /* number begun */
	struct aside *_Atomic aside;  /* owned, and never freed; NULL: none yet */
	atomic_bool expired;	      /* its process was killed because the read hung */
	/* Used by the watcher only: */
	bool ends;	    /* `expired`, of this read */
	unsigned int seen;  /* reads at its last tick */
	unsigned int ticks; /* since this read began */
};

/* The processes avoided most recently, each for some minutes, since the cause may have passed. */
#define LEFT_OUT 256
#define LEFT_OUT_MINUTES 10

struct left_out {
	pid_t task;
	uint64_t start_ticks;
	long number;	   /* of the hung call */
	uint64_t until_ns; /* CLOCK_MONOTONIC */
};

static struct {
	pthread_once_t once;
	atomic_uint is_awake;	    /* a futex: the watcher looks at every tick */
	unsigned int limit_seconds; /* 0: default */
	atomic_bool aside;
	struct slot slots[SLOTS];
	pthread_mutex_t lock; /* of the fields below */
	struct left_out left_out[LEFT_OUT];
	_Atomic size_t left_out_count; /* total: the table is a ring */
} state = {.once = PTHREAD_ONCE_INIT, .lock = PTHREAD_MUTEX_INITIALIZER};

static unsigned int limit_seconds(void)
{
	if (state.limit_seconds)
		return state.limit_seconds;
	return atomic_load(&state.aside) ? LIMIT_ASIDE_SECONDS : LIMIT_SECONDS;
}

static _Noreturn void give_up(pid_t task)
{
	/* Restores top's terminal for the message. */
	fatal_signal_act_last();
	log_error(
		"process %d: reading its memory has taken %u s (silent userfaultfd or FUSE): exclude or end it",
		task, limit_seconds());
	interrupt_end(EXIT_ERROR);
}

static void look_at_read(struct slot *slot, pid_t task)
{
	struct aside *aside = atomic_load(&slot->aside);
	bool is_aside = aside && aside_look(aside);
	unsigned int limit = limit_seconds() * TICKS_PER_SECOND;

	if (slot->ticks <= limit || (slot->ends && !is_aside))
		return;
	if (!is_aside || slot->ticks > limit + GRACE_TICKS)
		give_up(task);
	slot->ends = true;
	atomic_store(&slot->expired, true);
	aside_kill(aside);
}

/* Ticks are counted, not timed: if the machine or leakmon was suspended, so was the reader. */
static bool look_at_slots(void)
{
	bool any = false;

	for (size_t i = 0; i < SLOTS; i++) {
		struct slot *slot = &state.slots[i];
		unsigned int reads = atomic_load(&slot->reads);
		pid_t task = atomic_load(&slot->task);

		slot->ticks = task && reads == slot->seen ? slot->ticks + 1 : 0;
		slot->ends &= slot->ticks > 0;
		any |= task || reads != slot->seen;
		slot->seen = reads;
		if (slot->ticks)
			look_at_read(slot, task);
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
		/* A read that begins after this wakes it. */
		atomic_store(&state.is_awake, 0);
		if (!look_at_slots())
			syscall(SYS_futex, &state.is_awake, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
		atomic_store(&state.is_awake, 1);
	}
	return NULL;
}

/* No helper process may keep leakmon's descriptors after its end. */
static void end_asides(void)
{
	for (size_t i = 0; i < SLOTS; i++) {
		struct aside *aside = atomic_load(&state.slots[i].aside);

		if (aside && !atomic_load(&state.slots[i].task))
			aside_end(aside);
	}
}

/* Threads and helper processes belong to the parent. */
static void forget(void)
{
	memset(&state, 0, sizeof(state));
	state.once = (pthread_once_t)PTHREAD_ONCE_INIT;
	state.lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}

/* Without it reads are not watched. */
static void start_watcher(void)
{
	pthread_attr_t attributes;
	sigset_t all, before;
	pthread_t thread;

	atomic_store(&state.is_awake, 1);
	pthread_atfork(NULL, NULL, forget);
	atexit(end_asides);
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, WATCHER_STACK_BYTES);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (pthread_create(&thread, &attributes, watch, NULL)) {
		log_debug("no thread: a read that never ends would not be noticed");
		atomic_store(&state.aside, false);
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
}

/* Returns NULL if all are in use. */
static struct slot *slot_take(pid_t task)
{
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
		return slot;
	}
	return NULL;
}

static void slot_release(struct slot *slot)
{
	atomic_store_explicit(&slot->task, 0, memory_order_release);
}

static bool reads_memory(long number)
{
	return number == SYS_process_vm_readv || number == SYS_preadv;
}

/* A hung page does not block the kernel's account of a process; a held lock blocks everything. */
static bool keeps_from(const struct left_out *one, long number)
{
	return !reads_memory(one->number) || reads_memory(number);
}

static bool is_left_out(pid_t task, long number)
{
	struct process_entry entry = {0};
	bool found = false;

	if (!atomic_load(&state.left_out_count))
		return false;
	pthread_mutex_lock(&state.lock);
	for (size_t i = 0; i < LEFT_OUT && !found; i++) {
		const struct left_out *one = &state.left_out[i];

		if (one->task != task || !keeps_from(one, number) || monotonic_ns() > one->until_ns)
			continue;
		if (!entry.start_ticks && process_read(task, &entry))
			break;
		found = one->start_ticks == entry.start_ticks;
	}
	pthread_mutex_unlock(&state.lock);
	return found;
}

static void leave_out(pid_t task, long number)
{
	struct process_entry entry;

	if (process_read(task, &entry))
		return;
	pthread_mutex_lock(&state.lock);
	state.left_out[state.left_out_count++ % LEFT_OUT] = (struct left_out){
		.task = task,
		.start_ticks = entry.start_ticks,
		.number = number,
		.until_ns = monotonic_ns() + LEFT_OUT_MINUTES * UINT64_C(60000000000),
	};
	pthread_mutex_unlock(&state.lock);
	log_warning(
		"process %d: reading its memory has taken %u s (silent userfaultfd or FUSE): not read for %d minutes",
		task, limit_seconds(), LEFT_OUT_MINUTES);
}

static long call_aside(struct slot *slot, pid_t task, long number, const long arguments[6])
{
	struct aside *aside = atomic_load(&slot->aside);
	int error = -ECHILD;
	long result;

	if (!aside) {
		aside = calloc(1, sizeof(*aside));
		atomic_store(&slot->aside, aside);
	}
	for (int i = 0; aside && error == -ECHILD && i < TRIES; i++) {
		error = aside_call(aside, number, arguments, &result);
		if (error == -ECHILD && atomic_exchange(&slot->expired, false)) {
			leave_out(task, number);
			return -EIO;
		}
	}
	/* Only leakmon itself may read its own children (prctl(2), PR_SET_PTRACER). */
	return error || result == -EPERM ? machine_system_call(number, arguments) : result;
}

long stuck_read_call(pid_t task, long number, const long arguments[6])
{
	struct slot *slot;
	long result;

	if (is_left_out(task, number))
		return -EIO;
	slot = slot_take(task);
	result = slot && atomic_load(&state.aside) ? call_aside(slot, task, number, arguments)
						   : machine_system_call(number, arguments);
	if (slot)
		slot_release(slot);
	return result;
}

void stuck_read_aside(void)
{
	atomic_store(&state.aside, true);
}

void stuck_read_limit(unsigned int seconds)
{
	state.limit_seconds = seconds;
}
