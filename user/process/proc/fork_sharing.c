// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/proc/fork_sharing.h"

#include <dirent.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "process/proc/process_list.h"

#define KEPT 16
#define KEPT_NS UINT64_C(100000000)
/* Each thread has a list of children. With more threads, reading all lists is not worthwhile. */
#define THREADS_MAX 256
#define CHILDREN_MAX 256

static struct {
	pthread_mutex_t lock;
	struct answer {
		pid_t task;
		uint64_t until_ns; /* CLOCK_MONOTONIC */
		bool may_share;
	} answers[KEPT];
} state = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool is_forked(pid_t pid)
{
	struct process_entry entry;

	return !process_read(pid, &entry) && entry.forked;
}

/* A kernel without these lists (CONFIG_PROC_CHILDREN) does not tell. */
static bool thread_has_forked_child(pid_t task, pid_t thread)
{
	_cleanup_fclose_ FILE *file = NULL;
	char path[64];
	int child;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", task, thread);
	file = fopen(path, "re");
	if (!file)
		return true;
	for (int i = 0; fscanf(file, "%d", &child) == 1; i++) {
		if (i == CHILDREN_MAX || is_forked(child))
			return true;
	}
	return false;
}

static bool has_forked_child(pid_t task)
{
	DIR *tasks = process_tasks_open(task);
	bool found = false;
	pid_t thread;

	for (int i = 0; !found && (thread = process_tasks_next(tasks)); i++)
		found = i == THREADS_MAX || thread_has_forked_child(task, thread);
	if (tasks)
		closedir(tasks);
	return found;
}

bool fork_may_share(pid_t task)
{
	struct answer *kept = &state.answers[(unsigned int)task % KEPT];
	struct answer answer;

	pthread_mutex_lock(&state.lock);
	answer = *kept;
	pthread_mutex_unlock(&state.lock);
	if (answer.task == task && monotonic_ns() < answer.until_ns)
		return answer.may_share;
	answer.task = task;
	answer.may_share = is_forked(task) || has_forked_child(task);
	answer.until_ns = monotonic_ns() + KEPT_NS;
	pthread_mutex_lock(&state.lock);
	*kept = answer;
	pthread_mutex_unlock(&state.lock);
	return answer.may_share;
}
