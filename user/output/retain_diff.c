// SPDX-License-Identifier: GPL-2.0-or-later
/* What changed between two runs of `leakmon retain`: classes, and what roots retain. */
#include <inttypes.h>
#include <time.h>

#include "report/diff.h"
#include "base/text.h"
#include "output/json_writer.h"
#include "output/output.h"
#include "output/report_json.h"
#include "output/retain_format.h"

static enum diff_state state_of(const struct retained_change *change)
{
	return diff_state_of(&(struct diff_amount){change->was.bytes, change->was.blocks},
			     &(struct diff_amount){change->is.bytes, change->is.blocks});
}

/* A root that retains nothing by itself, in neither run, is no news; nor is what stayed. */
static bool is_news(const struct retained_change *change)
{
	return (change->was.blocks || change->is.blocks) && state_of(change) != DIFF_SAME;
}

static struct retention_total all_of(const struct retain_result *result)
{
	struct retention_total all = {0};

	for (size_t i = 0; i < VERDICT_MAX_; i++) {
		all.blocks += result->totals[i].blocks;
		all.bytes += result->totals[i].bytes;
	}
	return all;
}

static void side_write(FILE *out, const char *name, int64_t number, const char *label,
		       const struct retain_result *result)
{
	struct tm local = {0};
	char clock[32];

	localtime_r(&result->time.tv_sec, &local);
	strftime(clock, sizeof(clock), "%Y-%m-%d %H:%M:%S", &local);
	text_print_inert(out, name);
	fprintf(out, " retain run %" PRId64 " of process %d ", number, result->pid);
	text_print_inert(out, result->comm);
	fprintf(out, " (%s", clock);
	if (label) {
		fputs(", ", out);
		text_print_inert(out, label);
	}
	fputc(')', out);
}

static void total_write(FILE *out, const char *what, struct retention_total was,
			struct retention_total is)
{
	fprintf(out,
		"%s%+" PRId64 " bytes, %+" PRId64 " blocks (%" PRIu64 " -> %" PRIu64
		" bytes, %" PRIu64 " -> %" PRIu64 " blocks)\n",
		what, (int64_t)(is.bytes - was.bytes), (int64_t)(is.blocks - was.blocks), was.bytes,
		is.bytes, was.blocks, is.blocks);
}

static void change_write(FILE *out, bool colour, const struct retained_change *change)
{
	enum diff_state state = state_of(change);
	bool more = state == DIFF_NEW || state == DIFF_GROWN;

	fprintf(out, "\t%s%+" PRId64 " bytes, %+" PRId64 " blocks%s  %s",
		!colour ? ""
		: more	? "\033[31m"
			: "\033[32m",
		change_bytes(change), change_blocks(change), colour ? "\033[0m" : "",
		diff_state_name(state));
	if (change->was.blocks && change->is.blocks)
		fprintf(out,
			" (%" PRIu64 " -> %" PRIu64 " bytes, %" PRIu64 " -> %" PRIu64 " blocks)",
			change->was.bytes, change->is.bytes, change->was.blocks, change->is.blocks);
	fputs(": ", out);
}

static void class_write(FILE *out, const struct retain_diff *diff,
			const struct retained_change *change)
{
	bool there = change->after != RESULT_NONE;
	const struct retain_result *result = there ? diff->after : diff->before;

	retain_class_write(out, result,
			   &result->classes.items[there ? change->after : change->before]);
	if (change->farther)
		fprintf(out, "  GROWING CHAIN: %" PRIu32 " steps longer than before",
			change->farther);
}

static void root_write(FILE *out, const struct retain_diff *diff,
		       const struct retained_change *change)
{
	bool there = change->after != RESULT_NONE;
	const struct retain_result *result = there ? diff->after : diff->before;

	retain_root_write(out, &result->roots.items[there ? change->after : change->before]);
}

static void changes_write(FILE *out, const struct retain_diff_report *report, const char *heading,
			  const struct retained_changes *changes,
			  void (*write)(FILE *, const struct retain_diff *,
					const struct retained_change *))
{
	size_t news = 0, shown = 0;

	fprintf(out, "\n%s%s%s\n", report->colour ? "\033[1m" : "", heading,
		report->colour ? "\033[0m" : "");
	for (size_t i = 0; i < changes->list.count; i++) {
		const struct retained_change *change = &changes->list.items[i];

		if (!is_news(change) || (report->top && news++ >= report->top))
			continue;
		change_write(out, report->colour, change);
		write(out, report->diff, change);
		fputc('\n', out);
		shown++;
	}
	if (!shown)
		fputs("\tnone\n", out);
	if (report->top && news > shown)
		fprintf(out, "\t… and %zu more that changed\n", news - shown);
}

int retain_text_diff_write(FILE *out, const struct retain_diff_report *report)
{
	const struct retain_result *before = report->diff->before, *after = report->diff->after;

	side_write(out, report->before_name, report->before_number, report->before_label, before);
	fputs(" -> ", out);
	side_write(out, report->after_name, report->after_number, report->after_label, after);
	fputc('\n', out);
	total_write(out, "", all_of(before), all_of(after));
	total_write(out, "unreachable: ", before->totals[VERDICT_LOST],
		    after->totals[VERDICT_LOST]);
	changes_write(out, report, "Classes that changed:", &report->diff->classes, class_write);
	changes_write(out, report,
		      "Roots that changed, by what they alone hold:", &report->diff->roots,
		      root_write);
	fputc('\n', out);
	return output_finish(out);
}

static void side_json(struct json_writer *json, const char *key, const char *name, int64_t number,
		      const char *label, const struct retain_result *result)
{
	json_open(json, key, '{');
	json_put_string(json, "recording", name);
	json_put_signed(json, "run", number);
	output_json_time(json, "time", &result->time);
	json_put_string(json, "label", label);
	json_put_number(json, "pid", (uint64_t)result->pid);
	json_put_string(json, "comm", result->comm);
	json_close(json, '}');
}

static void amounts_json(struct json_writer *json, const struct retention_total *was,
			 const struct retention_total *is)
{
	output_json_amounts_write(json, "bytes", was->bytes, is->bytes);
	output_json_amounts_write(json, "count", was->blocks, is->blocks);
}

static void total_json(struct json_writer *json, const char *key, struct retention_total was,
		       struct retention_total is)
{
	json_open(json, key, '{');
	amounts_json(json, &was, &is);
	json_close(json, '}');
}

static void class_json(struct json_writer *json, const struct retain_diff *diff,
		       const struct retained_change *change)
{
	bool there = change->after != RESULT_NONE;
	const struct retain_result *result = there ? diff->after : diff->before;

	json_put_number(json, "farther", change->farther);
	retain_json_class(json, result,
			  &result->classes.items[there ? change->after : change->before]);
}

static void root_json(struct json_writer *json, const struct retain_diff *diff,
		      const struct retained_change *change)
{
	bool there = change->after != RESULT_NONE;
	const struct retain_result *result = there ? diff->after : diff->before;

	retain_json_root(json, &result->roots.items[there ? change->after : change->before]);
}

static void changes_json(struct json_writer *json, const struct retain_diff_report *report,
			 const char *key, const struct retained_changes *changes,
			 void (*write)(struct json_writer *, const struct retain_diff *,
				       const struct retained_change *))
{
	size_t shown = 0;

	json_open(json, key, '[');
	for (size_t i = 0; i < changes->list.count; i++) {
		const struct retained_change *change = &changes->list.items[i];

		if (!is_news(change) || (report->top && shown++ >= report->top))
			continue;
		json_open(json, NULL, '{');
		json_put_string(json, "state", diff_state_name(state_of(change)));
		amounts_json(json, &change->was, &change->is);
		write(json, report->diff, change);
		json_close(json, '}');
	}
	json_close(json, ']');
}

int retain_json_diff_write(FILE *out, const struct retain_diff_report *report)
{
	const struct retain_result *before = report->diff->before, *after = report->diff->after;
	struct json_writer json = {.out = out};

	json_open(&json, NULL, '{');
	json_put_number(&json, "schema", 1);
	json_put_string(&json, "kind", "retain_diff");
	side_json(&json, "from", report->before_name, report->before_number, report->before_label,
		  before);
	side_json(&json, "to", report->after_name, report->after_number, report->after_label,
		  after);
	total_json(&json, "total", all_of(before), all_of(after));
	total_json(&json, "unreachable", before->totals[VERDICT_LOST], after->totals[VERDICT_LOST]);
	changes_json(&json, report, "classes", &report->diff->classes, class_json);
	changes_json(&json, report, "roots", &report->diff->roots, root_json);
	json_close(&json, '}');
	fputc('\n', out);
	return output_finish(out);
}
