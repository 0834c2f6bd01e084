// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace/probe/fault_events.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "process/proc/process_list.h"

static int event_open(pid_t tid, int program_fd, unsigned period)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_PAGE_FAULTS,
		.sample_period = period,
		.disabled = 1,
		.inherit = 1,
		.inherit_thread = 1,
		.remove_on_exec = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
	int error;

	if (fd < 0)
		return -errno;
	if (!ioctl(fd, PERF_EVENT_IOC_SET_BPF, program_fd) && !ioctl(fd, PERF_EVENT_IOC_ENABLE, 0))
		return fd;
	error = -errno;
	close(fd);
	return error;
}

static int add_thread(struct fault_events *events, pid_t tid, int program_fd, unsigned period)
{
	int *slot, fd;

	if (events->fds.count >= FAULT_THREADS_MAX)
		return -EMFILE;
	fd = event_open(tid, program_fd, period);
	if (fd < 0)
		return fd;
	slot = vec_push(&events->fds);
	if (slot)
		*slot = fd;
	else
		close(fd);
	return slot ? 0 : -ENOMEM;
}

/* Returns 0, or why the last missed thread was missed. */
static int add_threads(struct fault_events *events, DIR *tasks, int program_fd, unsigned period)
{
	int error = 0;
	pid_t tid;

	while ((tid = process_tasks_next(tasks))) {
		int failed = add_thread(events, tid, program_fd, period);

		if (!failed || failed == -ESRCH) /* it has ended */
			continue;
		events->missed++;
		error = failed;
	}
	return error;
}

int fault_events_open(struct fault_events *events, pid_t pid, int program_fd, unsigned period)
{
	_cleanup_closedir_ DIR *tasks = process_tasks_open(pid);
	struct fault_events opened = {.period = period};
	int error;

	if (!tasks)
		return -errno;
	/*
	 * One listing only: a thread created by one with an event inherits it, and would get a
	 * second.
	 */
	error = add_threads(&opened, tasks, program_fd, period);
	if (opened.fds.count) {
		*events = opened;
		return 0;
	}
	return error ? error : -ESRCH;
}

void fault_events_close(struct fault_events *events)
{
	for (size_t i = 0; i < events->fds.count; i++)
		cleanup_close(&events->fds.items[i]);
	vec_free(&events->fds);
}
