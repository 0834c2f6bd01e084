// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace/probe/memory_locks.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "process/proc/process_list.h"
#include "process/proc/process_memory.h"
#include "process/proc/stuck_read.h"

#define FRESH_NS 1000000000ull

/*
 * The entry of the first page is read under the lock, even if there is no such page
 * (fs/proc/task_mmu.c, pagemap_read()).
 */
static bool is_locked(pid_t pid)
{
	_cleanup_close_ int fd = pagemap_open(live_memory(pid));
	uint64_t entry;
	const long arguments[6] = {fd, (long)&entry, sizeof(entry)};

	return fd >= 0 && stuck_read_call(pid, SYS_pread64, arguments) == -EIO;
}

/* Returns a process with locked memory, or 0. */
static pid_t find_locked(void)
{
	_cleanup_(pid_list_free) struct pid_list pids = {0};

	if (pid_list_read(&pids))
		return 0;
	for (size_t i = 0; i < pids.list.count; i++) {
		if (is_locked(pids.list.items[i]))
			return pids.list.items[i];
	}
	return 0;
}

int memory_locks_check(void)
{
	static uint64_t free_until_ns;
	static pid_t told;
	pid_t locked;

	if (monotonic_ns() < free_until_ns)
		return 0;
	locked = find_locked();
	if (!locked) {
		free_until_ns = monotonic_ns() + FRESH_NS;
		return 0;
	}
	if (locked != told)
		log_error(
			"memory of process %d stays locked: no probe is set until it ends or continues, because every fork would wait",
			locked);
	told = locked;
	return -EDEADLK;
}
