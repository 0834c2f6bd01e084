// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>

#include "output/html.h"
#include "output/json_parts.h"

#define NS_PER_MS 1000000

void html_head_write(struct json_writer *json, const char *kind)
{
	json_put_number(json, "schema", 1);
	json_put_string(json, "kind", kind);
	json_put_string(json, "version", LEAKMON_VERSION);
}

void html_snapshot_write(struct json_writer *json, const struct report *report)
{
	const struct snapshot *snapshot = report->snapshot;

	json_put_signed(json, "time_ms",
			(int64_t)snapshot->time.tv_sec * 1000 + snapshot->time.tv_nsec / NS_PER_MS);
	json_put_number(json, "sequence", snapshot->sequence);
	json_put_string(json, "host", report->host);
	json_put_bool(json, "sampled", snapshot->sampled);
	json_put_bool(json, "has_ages", snapshot->has_ages);
}

static void loss_write(struct json_writer *json, const char *kind, const char *cause,
		       uint64_t count, const char *advice)
{
	if (!count)
		return;
	json_open(json, NULL, '{');
	json_put_string(json, "kind", kind);
	json_put_string(json, "cause", cause);
	json_put_number(json, "count", count);
	json_put_string(json, "advice", advice);
	json_close(json, '}');
}

void html_books_write(struct json_writer *json, const struct snapshot *snapshot)
{
	const struct ledger *ledger = &snapshot->ledger;

	output_json_ledger_write(json, snapshot);
	if (snapshot->has_mappings)
		output_json_mapping_write(json, &snapshot->mapping);
	json_open(json, "losses", '[');
	for (size_t i = 0; i < LM_DROP_MAX_; i++)
		loss_write(json, "allocations dropped", drop_name(i), ledger->dropped[i],
			   drop_advice(i));
	for (size_t i = LM_LOST_NONE + 1; i < LM_LOST_MAX_; i++)
		loss_write(json, "allocations without a stack", lost_name(i),
			   ledger->lost_stacks[i], lost_advice(i));
	for (size_t i = LM_WALK_ROOT + 1; i < LM_WALK_MAX_; i++)
		loss_write(json, "stacks that end early", walk_end_name(i), ledger->walk_ends[i],
			   walk_end_advice(i));
	json_close(json, ']');
}

void html_site_write(struct json_writer *json, struct html_names *names,
		     const struct report_site *site)
{
	char id[17];

	snprintf(id, sizeof(id), "%016" PRIx64, site->id);
	json_put_string(json, "id", id);
	json_put_string(json, "family", family_name(site->site->family));
	json_put_string(json, "kind", kind_name(site->site->kind));
	json_put_string(json, "lost", site->site->lost ? lost_name(site->site->lost) : NULL);
	if (site->site->end != LM_WALK_ROOT)
		json_put_string(json, "end", walk_end_name(site->site->end));
	html_stack_write(json, names, site);
}
