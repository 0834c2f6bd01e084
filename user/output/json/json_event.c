// SPDX-License-Identifier: GPL-2.0-or-later
/* Writes an event for --webhook: user/schema/event.schema.json. */
#include <math.h>

#include "base/cleanup.h"
#include "output/json/json.h"
#include "output/output.h"
#include "output/text/text.h"
#include "report/leak_event.h"

static const char *const names[] = {
	[EVENT_LEAKING] = "leaking",
	[EVENT_LIMIT_NEAR] = "limit-near",
	[EVENT_VERDICT] = "verdict",
	[EVENT_DIAGNOSED] = "diagnosed",
};
_Static_assert(ARRAY_SIZE(names) == EVENT_KIND_MAX_, "a name for every kind");

/* Writes one sentence, for chats that show the member "text". */
static void text_write(struct json_writer *json, const struct leak_event *event)
{
	_cleanup_free_ char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return;
	text_event_print(out, event);
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
	json_put_string(&json, "event", names[event->kind]);
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
	if (event->class)
		json_put_string(&json, "class", event->class);
	if (event->holder)
		json_put_string(&json, "holder", event->holder);
	site_write(&json, event);
	if (event->answer_json)
		json_put_verbatim(&json, "answer", event->answer_json);
	limit_write(&json, event->limit);
	json_put_string(&json, "next", event->pid ? next : NULL);
	json_close(&json, '}');
	fputc('\n', out);
	return output_finish(out);
}
