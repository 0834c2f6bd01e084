// SPDX-License-Identifier: GPL-2.0-or-later
/* Attaching to a process that maps many libraries: all their unwind rows are compiled. */
#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "bench.h"
#include "monitor.h"

#define LIBRARIES 60

static int libraries_run(struct bench *bench)
{
	_cleanup_(child_cleanup) struct child *target = NULL, *monitor = NULL;
	struct why *why = &bench->results.why;
	unsigned long files, bytes;
	char *answer;
	pid_t pid;
	int error = workload_start(&target, ARGUMENTS("build/bench/maps_many"), &pid, why);

	if (!error)
		error = child_ask(target, "mapped", &answer);
	if (error)
		return error;
	if (sscanf(answer, "%lu %lu", &files, &bytes) != 2 || files < LIBRARIES)
		return child_fail(target, -ENOENT, "found fewer than 60 libraries to map");
	error = monitor_start(&monitor, pid, NULL, "3600", why);
	if (error)
		return error;
	results_add(&bench->results, LIBRARIES_ATTACH,
		    (double)(now_ns() - monitor->started_ns) / 1e6);
	results_add(&bench->results, LIBRARIES_MAPPED, (double)bytes / 1e6);
	return monitor_stop(monitor);
}

int section_libraries(struct bench *bench)
{
	int error = repeat(bench, "libraries", bench->repetitions, libraries_run);

	return results_settle(&bench->results, LIBRARIES_ATTACH, LIBRARIES_MAPPED, error);
}
