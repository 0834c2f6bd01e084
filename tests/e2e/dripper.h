/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Profiles of the workload dripper, in JSON. At 20 % instead of 1 % of its time, so that a minute
 * replaces a quarter of an hour.
 */
#ifndef LEAKMON_E2E_DRIPPER_H
#define LEAKMON_E2E_DRIPPER_H

#include "harness.h"

#include <signal.h>

static const char *preload;

static inline void set_preload(void)
{
	setenv("LD_PRELOAD", preload, 1);
}

/* Reports until that many windows have been opened; the harness limits the time. */
static inline json_t *after_windows(struct harness *harness, struct child *monitor,
				    json_int_t windows)
{
	for (;;) {
		json_t *report = monitor_report(harness, monitor);

		if (number_at(report, "windows") >= windows)
			return report;
	}
}

static inline struct child *dripper_run(struct harness *harness, const char *name,
					const char *library, const char *rate, const char *pause_us,
					const char *contents)
{
	const char *directory = getenv("LEAKMON_WORKLOADS");
	const char *const argv[] = {name, rate, pause_us, contents, NULL};
	struct child *workload;
	char path[256], *line;

	snprintf(path, sizeof(path), "%s/%s", directory ? directory : "build/workloads", name);
	preload = library;
	workload = child_start(harness, path, argv, library ? set_preload : NULL);
	line = child_line(harness, workload, &workload->out);
	assert_int_equal(strncmp(line, "ready ", 6), 0);
	free(line);
	return workload;
}

static inline struct child *dripper_start(struct harness *harness, const char *name,
					  const char *library, const char *contents)
{
	return dripper_run(harness, name, library, "200", "20", contents);
}

#define PROFILE(harness, workload, ...)                                                            \
	MONITOR(harness, "profile", "-p", (workload)->pid_text, "--overhead", "20%", "--format",   \
		"json", ##__VA_ARGS__, "2")

/* Its leak per second, by its own count. */
static inline double rate_of(struct harness *harness, struct child *workload)
{
	json_t *truth;
	char *line;
	double rate;

	child_signal(workload, SIGTERM);
	line = child_line(harness, workload, &workload->out);
	truth = json_loads(line, 0, NULL);
	assert_non_null(truth);
	rate = real_at(truth, "dripped") / real_at(truth, "ns") * 1e9;
	json_decref(truth);
	free(line);
	assert_int_equal(child_end(harness, workload), 0);
	return rate;
}

/* NULL: it is not in the report. */
static inline json_t *process_in(json_t *report, pid_t pid)
{
	json_t *process;
	size_t i;

	json_array_foreach(json_object_get(report, "processes"), i, process)
	{
		if (number_at(process, "pid") == pid)
			return process;
	}
	return NULL;
}

#endif
