// SPDX-License-Identifier: GPL-2.0-or-later
/* What the lists of threads say, and its way onto the books. */
#include <bpf/bpf.h>
#include <errno.h>

#include "retain/memory.h"
#include "threads/thread_seeding.h"

static int read_memory(void *context, uint64_t address, void *buffer, size_t size)
{
	const pid_t *task = context;

	return memory_read_exact(*task, address, buffer, size);
}

/* A thread whose address space can be read: the main thread's is gone once it has ended. */
static pid_t living_task(const struct thread_tasks *tasks, pid_t pid)
{
	if (tasks->leader_lives)
		return pid;
	for (size_t i = 0; i < tasks->list.count; i++) {
		if (!(tasks->list.items[i].flags & (LM_TASK_EXITING | LM_TASK_WITHOUT_MEMORY)))
			return (pid_t)tasks->list.items[i].tid;
	}
	return 0;
}

/* Whether the lists name the main thread, as they must if they were understood. */
static bool has_leader(const struct seeding *seeding)
{
	for (size_t i = 0; i < seeding->listed.list.count; i++) {
		if (seeding->listed.list.items[i].tid == seeding->tasks.leader)
			return true;
	}
	return !seeding->tasks.leader_lives;
}

int seeding_look(struct seeding *seeding)
{
	pid_t task;
	struct thread_memory memory = {.read = read_memory, .context = &task};
	int error;

	thread_tasks_free(&seeding->tasks);
	listed_threads_free(&seeding->listed);
	/* First: what it has not yet begun to end was alive when the lists were read. */
	error = thread_tasks_read(seeding->bpf, seeding->seed->pid, &seeding->tasks);
	task = error ? 0 : living_task(&seeding->tasks, seeding->seed->pid);
	if (!error && !task)
		error = -ESRCH;
	if (!error)
		error = thread_walk(&memory, seeding->seed->layout, seeding->seed->bias,
				    &seeding->listed, &seeding->why);
	/* A process that has only just been started. */
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
	/* The probes knew it first, or there is no more room. */
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
		return 0; /* it came or ended just now: the next walk tells */
	seeded = vec_push(&seeding->seeded);
	if (!seeded)
		return -ENOMEM;
	seeded->id = next_id(seeding->seed);
	seeded->handle = thread->handle;
	seeded->inner_tid = thread->tid;
	seeded->tid = record.tid = task ? task->tid : 0;
	return put_maps(seeding, seeded, &record);
}

int seeding_put_new(struct seeding *seeding, size_t *fresh)
{
	int error = 0;

	*fresh = 0;
	for (size_t i = 0; i < seeding->listed.list.count && !error; i++) {
		const struct listed_thread *thread = &seeding->listed.list.items[i];

		/* The main thread, also that of a child that a thread forked. */
		if (!thread->start_routine || thread->tid == seeding->tasks.leader ||
		    is_known(seeding, thread->handle))
			continue;
		++*fresh;
		error = put(seeding, thread);
	}
	return error;
}
