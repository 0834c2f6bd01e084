// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Writes an event as a log record. Attributes follow OpenTelemetry's semantic conventions for code;
 * others begin with "leakmon.".
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/protobuf.h"
#include "base/text.h"
#include "output/otlp/otlp.h"
#include "output/output.h"
#include "output/text/text.h"
#include "process/symbol/site_label.h"
#include "report/leak_event.h"

/* Field numbers of logs_service.proto, logs.proto and common.proto. */
enum { REQUEST_RESOURCE_LOGS = 1 };
enum { RESOURCE_LOGS_RESOURCE = 1, RESOURCE_LOGS_SCOPE };
enum { SCOPE_LOGS_SCOPE = 1, SCOPE_LOGS_RECORD };
enum {
	RECORD_TIME = 1,
	RECORD_SEVERITY,
	RECORD_SEVERITY_TEXT,
	RECORD_BODY = 5,
	RECORD_ATTRIBUTES,
	RECORD_OBSERVED = 11,
	RECORD_EVENT_NAME
};
enum { ANY_VALUE_STRING = 1 };
enum { SEVERITY_INFO = 9, SEVERITY_WARN = 13 };

static const struct {
	const char *name, *severity_text;
	unsigned severity;
} kinds[] = {
	[EVENT_LEAKING] = {"leakmon.verdict", "WARN", SEVERITY_WARN},
	[EVENT_LIMIT_NEAR] = {"leakmon.limit_near", "WARN", SEVERITY_WARN},
	[EVENT_VERDICT] = {"leakmon.verdict", "INFO", SEVERITY_INFO},
	[EVENT_DIAGNOSED] = {"leakmon.diagnosis", "INFO", SEVERITY_INFO},
};
_Static_assert(ARRAY_SIZE(kinds) == EVENT_KIND_MAX_, "a row for every kind");

/* Returns the text that `print` writes; the caller frees it. NULL: out of memory. */
static char *printed(void (*print)(FILE *, const struct leak_event *),
		     const struct leak_event *event)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	print(out, event);
	if (!fclose(out))
		return text;
	free(text);
	return NULL;
}

static void body_encode(struct protobuf *record, const struct leak_event *event)
{
	_cleanup_free_ char *text = printed(text_event_print, event);
	_cleanup_free_ char *inert = text ? text_inert(text) : NULL;
	struct protobuf any = {0};

	record->failed |= !inert;
	if (!inert)
		return;
	protobuf_text(&any, ANY_VALUE_STRING, inert);
	protobuf_message(record, RECORD_BODY, &any);
	protobuf_free(&any);
}

/* Prints one frame per line, the caller of the allocator first. */
static void stack_print(FILE *out, const struct leak_event *event)
{
	for (size_t i = 0; i < event->frames->list.count; i++) {
		const struct frame *frame = &event->frames->list.items[i];

		if (i)
			fputs("; ", out);
		fputs(frame->function ? frame->function : "?", out);
		if (frame->file)
			fprintf(out, " %s:%" PRIu32, frame->file, frame->line);
	}
}

static void code_encode(struct protobuf *record, const struct leak_event *event)
{
	const struct frame *frame = event->frames ? site_label_frame(event->frames) : NULL;
	_cleanup_free_ char *stack = frame ? printed(stack_print, event) : NULL;
	char site[17];

	if (event->site) {
		snprintf(site, sizeof(site), "%016" PRIx64, event->site);
		otlp_text(record, RECORD_ATTRIBUTES, "leakmon.site.id", site);
	}
	if (!frame)
		return;
	otlp_text(record, RECORD_ATTRIBUTES, "code.function.name", frame->function);
	otlp_text(record, RECORD_ATTRIBUTES, "code.file.path", frame->file);
	otlp_number(record, RECORD_ATTRIBUTES, "code.line.number", frame->line);
	otlp_text(record, RECORD_ATTRIBUTES, "code.stacktrace", stack);
	otlp_text(record, RECORD_ATTRIBUTES, "leakmon.module", frame->module);
	otlp_text(record, RECORD_ATTRIBUTES, "leakmon.build_id", frame->build_id);
}

static void record_encode(struct protobuf *record, const struct leak_event *event)
{
	const uint64_t time_ns =
		(uint64_t)event->time.tv_sec * UINT64_C(1000000000) + (uint64_t)event->time.tv_nsec;

	protobuf_fixed(record, RECORD_TIME, time_ns);
	protobuf_fixed(record, RECORD_OBSERVED, time_ns);
	protobuf_number(record, RECORD_SEVERITY, kinds[event->kind].severity);
	protobuf_text(record, RECORD_SEVERITY_TEXT, kinds[event->kind].severity_text);
	protobuf_text(record, RECORD_EVENT_NAME, kinds[event->kind].name);
	body_encode(record, event);
	otlp_number(record, RECORD_ATTRIBUTES, "process.pid", (uint64_t)event->pid);
	otlp_text(record, RECORD_ATTRIBUTES, "process.executable.name", event->comm);
	otlp_text(record, RECORD_ATTRIBUTES, "process.executable.path", event->exe);
	otlp_text(record, RECORD_ATTRIBUTES, "leakmon.verdict", event->verdict);
	otlp_text(record, RECORD_ATTRIBUTES, "leakmon.verdict.previous", event->was);
	otlp_text(record, RECORD_ATTRIBUTES, "leakmon.kind", event->quantity);
	otlp_real(record, RECORD_ATTRIBUTES, "leakmon.growth_bytes_per_second", event->bytes_per_s);
	otlp_real(record, RECORD_ATTRIBUTES, "leakmon.confidence", event->confidence);
	otlp_text(record, RECORD_ATTRIBUTES, "leakmon.class", event->class);
	otlp_text(record, RECORD_ATTRIBUTES, "leakmon.holder", event->holder);
	code_encode(record, event);
	if (!event->limit)
		return;
	otlp_text(record, RECORD_ATTRIBUTES, "leakmon.limit.kind",
		  limit_kind_name(event->limit->kind));
	otlp_text(record, RECORD_ATTRIBUTES, "leakmon.limit.cgroup", event->limit->path);
	otlp_real(record, RECORD_ATTRIBUTES, "leakmon.limit.bytes", event->limit->bytes);
	otlp_real(record, RECORD_ATTRIBUTES, "leakmon.limit.used_bytes", event->limit->used);
}

int otlp_log_write(FILE *out, const struct leak_event *event, const struct otlp_resource *resource)
{
	struct protobuf record = {0}, scope = {0}, all = {0};
	_cleanup_(protobuf_free) struct protobuf request = {0};

	record_encode(&record, event);
	otlp_scope(&scope, SCOPE_LOGS_SCOPE);
	protobuf_message(&scope, SCOPE_LOGS_RECORD, &record);
	otlp_resource_encode(&all, RESOURCE_LOGS_RESOURCE, resource);
	protobuf_message(&all, RESOURCE_LOGS_SCOPE, &scope);
	protobuf_message(&request, REQUEST_RESOURCE_LOGS, &all);
	protobuf_free(&record);
	protobuf_free(&scope);
	protobuf_free(&all);
	if (request.failed)
		return -ENOMEM;
	fwrite(request.bytes, 1, request.count, out);
	return output_finish(out);
}
