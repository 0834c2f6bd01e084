// SPDX-License-Identifier: GPL-2.0-or-later
/* Writes changes as one object on one line: see user/schema/diff.schema.json. */

#include "report/family.h"
#include "base/cleanup.h"
#include "output/json/json.h"
#include "output/json/json_writer.h"
#include "output/output.h"

static void side_write(struct json_writer *json, const char *key, const char *name,
		       const char *label, const struct report *report)
{
	json_open(json, key, '{');
	json_put_string(json, "recording", name);
	json_put_number(json, "sequence", report->snapshot->sequence);
	json_time_write(json, "time", &report->snapshot->time);
	json_put_string(json, "label", label);
	json_close(json, '}');
}

/* Writes limits for programs that sample themselves. */
static void estimate_write(struct json_writer *json, const struct diff *diff,
			   const struct diff_row *row)
{
	struct bounds limits;

	if (!diff_limits(diff, row, &limits))
		return;
	json_open(json, "estimate", '{');
	json_put_real(json, "difference_low", limits.low);
	json_put_real(json, "difference_high", limits.high);
	json_put_bool(json, "within_chance", diff_is_chance(&limits));
	json_close(json, '}');
}

static void row_write(struct json_writer *json, const struct diff *diff, const struct diff_row *row)
{
	json_open(json, NULL, '{');
	json_put_string(json, "state", diff_state_name(row->state));
	json_put_string(json, "name", row->name);
	json_amounts_write(json, "bytes", row->before.bytes, row->after.bytes);
	json_amounts_write(json, "count", row->before.count, row->after.count);
	json_amounts_write(json, "stays_bytes", row->stays_before.bytes, row->stays_after.bytes);
	json_amounts_write(json, "stays_count", row->stays_before.count, row->stays_after.count);
	estimate_write(json, diff, row);
	if (diff->has_owners) {
		json_amounts_write(json, "by_dead_bytes", row->by_dead_before.bytes,
				   row->by_dead_after.bytes);
		json_amounts_write(json, "by_dead_count", row->by_dead_before.count,
				   row->by_dead_after.count);
	}
	json_put_number(json, "sites", row->sites);
	if (!row->name) {
		json_id_write(json, "id", row->site->id);
		json_put_string(json, "comm", row->comm);
		json_put_bool(json, "by_name", row->by_name);
		json_put_string(json, "family", family_name(row->site->site->family));
		json_frames_write(json, row->site);
	}
	json_close(json, '}');
}

static bool row_has_changed(const struct diff_row *row)
{
	return row->state != DIFF_SAME;
}

static void rows_write(struct json_writer *json, const char *key, const struct diff *diff,
		       bool (*belongs)(const struct diff_row *row))
{
	size_t shown = 0;

	json_open(json, key, '[');
	for (size_t i = 0; i < diff->rows.count; i++) {
		if (!belongs(&diff->rows.items[i]) || (diff->top && shown == diff->top))
			continue;
		row_write(json, diff, &diff->rows.items[i]);
		shown++;
	}
	json_close(json, ']');
}

static void dead_row_write(struct json_writer *json, const struct diff_dead *row)
{
	json_open(json, NULL, '{');
	json_put_string(json, "state", diff_state_name(row->state));
	json_amounts_write(json, "count", row->before.count, row->after.count);
	json_amounts_write(json, "stack_bytes", row->before.bytes, row->after.bytes);
	json_id_write(json, "id", row->dead->id);
	json_put_string(json, "comm", row->comm);
	json_open(json, "start_routine", '{');
	json_stack_write(json, NULL, 0, &row->dead->start);
	json_close(json, '}');
	json_stack_write(json, NULL, 0, &row->dead->stack);
	json_close(json, '}');
}

void json_diff_dead_write(struct json_writer *json, const struct diff *diff)
{
	size_t shown = 0;

	json_open(json, "dead_threads", '[');
	for (size_t i = 0; i < diff->dead.count; i++) {
		if (diff->dead.items[i].state == DIFF_SAME || (diff->top && shown == diff->top))
			continue;
		dead_row_write(json, &diff->dead.items[i]);
		shown++;
	}
	json_close(json, ']');
}

int json_diff_write(FILE *out, const void *data)
{
	const struct diff *diff = data;
	struct json_writer json = {.out = out};

	json_open(&json, NULL, '{');
	json_put_number(&json, "schema", 1);
	json_put_string(&json, "kind", "diff");
	json_put_string(&json, "by", diff_group_name(diff->by));
	side_write(&json, "from", diff->before_name, diff->before_label, diff->before);
	side_write(&json, "to", diff->after_name, diff->after_label, diff->after);
	json_put_bool(&json, "same_run", diff->same_run);
	json_put_bool(&json, "unrelated", diff->unrelated);
	json_amounts_write(&json, "bytes", diff->total_before.bytes, diff->total_after.bytes);
	json_amounts_write(&json, "count", diff->total_before.count, diff->total_after.count);
	json_amounts_write(&json, "stays_bytes", diff->stays_before.bytes, diff->stays_after.bytes);
	json_amounts_write(&json, "stays_count", diff->stays_before.count, diff->stays_after.count);
	estimate_write(&json, diff, NULL);
	rows_write(&json, "rows", diff, row_has_changed);
	rows_write(&json, "bursts", diff, diff_is_burst);
	json_diff_dead_write(&json, diff);
	json_split_changes_write(&json, &diff->memory);
	json_close(&json, '}');
	fputc('\n', out);
	return output_finish(out);
}
