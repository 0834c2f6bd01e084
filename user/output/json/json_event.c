// SPDX-License-Identifier: GPL-2.0-or-later
/* An event as --webhook sends it: user/schema/event.schema.json. */
#include <math.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "output/json/json.h"
#include "output/output.h"
#include "output/text/text.h"
#include "report/leak_event.h"
#include "symbol/site_label.h"

static const char *const names[] = {[EVENT_LEAKING] = "leaking", [EVENT_LIMIT_NEAR] = "limit-near"};
_Static_assert(ARRAY_SIZE(names) == EVENT_KIND_MAX_, "a name for every kind");

static const char *leak_event_name(enum leak_event_kind kind)
{
	return names[kind];
}

static void place_print(FILE *out, const struct leak_event *event)
{
	if (event->pid)
		fprintf(out, "%s (PID %d)", event->comm, (int)event->pid);
	else
		fputs(event->cgroup && *event->cgroup ? event->cgroup : "the machine", out);
	if (event->container) {
		fputs(" in ", out);
		container_print_name(out, event->container);
	}
	if (event->host)
		fprintf(out, " on %s", event->host);
}

static void leaking_print(FILE *out, const struct leak_event *event)
{
	char rate[16];

	place_print(out, event);
	fputs(" is leaking", out);
	if (event->frames && site_label_function(event->frames)) {
		fputs(" at ", out);
		text_code_print(out, event->frames, LABEL_SHORT);
	}
	if (event->bytes_per_s > 0)
		fprintf(out, ": %s an hour", units_bytes(rate, event->bytes_per_s * 3600, "+"));
	if (!isnan(event->confidence))
		fprintf(out, ", %.0f %% sure", event->confidence * 100);
}

static void limit_print(FILE *out, const struct leak_event *event)
{
	const struct limit *limit = event->limit;
	char used[16], bytes[16], left[16];

	fprintf(out, "%s of %s is near: %s of %s used", limit_kind_name(limit->kind),
		*limit->path ? limit->path : "the machine", units_bytes(used, limit->used, ""),
		units_bytes(bytes, limit->bytes, ""));
	if (limit->left.known)
		fprintf(out, ", reached in %s", units_time(left, limit->left.seconds));
	fputs("; ", out);
	place_print(out, event);
	if (event->pid)
		fputs(" grows most", out);
}

/* One sentence, for chats that show the member "text". */
static void text_write(struct json_writer *json, const struct leak_event *event)
{
	_cleanup_free_ char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return;
	if (event->kind == EVENT_LEAKING)
		leaking_print(out, event);
	else
		limit_print(out, event);
	if (!fclose(out))
		json_put_string(json, "text", text);
}

static void limit_write(struct json_writer *json, const struct limit *limit)
{
	if (!limit)
		return;
	json_open(json, "limit", '{');
	json_put_string(json, "kind", limit_kind_name(limit->kind));
	json_put_string(json, "cgroup", *limit->path ? limit->path : NULL);
	json_put_real(json, "limit_bytes", limit->bytes);
	json_put_real(json, "used_bytes", limit->used);
	json_put_real(json, "seconds_left", limit->left.known ? limit->left.seconds : NAN);
	json_close(json, '}');
}

static void site_write(struct json_writer *json, const struct leak_event *event)
{
	if (!event->frames)
		return;
	json_open(json, "site", '{');
	json_id_write(json, "id", event->site);
	json_stack_write(json, NULL, 0, event->frames);
	json_close(json, '}');
}

int json_event_write(FILE *out, const struct leak_event *event)
{
	struct json_writer json = {.out = out};
	char next[64];

	snprintf(next, sizeof(next), "leakmon diagnose -p %d", (int)event->pid);
	json_open(&json, NULL, '{');
	json_put_number(&json, "schema", 1);
	json_put_string(&json, "event", leak_event_name(event->kind));
	json_time_write(&json, "time", &event->time);
	text_write(&json, event);
	json_put_string(&json, "host", event->host);
	json_put_known(&json, "pid", event->pid != 0, (uint64_t)event->pid);
	json_put_string(&json, "comm", event->pid ? event->comm : NULL);
	json_put_string(&json, "exe", event->exe);
	json_put_string(&json, "cgroup", event->cgroup);
	json_container_write(&json, event->container);
	json_put_string(&json, "kind", event->quantity);
	json_put_real(&json, "bytes_per_s", event->bytes_per_s);
	json_put_real(&json, "confidence", event->confidence);
	site_write(&json, event);
	limit_write(&json, event->limit);
	json_put_string(&json, "next", event->pid ? next : NULL);
	json_close(&json, '}');
	fputc('\n', out);
	return output_finish(out);
}
