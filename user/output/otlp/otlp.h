/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Requests of OTLP/HTTP in binary protobuf (opentelemetry.io/docs/specs/otlp; field numbers:
 * github.com/open-telemetry/opentelemetry-proto, 1.x): metrics, and log records of changed
 * verdicts. All text from a target is made inert.
 */
#ifndef LEAKMON_OUTPUT_OTLP_OTLP_H
#define LEAKMON_OUTPUT_OTLP_OTLP_H

#include <stdint.h>
#include <stdio.h>

#include "base/vec.h"

struct container;
struct leak_event;

struct otlp_attribute {
	char *key, *value; /* owned; valid UTF-8 */
};

/* The source of telemetry: attributes named by OpenTelemetry's semantic conventions. */
struct otlp_resource {
	VEC(struct otlp_attribute) list;
};

/*
 * Copies an attribute, unless its key is already set; NULL and "" are ignored. Returns 0 or
 * -ENOMEM.
 */
int otlp_resource_set(struct otlp_resource *resource, const char *key, const char *value);
/*
 * Sets attributes from "KEY=VALUE,KEY=VALUE", the form of OTEL_RESOURCE_ATTRIBUTES,
 * percent-encoded; malformed pairs are ignored. Returns 0 or -ENOMEM.
 */
int otlp_resource_set_list(struct otlp_resource *resource, const char *list);
/* Sets container.id, container.name or k8s.*, where proven. NULL: none. Returns 0 or -ENOMEM. */
int otlp_resource_set_container(struct otlp_resource *resource, const struct container *container);
void otlp_resource_free(struct otlp_resource *resource);

/* Processes whose series have the labels `comm` and those of the container. Borrowed. */
struct otlp_subject {
	const char *comm;
	const struct container *container; /* NULL: not in a container */
	const struct otlp_resource *resource;
};

struct otlp_metrics {
	/* for series without a process, and included in all others */
	const struct otlp_resource *host;
	const struct otlp_subject *subjects;
	size_t subject_count;
	uint64_t started_ns, time_ns; /* since 1970: start of the counters; time of the report */
};

/*
 * Writes an ExportMetricsServiceRequest with the metrics of a document in Prometheus' text format
 * (output/prom), with the same names and labels. A series of several processes gets the attributes
 * that all their resources share. `prometheus` is the document, and is modified. Returns 0,
 * -ENOMEM, -EBADMSG or -errno of writing.
 */
int otlp_metrics_write(FILE *out, char *prometheus, const struct otlp_metrics *metrics);

/* Writes an ExportLogsServiceRequest with one record. Returns 0, -ENOMEM or -errno of writing. */
int otlp_log_write(FILE *out, const struct leak_event *event, const struct otlp_resource *resource);

struct protobuf;
/*
 * For the writers: encode a message of type Resource, KeyValue (three types) or
 * InstrumentationScope.
 */
void otlp_resource_encode(struct protobuf *to, unsigned field,
			  const struct otlp_resource *resource);
void otlp_text(struct protobuf *to, unsigned field, const char *key, const char *value);
void otlp_number(struct protobuf *to, unsigned field, const char *key, uint64_t value);
void otlp_real(struct protobuf *to, unsigned field, const char *key, double value);
void otlp_scope(struct protobuf *to, unsigned field);

#endif
