// SPDX-License-Identifier: GPL-2.0-or-later
/* Prints an event as a sentence, for chats and logs. */
#include <math.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "output/text/text.h"
#include "process/symbol/site_label.h"
#include "report/leak_event.h"

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

static void growth_print(FILE *out, const struct leak_event *event)
{
	char rate[16];

	place_print(out, event);
	fprintf(out, " is %s", event->verdict ? event->verdict : "leaking");
	if (event->frames && site_label_function(event->frames)) {
		fputs(" at ", out);
		text_code_print(out, event->frames, LABEL_SHORT);
	}
	if (event->was)
		fprintf(out, " (was %s)", event->was);
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

void text_event_print(FILE *out, const struct leak_event *event)
{
	if (event->kind == EVENT_LIMIT_NEAR) {
		limit_print(out, event);
	} else if (event->kind == EVENT_DIAGNOSED) {
		place_print(out, event);
		fprintf(out, ": %s", event->answer);
	} else {
		growth_print(out, event);
	}
}
