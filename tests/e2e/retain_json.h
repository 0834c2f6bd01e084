/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fields of a report of `leakmon retain --format json`. */
#ifndef LEAKMON_E2E_RETAIN_JSON_H
#define LEAKMON_E2E_RETAIN_JSON_H

#include <time.h>

#include "harness.h"

/* The report of a run that ends by itself. */
static inline json_t *report_of(struct harness *harness, struct child *monitor)
{
	int code = child_end(harness, monitor);

	if (code)
		child_fail(monitor, "leakmon exited with %d", code);
	return monitor_report(harness, monitor);
}

/* Allows a long stop for a busy machine, unless the arguments have a --max-pause. */
#define RETAIN(harness, target, ...)                                                               \
	report_of(harness, MONITOR(harness, "retain", "-p", (target)->pid_text, "--census",        \
				   "--max-pause", "5000", "--format", "json", ##__VA_ARGS__))

static inline json_int_t total_at(json_t *report, const char *verdict, const char *what)
{
	return number_at(json_object_get(json_object_get(report, "totals"), verdict), what);
}

static inline const char *text_at(json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

/* How the walk of the one runtime of that key went. */
static inline json_t *runtime_of(json_t *report, const char *key)
{
	json_t *runtimes = json_object_get(report, "runtimes");

	assert_int_equal(json_array_size(runtimes), 1);
	assert_string_equal(text_at(json_array_get(runtimes, 0), "runtime"), key);
	return json_array_get(runtimes, 0);
}

/* As runtime_of(), with a walk that is complete and consistent. */
static inline json_t *walked_runtime_of(json_t *report, const char *key)
{
	json_t *runtime = runtime_of(report, key);

	assert_string_equal(text_at(runtime, "why_not_walked"), "");
	assert_int_equal(number_at(runtime, "nonsense"), 0);
	return runtime;
}

/* Whether the report of a runtime that collects all the time is exact by its own account. */
static inline bool is_exact(json_t *report, const char *key)
{
	json_t *runtime = runtime_of(report, key);

	return !*text_at(runtime, "why_not_walked") && !number_at(runtime, "nonsense");
}

/* A program that prints "ready" when its own record is complete. */
static inline struct child *start_ready(struct harness *harness, const char *path,
					const char *const *argv, void (*prepare)(void))
{
	struct child *child = child_start(harness, path, argv, prepare);
	char *line = child_line(harness, child, &child->out);

	assert_string_equal(line, "ready");
	free(line);
	return child;
}

/* The root that leads to most. */
static inline const char *first_root(json_t *report)
{
	return text_at(json_array_get(json_object_get(report, "roots"), 0), "name");
}

static inline void wait_ms(long ms)
{
	struct timespec pause = {ms / 1000, ms % 1000 * 1000000};

	nanosleep(&pause, NULL);
}

#endif
