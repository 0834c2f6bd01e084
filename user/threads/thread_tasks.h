/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The threads of a process as the kernel has them at one time. */
#ifndef LEAKMON_THREADS_THREAD_TASKS_H
#define LEAKMON_THREADS_THREAD_TASKS_H

#include "base/vec.h"
#include "leakmon_thread.h"
#include "probe/loader.h"

struct thread_tasks {
	lm_process_key process;
	uint32_t leader; /* what the process calls itself: getpid() in its own PID namespace */
	bool leader_lives;
	VEC(struct lm_task) list; /* by ascending inner_tid */
};

/* 0; -ESRCH: it has no thread that runs; -errno. *tasks is untouched on error. */
int thread_tasks_read(const struct bpf_side *bpf, pid_t pid, struct thread_tasks *tasks);
/* Has the process shown in reports, even if it never does what is probed. 0 or -errno. */
int thread_tasks_open_process(const struct bpf_side *bpf, pid_t pid);
void thread_tasks_free(struct thread_tasks *tasks);

/* By what the process itself calls the thread; NULL: there is none. */
const struct lm_task *thread_tasks_find(const struct thread_tasks *tasks, uint32_t inner_tid);

#endif
