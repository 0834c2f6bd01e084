/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reports in the form of OpenTelemetry (output/otlp): the resources of processes, looked up at most
 * every RESOURCE_GOOD_S, and the requests of a report.
 */
#ifndef LEAKMON_MONITOR_REPORT_OTLP_H
#define LEAKMON_MONITOR_REPORT_OTLP_H

#include "base/serve/pusher.h"
#include "output/output.h"
#include "report/leak_event.h"

struct report_otlp;

/* An SDK may publish its process's context some time after the start. */
#define RESOURCE_GOOD_S 300.0
/* Processes with their own resource in a report. */
#define OTLP_SUBJECTS_MAX 64

/*
 * Returns a sender of metrics and log records for this host; report_otlp_free() frees it. NULL: out
 * of memory. `host` is borrowed.
 */
struct report_otlp *report_otlp_new(const char *host);
/* Frees it; NULL is allowed. */
void report_otlp_free(struct report_otlp *otlp);

/* Sends the metrics of a report, if its kind has Prometheus metrics. Failures are logged. */
void report_otlp_metrics(struct report_otlp *otlp, struct pusher *pusher, enum output_kind kind,
			 const void *report);
/* Sends a log record. Failures are logged. */
void report_otlp_event(struct report_otlp *otlp, struct pusher *pusher,
		       const struct leak_event *event);

#endif
