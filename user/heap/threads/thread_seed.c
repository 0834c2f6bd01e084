// SPDX-License-Identifier: GPL-2.0-or-later
#include "heap/threads/thread_seed.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/vec.h"
#include "heap/threads/thread_table.h"
#include "heap/threads/thread_walk.h"
#include "process/proc/process_memory.h"

/* State of thread_seed() while it runs. Internal to thread_seed*.c. */

/* A thread on the ledger. */
struct seeded {
	lm_thread_id id;
	uint64_t handle;
	uint32_t tid, inner_tid; /* 0: dead when listed */
	unsigned absences;	 /* looks that did not find it listed as before */
	bool dropped;
};

struct seeding {
	const struct bpf_side *bpf;
	const struct thread_seed *seed;
	struct thread_tasks tasks;
	struct listed_threads listed;
	VEC(struct seeded) seeded;
	bool last; /* the deadline has passed: wait for nothing more */
	const char *why;
};

/* Corrects a thread's record from the probes and the lists. */

/* Looks in a row that may miss a thread before it is dropped. */
#define MAX_ABSENCES 4

static int by_handle(const void *left, const void *right)
{
	const struct listed_thread *a = left, *b = right;

	return (a->handle > b->handle) - (a->handle < b->handle);
}

static const struct listed_thread *find_listed(const struct seeding *seeding, uint64_t handle)
{
	const struct listed_thread key = {.handle = handle};

	return bsearch(&key, seeding->listed.list.items, seeding->listed.list.count, sizeof(key),
		       by_handle);
}

/*
 * Returns whether the ledger has not seen this thread end: it is still alive, or ended before its
 * tid was recorded.
 */
static bool end_is_untold(const struct seeding *seeding, const struct seeded *seeded)
{
	lm_thread_id id;

	return !bpf_map_lookup_elem(seeding->bpf->thread_tids_fd, &seeded->tid, &id) &&
	       id == seeded->id;
}

static void change(const struct seeding *seeding, const struct seeded *seeded, bool dead,
		   bool detached)
{
	struct lm_thread record;

	if (bpf_map_lookup_elem(seeding->bpf->thread_records_fd, &seeded->id, &record) ||
	    (!dead && record.flags & LM_THREAD_DETACHED))
		return;
	if (detached)
		record.flags |= LM_THREAD_DETACHED;
	if (dead)
		record.tid = 0;
	bpf_map_update_elem(seeding->bpf->thread_records_fd, &seeded->id, &record, BPF_EXIST);
}

/* Takes the thread off the ledger again. */
static void seeding_drop(const struct seeding *seeding, struct seeded *seeded)
{
	/* Keep the entry by pthread_t: it may be another thread's by now, and without a record it
	 * is harmless. */
	bpf_map_delete_elem(seeding->bpf->thread_records_fd, &seeded->id);
	if (seeded->tid && end_is_untold(seeding, seeded))
		bpf_map_delete_elem(seeding->bpf->thread_tids_fd, &seeded->tid);
	seeded->dropped = true;
}

/*
 * For a thread that left the list: its reaping probe takes it off the ledger, unless it fired
 * before the record existed. Returns true to wait for the probe.
 */
static bool drop_if_missed(const struct seeding *seeding, struct seeded *seeded)
{
	struct lm_thread record;

	if (!bpf_map_lookup_elem(seeding->bpf->thread_records_fd, &seeded->id, &record) &&
	    ++seeded->absences < MAX_ABSENCES && !seeding->last)
		return true;
	seeding_drop(seeding, seeded);
	return false;
}

/* Marks a thread dead that ended before its tid was recorded. */
static void note_missed_end(const struct seeding *seeding, struct seeded *seeded)
{
	change(seeding, seeded, true, false);
	bpf_map_delete_elem(seeding->bpf->thread_tids_fd, &seeded->tid);
	seeded->tid = seeded->inner_tid = 0;
}

/* Checks a thread that was alive. Returns true if it is exiting and needs another look. */
static bool check_living(const struct seeding *seeding, struct seeded *seeded,
			 const struct listed_thread *thread)
{
	const struct lm_task *task = thread_tasks_find(&seeding->tasks, seeded->inner_tid);
	bool untold = end_is_untold(seeding, seeded);

	if (thread && thread->tid == seeded->inner_tid) {
		if (thread->detached)
			change(seeding, seeded, false, true);
		return untold && (!task || task->flags & LM_TASK_EXITING);
	}
	if (task && untold && !seeding->last)
		return true;
	if (!thread || thread->tid)
		return drop_if_missed(seeding, seeded);
	if (untold)
		note_missed_end(seeding, seeded);
	return false;
}

/* Compares the new records with the latest look. Returns true if any needs another look. */
static bool seeding_check(struct seeding *seeding)
{
	bool again = false;

	if (seeding->listed.list.count)
		qsort(seeding->listed.list.items, seeding->listed.list.count,
		      sizeof(*seeding->listed.list.items), by_handle);
	for (size_t i = 0; i < seeding->seeded.count; i++) {
		struct seeded *seeded = &seeding->seeded.items[i];
		const struct listed_thread *thread = find_listed(seeding, seeded->handle);

		if (seeded->dropped)
			continue;
		if (seeded->tid)
			again |= check_living(seeding, seeded, thread);
		else if (!thread || thread->tid)
			again |= drop_if_missed(seeding, seeded);
	}
	return again;
}

/* Reads the lists of threads and puts their threads on the ledger. */

static int read_memory(void *context, uint64_t address, void *buffer, size_t size)
{
	const pid_t *task = context;

	return memory_read_exact(live_memory(*task), address, buffer, size);
}

/* Returns a task with a readable address space: the main thread loses its own when it ends. */
static pid_t live_task(const struct thread_tasks *tasks, pid_t pid)
{
	if (tasks->leader_lives)
		return pid;
	for (size_t i = 0; i < tasks->list.count; i++) {
		if (!(tasks->list.items[i].flags & (LM_TASK_EXITING | LM_TASK_WITHOUT_MEMORY)))
			return (pid_t)tasks->list.items[i].tid;
	}
	return 0;
}

/* Returns whether the lists name the main thread; if not, they were misread. */
static bool has_leader(const struct seeding *seeding)
{
	for (size_t i = 0; i < seeding->listed.list.count; i++) {
		if (seeding->listed.list.items[i].tid == seeding->tasks.leader)
			return true;
	}
	return !seeding->tasks.leader_lives;
}

/*
 * Reads the process's tasks and its lists of threads. Returns 0 or -errno, and may set
 * seeding->why.
 */
static int seeding_look(struct seeding *seeding)
{
	pid_t task;
	struct thread_memory memory = {.read = read_memory, .context = &task};
	int error;

	thread_tasks_free(&seeding->tasks);
	listed_threads_free(&seeding->listed);
	/* Read the tasks first: a task not yet exiting here was alive when the lists were read. */
	error = thread_tasks_read(seeding->bpf, seeding->seed->pid, &seeding->tasks);
	task = error ? 0 : live_task(&seeding->tasks, seeding->seed->pid);
	if (!error && !task)
		error = -ESRCH;
	if (!error)
		error = thread_walk(&memory, seeding->seed->layout, seeding->seed->bias,
				    &seeding->listed, &seeding->why);
	/* The process has only just started. */
	if (error == -ENODATA && seeding->tasks.list.count == 1)
		return 0;
	if (!error && !has_leader(seeding)) {
		seeding->why = "its lists of threads do not name its main thread";
		error = -EBADMSG;
	}
	return error;
}

static struct lm_thread_handle handle_key(const struct seeding *seeding, uint64_t handle)
{
	return (struct lm_thread_handle){.handle = handle, .process = seeding->tasks.process};
}

static bool is_known(const struct seeding *seeding, uint64_t handle)
{
	struct lm_thread_handle key = handle_key(seeding, handle);
	lm_thread_id id;

	return !bpf_map_lookup_elem(seeding->bpf->thread_handles_fd, &key, &id);
}

static lm_thread_id next_id(const struct thread_seed *seed)
{
	return LM_THREAD_SEEDED | (uint64_t)seed->pid << 32 | ++*seed->next_id;
}

static int put_maps(const struct seeding *seeding, const struct seeded *seeded,
		    const struct lm_thread *record)
{
	struct lm_thread_handle key = handle_key(seeding, seeded->handle);
	const struct bpf_side *bpf = seeding->bpf;

	if (bpf_map_update_elem(bpf->thread_records_fd, &seeded->id, record, BPF_NOEXIST))
		return -errno;
	if (!bpf_map_update_elem(bpf->thread_handles_fd, &key, &seeded->id, BPF_NOEXIST) &&
	    (!seeded->tid ||
	     !bpf_map_update_elem(bpf->thread_tids_fd, &seeded->tid, &seeded->id, BPF_NOEXIST)))
		return 0;
	/* The probes recorded it first, or the map is full. */
	bpf_map_delete_elem(bpf->thread_records_fd, &seeded->id);
	return errno == EEXIST ? 0 : -errno;
}

static int put(struct seeding *seeding, const struct listed_thread *thread)
{
	const struct lm_task *task = thread_tasks_find(&seeding->tasks, thread->tid);
	struct lm_thread record = {
		.process = seeding->tasks.process,
		.handle = thread->handle,
		.start_routine = thread->start_routine,
		.site = LM_SITE_LOST,
		.flags = LM_THREAD_BEFORE_ATTACH | (thread->detached ? LM_THREAD_DETACHED : 0) |
			 (thread->own_stack ? LM_THREAD_OWN_STACK : 0),
	};
	struct seeded *seeded;

	if (thread->tid && !task)
		return 0; /* just created or just ended: see the next walk */
	seeded = vec_push(&seeding->seeded);
	if (!seeded)
		return -ENOMEM;
	seeded->id = next_id(seeding->seed);
	seeded->handle = thread->handle;
	seeded->inner_tid = thread->tid;
	seeded->tid = record.tid = task ? task->tid : 0;
	return put_maps(seeding, seeded, &record);
}

/*
 * Puts unknown listed threads on the ledger; *fresh counts those that were new or could not be
 * recorded yet. Returns 0, -E2BIG or another -errno of the maps, or -ENOMEM.
 */
static int seeding_put_new(struct seeding *seeding, size_t *fresh)
{
	int error = 0;

	*fresh = 0;
	for (size_t i = 0; i < seeding->listed.list.count && !error; i++) {
		const struct listed_thread *thread = &seeding->listed.list.items[i];

		/* Skip the main thread, also in a child forked by a thread. */
		if (!thread->start_routine || thread->tid == seeding->tasks.leader ||
		    is_known(seeding, thread->handle))
			continue;
		++*fresh;
		error = put(seeding, thread);
	}
	return error;
}

#define MAX_ROUNDS 8

/* How long to wait for exiting threads. */
#define WAIT_NS 200000000ull

static int look_until_settled(struct seeding *seeding)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	uint64_t deadline = monotonic_ns() + WAIT_NS;
	int error = seeding_look(seeding);

	seeding->last = false;
	while (!error && seeding_check(seeding) && !seeding->last) {
		nanosleep(&pause, NULL);
		seeding->last = monotonic_ns() > deadline;
		error = seeding_look(seeding);
	}
	return error;
}

static int put_until_nothing_is_new(struct seeding *seeding)
{
	size_t fresh = 0;
	int error = 0;

	for (unsigned i = 0; i < MAX_ROUNDS && !error; i++) {
		error = seeding_put_new(seeding, &fresh);
		if (error || !fresh)
			return error;
		error = look_until_settled(seeding);
	}
	if (error)
		return error;
	seeding->why = "its threads come and go faster than they can be listed";
	return -EBUSY;
}

/* Opens the ledger and reports what it had counted as untracked so far. */
static int open_ledgers(const struct seeding *seeding, struct thread_missed *missed)
{
	struct lm_thread_ledger ledger = {0};
	int fd = seeding->bpf->thread_ledgers_fd;

	if (bpf_map_update_elem(fd, &seeding->tasks.process, &ledger, BPF_NOEXIST) &&
	    errno != EEXIST)
		return -errno;
	if (bpf_map_lookup_elem(fd, &seeding->tasks.process, &ledger))
		return -errno;
	missed->ends = ledger.untracked_ends;
	missed->joins = ledger.untracked_joins;
	return 0;
}

static const char *explain(const struct seeding *seeding, int error)
{
	if (seeding->why)
		return seeding->why;
	if (error == -ESRCH)
		return "it ended while its lists of threads were read";
	if (error == -E2BIG)
		return "there is no room for all of its threads";
	return "its memory cannot be read";
}

int thread_seed(const struct bpf_side *bpf, const struct thread_seed *seed,
		struct thread_missed *missed, const char **why)
{
	struct seeding seeding = {.bpf = bpf, .seed = seed};
	int error = seeding_look(&seeding);

	if (!error)
		error = put_until_nothing_is_new(&seeding);
	if (!error)
		error = open_ledgers(&seeding, missed);
	if (!error && seeding.seeded.count)
		error = thread_tasks_open_process(bpf, seed->pid);
	for (size_t i = 0; error && i < seeding.seeded.count; i++)
		seeding_drop(&seeding, &seeding.seeded.items[i]);
	if (error)
		*why = explain(&seeding, error);
	thread_tasks_free(&seeding.tasks);
	listed_threads_free(&seeding.listed);
	vec_free(&seeding.seeded);
	return error;
}
