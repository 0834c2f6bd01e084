// SPDX-License-Identifier: GPL-2.0-or-later
#include "threads/thread_tasks.h"

#include <bpf/bpf.h>
#include <errno.h>

#include "base/cleanup.h"
#include "base/records.h"

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
