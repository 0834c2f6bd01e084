/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Requests of OTLP/HTTP in binary protobuf (opentelemetry.io/docs/specs/otlp; field numbers:
 * github.com/open-telemetry/opentelemetry-proto, 1.x): metrics, and log records for verdicts that
 * change. Every text of a target is made inert on the way.
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

/* Where telemetry comes from: attributes by the names of OpenTelemetry's semantic conventions. */
struct otlp_resource {
	VEC(struct otlp_attribute) list;
};

/* Copies an attribute, unless its key is set already; NULL or "" is no value. 0 or -ENOMEM. */
int otlp_resource_set(struct otlp_resource *resource, const char *key, const char *value);
/* "KEY=VALUE,KEY=VALUE", as OTEL_RESOURCE_ATTRIBUTES has it, percent-encoded; malformed pairs are
 * left out. 0 or -ENOMEM. */
int otlp_resource_set_list(struct otlp_resource *resource, const char *list);
/* container.id, container.name or k8s.*: what is proven. NULL: none. 0 or -ENOMEM. */
int otlp_resource_set_container(struct otlp_resource *resource, const struct container *container);
void otlp_resource_free(struct otlp_resource *resource);

/* Processes of which the series have the labels `comm` and those of a container. Borrowed. */
struct otlp_subject {
	const char *comm;
	const struct container *container; /* NULL: none */
	const struct otlp_resource *resource;
};

struct otlp_metrics {
	const struct otlp_resource *host; /* of series about no process, and part of all others */
	const struct otlp_subject *subjects;
	size_t subject_count;
	uint64_t started_ns, time_ns; /* since 1970: of the counters; of the report */
};

/*
 * ExportMetricsServiceRequest: the metrics of a document in Prometheus' text format (output/prom),
 * with the same names and labels. A series of several processes has the attributes of resources on
 * which all of them agree. `prometheus` is the document, and is changed. 0, -ENOMEM, -EBADMSG or
 * -errno of writing.
 */
int otlp_metrics_write(FILE *out, char *prometheus, const struct otlp_metrics *metrics);

/* ExportLogsServiceRequest with one record. 0, -ENOMEM or -errno of writing. */
int otlp_log_write(FILE *out, const struct leak_event *event, const struct otlp_resource *resource);

struct protobuf;
/* For the writers: a message of type Resource; of type KeyValue; InstrumentationScope. */
void otlp_resource_encode(struct protobuf *to, unsigned field,
			  const struct otlp_resource *resource);
void otlp_text(struct protobuf *to, unsigned field, const char *key, const char *value);
void otlp_number(struct protobuf *to, unsigned field, const char *key, uint64_t value);
void otlp_real(struct protobuf *to, unsigned field, const char *key, double value);
void otlp_scope(struct protobuf *to, unsigned field);

#endif
