// SPDX-License-Identifier: GPL-2.0-or-later
#include "retain/progress.h"

#include <ctype.h>
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "proc/process_list.h"

#define STEP_NS 2000000
#define STEPS_MAX 1000

struct ready_thread {
	pid_t tid;
	uint64_t run_ns; /* CPU time it has had */
};

struct ready_threads {
	VEC(struct ready_thread) list;
};

/* 0: not known. */
static uint64_t run_time(pid_t pid, pid_t tid)
{
	_cleanup_fclose_ FILE *file = NULL;
	uint64_t run_ns = 0;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/schedstat", pid, tid);
	file = fopen(path, "re");
	return file && fscanf(file, "%" SCNu64, &run_ns) == 1 ? run_ns : 0;
}

/* False: out of memory, or they cannot be listed. */
static bool list_ready(pid_t pid, struct ready_threads *ready)
{
	_cleanup_closedir_ DIR *tasks = NULL;
	struct dirent *entry;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	tasks = opendir(path);
	while (tasks && (entry = readdir(tasks))) {
		pid_t tid = atoi(entry->d_name);
		struct ready_thread *thread;

		if (!isdigit((unsigned char)entry->d_name[0]) ||
		    process_task_state(pid, tid) != 'R')
			continue;
		thread = vec_push(&ready->list);
		if (!thread)
			return false;
		*thread = (struct ready_thread){tid, run_time(pid, tid)};
	}
	return tasks;
}

static void drop_those_that_ran(pid_t pid, struct ready_threads *ready)
{
	size_t kept = 0;

	for (size_t i = 0; i < ready->list.count; i++) {
		struct ready_thread thread = ready->list.items[i];

		if (process_task_state(pid, thread.tid) == 'R' &&
		    run_time(pid, thread.tid) == thread.run_ns)
			ready->list.items[kept++] = thread;
	}
	ready->list.count = kept;
}

bool progress_wait(pid_t pid)
{
	struct ready_threads ready = {0};
	bool known = list_ready(pid, &ready);

	for (size_t i = 0; known && ready.list.count && i < STEPS_MAX; i++) {
		nanosleep(&(struct timespec){.tv_nsec = STEP_NS}, NULL);
		drop_those_that_ran(pid, &ready);
	}
	known = known && !ready.list.count;
	vec_free(&ready.list);
	return known;
}
