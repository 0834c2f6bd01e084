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

#define RETAIN(harness, target, ...)                                                               \
	report_of(harness, MONITOR(harness, "retain", "-p", (target)->pid_text, "--census",        \
				   "--format", "json", ##__VA_ARGS__))

static inline json_int_t total_at(json_t *report, const char *verdict, const char *what)
{
	return number_at(json_object_get(json_object_get(report, "totals"), verdict), what);
}

static inline const char *text_at(json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
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
