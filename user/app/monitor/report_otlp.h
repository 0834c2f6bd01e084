/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reports as OpenTelemetry has them (output/otlp): the resources of processes, which are looked up
 * at most every RESOURCE_GOOD_S, and the requests of a report.
 */
#ifndef LEAKMON_MONITOR_REPORT_OTLP_H
#define LEAKMON_MONITOR_REPORT_OTLP_H

#include "base/serve/pusher.h"
#include "output/output.h"
#include "report/leak_event.h"

struct report_otlp;

/* An SDK may publish the context of its process some time after the start. */
#define RESOURCE_GOOD_S 300.0
/* In a report, processes with a resource of their own. */
#define OTLP_SUBJECTS_MAX 64

/* NULL: out of memory. `host` is borrowed. */
struct report_otlp *report_otlp_new(const char *host);
/* NULL is allowed. */
void report_otlp_free(struct report_otlp *otlp);

/* Sends the metrics of a report, if Prometheus has some of its kind. What fails is said. */
void report_otlp_metrics(struct report_otlp *otlp, struct pusher *pusher, enum output_kind kind,
			 const void *report);
/* Sends a log record. */
void report_otlp_event(struct report_otlp *otlp, struct pusher *pusher,
		       const struct leak_event *event);

#endif
