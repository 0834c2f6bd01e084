// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/thread_figures.h"

#include <stdio.h>
#include <sys/stat.h>

/* A directory has a link from each below it, "." and "..": of /proc/PID/task these are threads. */
void thread_figures_count(struct thread_figures *threads, pid_t pid)
{
	struct stat status;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	if (stat(path, &status) || status.st_nlink < 2)
		return;
	threads->alive = status.st_nlink - 2;
	threads->counted = true;
}

void thread_figures_free(struct thread_figures *threads)
{
	for (size_t i = 0; i < threads->groups.count; i++)
		free(threads->groups.items[i].addresses);
	vec_free(&threads->groups);
}
