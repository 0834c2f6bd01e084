// SPDX-License-Identifier: GPL-2.0-or-later
#include "heap/threads/thread_table.h"

#include <bpf/bpf.h>
#include <errno.h>

#include "base/cleanup.h"
#include "base/records.h"
#include "trace/probe/map_walk.h"

static int by_inner_tid(const void *left, const void *right)
{
	const struct lm_task *a = left, *b = right;

	return (a->inner_tid > b->inner_tid) - (a->inner_tid < b->inner_tid);
}

static void summarise(struct thread_tasks *tasks, pid_t pid)
{
	for (size_t i = 0; i < tasks->list.count; i++) {
		const struct lm_task *task = &tasks->list.items[i];

		if (!(task->flags & LM_TASK_WITHOUT_MEMORY))
			tasks->process = task->process;
		if (task->tid == (uint32_t)pid) {
			tasks->leader = task->inner_tid;
			tasks->leader_lives = !(task->flags & LM_TASK_EXITING);
		}
	}
}

int thread_tasks_read(const struct bpf_side *bpf, pid_t pid, struct thread_tasks *tasks)
{
	_cleanup_(thread_tasks_free) struct thread_tasks read = {0};
	_cleanup_close_ int fd = -1;
	void *list = NULL;
	int error;

	*bpf->thread_list_tgid = (uint32_t)pid;
	fd = bpf_iter_create(bpf->thread_list_fd);
	if (fd < 0)
		return -errno;
	error = records_read(fd, sizeof(struct lm_task), &list, &read.list.count);
	if (error)
		return error;
	read.list.items = list;
	read.list.capacity = read.list.count;
	summarise(&read, pid);
	if (!read.process)
		return -ESRCH;
	qsort(read.list.items, read.list.count, sizeof(*read.list.items), by_inner_tid);
	*tasks = read;
	read = (struct thread_tasks){0};
	return 0;
}

int thread_tasks_open_process(const struct bpf_side *bpf, pid_t pid)
{
	_cleanup_(thread_tasks_free) struct thread_tasks tasks = {0};
	int error;

	*bpf->thread_list_opens = true;
	error = thread_tasks_read(bpf, pid, &tasks);
	*bpf->thread_list_opens = false;
	return error;
}

void thread_tasks_free(struct thread_tasks *tasks)
{
	vec_free(&tasks->list);
}

const struct lm_task *thread_tasks_find(const struct thread_tasks *tasks, uint32_t inner_tid)
{
	const struct lm_task key = {.inner_tid = inner_tid};

	return tasks->list.count ? bsearch(&key, tasks->list.items, tasks->list.count, sizeof(key),
					   by_inner_tid)
				 : NULL;
}

/*
 * Threads that end with their process are not reported, so their entries would stay, and a reused
 * tid must not lead to one of them.
 */

struct thread_purge {
	const struct hash *ended; /* processes */
	struct hash ids;	  /* of their threads */
	VEC(struct lm_thread_handle) handles;
	VEC(uint32_t) tids;
};

static int take_ids(const void *keys, const void *values, size_t count, void *context)
{
	const lm_thread_id *id = keys;
	const struct lm_thread *thread = values;
	struct thread_purge *purge = context;

	for (size_t i = 0; i < count; i++) {
		if (hash_get(purge->ended, thread[i].process) &&
		    !hash_put(&purge->ids, id[i], NULL))
			return -ENOMEM;
	}
	return 0;
}

static int take_handles(const void *keys, const void *values, size_t count, void *context)
{
	const struct lm_thread_handle *handle = keys;
	struct thread_purge *purge = context;

	(void)values;
	for (size_t i = 0; i < count; i++) {
		struct lm_thread_handle *taken;

		if (!hash_get(purge->ended, handle[i].process))
			continue;
		taken = vec_push(&purge->handles);
		if (!taken)
			return -ENOMEM;
		*taken = handle[i];
	}
	return 0;
}

static int take_tids(const void *keys, const void *values, size_t count, void *context)
{
	const uint32_t *tid = keys;
	const lm_thread_id *id = values;
	struct thread_purge *purge = context;

	for (size_t i = 0; i < count; i++) {
		uint32_t *taken;

		if (!hash_get(&purge->ids, id[i]))
			continue;
		taken = vec_push(&purge->tids);
		if (!taken)
			return -ENOMEM;
		*taken = tid[i];
	}
	return 0;
}

static void delete_keys(int map_fd, const struct hash *keys)
{
	for (size_t i = 0; i < keys->capacity; i++) {
		if (keys->entries[i].used)
			bpf_map_delete_elem(map_fd, &keys->entries[i].key);
	}
}

static int find(const struct bpf_side *bpf, struct thread_purge *purge)
{
	int error = map_walk(bpf->thread_records_fd, sizeof(lm_thread_id), sizeof(struct lm_thread),
			     take_ids, purge);

	if (!error)
		error = map_walk(bpf->thread_handles_fd, sizeof(struct lm_thread_handle),
				 sizeof(lm_thread_id), take_handles, purge);
	if (!error && purge->ids.count)
		error = map_walk(bpf->thread_tids_fd, sizeof(uint32_t), sizeof(lm_thread_id),
				 take_tids, purge);
	return error;
}

/* Deletes the entry unless the tid belongs to another thread by now. */
static void delete_tid(const struct bpf_side *bpf, const struct thread_purge *purge, uint32_t tid)
{
	lm_thread_id id;

	if (!bpf_map_lookup_elem(bpf->thread_tids_fd, &tid, &id) && hash_get(&purge->ids, id))
		bpf_map_delete_elem(bpf->thread_tids_fd, &tid);
}

int thread_table_purge(const struct bpf_side *bpf, const struct hash *ended)
{
	struct thread_purge purge = {.ended = ended};
	int error = find(bpf, &purge);

	/* Delete entries before the record they lead to. */
	for (size_t i = 0; i < purge.tids.count && !error; i++)
		delete_tid(bpf, &purge, purge.tids.items[i]);
	for (size_t i = 0; i < purge.handles.count && !error; i++)
		bpf_map_delete_elem(bpf->thread_handles_fd, &purge.handles.items[i]);
	if (!error) {
		delete_keys(bpf->thread_records_fd, &purge.ids);
		delete_keys(bpf->thread_ledgers_fd, ended);
	}
	hash_free(&purge.ids);
	vec_free(&purge.handles);
	vec_free(&purge.tids);
	return error;
}

static int take_threads(const void *keys, const void *values, size_t count, void *context)
{
	struct thread_table *table = context;

	(void)keys;
	for (size_t i = 0; i < count; i++) {
		struct lm_thread *thread = vec_push(&table->threads);

		if (!thread)
			return -ENOMEM;
		*thread = ((const struct lm_thread *)values)[i];
	}
	return 0;
}

static int take_ledgers(const void *keys, const void *values, size_t count, void *context)
{
	struct thread_table *table = context;

	for (size_t i = 0; i < count; i++) {
		struct thread_process *process = vec_push(&table->processes);

		if (!process)
			return -ENOMEM;
		process->key = ((const lm_process_key *)keys)[i];
		process->ledger = ((const struct lm_thread_ledger *)values)[i];
	}
	return 0;
}

static int by_process_and_age(const void *left, const void *right)
{
	const struct lm_thread *a = left, *b = right;

	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	if (a->born_ns != b->born_ns)
		return a->born_ns < b->born_ns ? -1 : 1;
	return (a->handle > b->handle) - (a->handle < b->handle);
}

static int by_key(const void *left, const void *right)
{
	const struct thread_process *a = left, *b = right;

	return (a->key > b->key) - (a->key < b->key);
}

int thread_table_read(const struct bpf_side *bpf, struct thread_table *table)
{
	_cleanup_(thread_table_free) struct thread_table read = {0};
	int error = map_walk(bpf->thread_records_fd, sizeof(lm_thread_id), sizeof(struct lm_thread),
			     take_threads, &read);

	if (!error)
		error = map_walk(bpf->thread_ledgers_fd, sizeof(lm_process_key),
				 sizeof(struct lm_thread_ledger), take_ledgers, &read);
	if (error)
		return error;
	if (read.threads.count)
		qsort(read.threads.items, read.threads.count, sizeof(*read.threads.items),
		      by_process_and_age);
	if (read.processes.count)
		qsort(read.processes.items, read.processes.count, sizeof(*read.processes.items),
		      by_key);
	*table = read;
	read = (struct thread_table){0};
	return 0;
}

void thread_table_free(struct thread_table *table)
{
	vec_free(&table->threads);
	vec_free(&table->processes);
}
