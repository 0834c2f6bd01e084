// SPDX-License-Identifier: GPL-2.0-or-later
/* Writes changes for people: one row per site or group, the greatest growth first. */
#include <inttypes.h>
#include <math.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "base/units.h"
#include "output/text/text.h"
#include "output/output.h"
#include "process/symbol/site_label.h"

static void side_write(FILE *out, const char *name, const char *label, const struct report *report)
{
	char clock[TEXT_TIME_SIZE];

	text_date(clock, report->snapshot->time.tv_sec);
	if (name) {
		text_print_inert(out, name);
		fputc(' ', out);
	}
	fprintf(out, "snapshot %" PRIu64 " (%s", report->snapshot->sequence, clock);
	if (label) {
		fputs(", ", out);
		text_print_inert(out, label);
	}
	fputc(')', out);
}

/* Returns whether either snapshot has short-lived blocks. */
static bool has_bursts(const struct diff *diff)
{
	return diff->stays_before.bytes != diff->total_before.bytes ||
	       diff->stays_after.bytes != diff->total_after.bytes;
}

/* Writes limits after an estimate; nothing for exact figures. */
static bool limits_write(FILE *out, const char *before, const struct diff *diff,
			 const struct diff_row *row)
{
	struct bounds limits;
	char low[16], high[16];

	if (!diff_limits(diff, row, &limits))
		return false;
	fprintf(out, "%sestimated from samples: 95%%: %s to %s%s\n", before,
		units_bytes(low, limits.low, "+"), units_bytes(high, limits.high, "+"),
		diff_is_chance(&limits) ? ": within chance" : "");
	return true;
}

static void heading_write(FILE *out, const struct diff *diff)
{
	double seconds = (double)(diff->after->snapshot->monotonic_ns -
				  diff->before->snapshot->monotonic_ns) /
			 1e9;
	int64_t bytes = (int64_t)(diff->stays_after.bytes - diff->stays_before.bytes);
	int64_t count = (int64_t)(diff->stays_after.count - diff->stays_before.count);
	const struct text_style *style = &text_styles[diff->form.colour];
	char change[TEXT_BYTES_SIZE], was[TEXT_BYTES_SIZE], is[TEXT_BYTES_SIZE];

	side_write(out, diff->before_name, diff->before_label, diff->before);
	fputs(" -> ", out);
	side_write(out, diff->after_name, diff->after_label, diff->after);
	fprintf(out, "\n%s%s, %+" PRId64 " blocks%s (%s -> %s, %" PRIu64 " -> %" PRIu64 " blocks)",
		style->bold, text_change(change, &diff->form, bytes), count, style->plain,
		text_bytes(was, &diff->form, diff->stays_before.bytes),
		text_bytes(is, &diff->form, diff->stays_after.bytes), diff->stays_before.count,
		diff->stays_after.count);
	if (diff->same_run && seconds > 0)
		fprintf(out, " in %.1f s, %s/s", seconds,
			text_change(change, &diff->form, llround((double)bytes / seconds)));
	fputc('\n', out);
	if (has_bursts(diff))
		fprintf(out,
			"that is what stays, by the snapshots around the two; at these very "
			"moments: %s, %+" PRId64 " blocks (%s -> %s)\n",
			text_change(change, &diff->form,
				    (int64_t)(diff->total_after.bytes - diff->total_before.bytes)),
			(int64_t)(diff->total_after.count - diff->total_before.count),
			text_bytes(was, &diff->form, diff->total_before.bytes),
			text_bytes(is, &diff->form, diff->total_after.bytes));
	if (diff->unrelated)
		fputs("they have no call stack in common: these look like two different "
		      "programs\n",
		      out);
	if (diff->by_name)
		fprintf(out,
			"the program was rebuilt: %zu rows are matched by the names of their "
			"functions\n",
			diff->by_name);
	if (!limits_write(out, "", diff, NULL) &&
	    (diff->before->snapshot->sampled || diff->after->snapshot->sampled))
		fputs("estimated from a sample\n", out);
	if (diff->before->snapshot->only_by_dead != diff->after->snapshot->only_by_dead)
		fputs("only one of them was taken with --by-dead-threads: they do not count the "
		      "same blocks\n",
		      out);
}

/* Writes blocks of dead threads after a row's own figures. */
static void by_dead_write(FILE *out, const struct diff *diff, const struct diff_row *row)
{
	const struct diff_amount *before = &row->by_dead_before, *after = &row->by_dead_after;
	char change[TEXT_BYTES_SIZE], was[TEXT_BYTES_SIZE], is[TEXT_BYTES_SIZE];

	if (!diff->has_owners || (!before->count && !after->count))
		return;
	fprintf(out,
		"\t\t%s, %+" PRId64 " blocks of it by threads that have ended (%s -> %s, %" PRIu64
		" -> %" PRIu64 " blocks)\n",
		text_change(change, &diff->form, (int64_t)(after->bytes - before->bytes)),
		(int64_t)(after->count - before->count),
		text_bytes(was, &diff->form, before->bytes),
		text_bytes(is, &diff->form, after->bytes), before->count, after->count);
}

static void row_write(FILE *out, const struct diff *diff, const struct diff_row *row)
{
	const struct text_style *style = &text_styles[diff->form.colour];
	bool more = row->state == DIFF_NEW || row->state == DIFF_GROWN;
	char change[TEXT_BYTES_SIZE], was[TEXT_BYTES_SIZE], is[TEXT_BYTES_SIZE];

	fprintf(out, "\t%s%s, %+" PRId64 " blocks%s  %s", more ? style->red : style->green,
		text_change(change, &diff->form, diff_bytes(row)), diff_count(row), style->plain,
		diff_state_name(row->state));
	if (row->stays_before.count && row->stays_after.count)
		fprintf(out, " (%s -> %s, %" PRIu64 " -> %" PRIu64 " blocks)",
			text_bytes(was, &diff->form, row->stays_before.bytes),
			text_bytes(is, &diff->form, row->stays_after.bytes),
			row->stays_before.count, row->stays_after.count);
	if (row->stays_before.bytes != row->before.bytes ||
	    row->stays_after.bytes != row->after.bytes)
		fprintf(out, ", at these moments %s -> %s",
			text_bytes(was, &diff->form, row->before.bytes),
			text_bytes(is, &diff->form, row->after.bytes));
	if (row->name) {
		fprintf(out, " %s ", diff_group_name(diff->by));
		text_print_inert(out, row->name);
		fputc('\n', out);
		limits_write(out, "\t\t", diff, row);
		by_dead_write(out, diff, row);
		return;
	}
	fputs(" in ", out);
	text_print_inert(out, row->comm);
	fputs(" from stack\n", out);
	limits_write(out, "\t\t", diff, row);
	by_dead_write(out, diff, row);
	text_stack_write(out, &diff->form, row->site);
}

/* Writes short-lived blocks of a snapshot, one line for each row. */
static void burst_write(FILE *out, const struct diff *diff, const struct diff_row *row)
{
	const char *function = row->site ? site_label_function(&row->site->frames) : NULL;
	char was[TEXT_BYTES_SIZE], is[TEXT_BYTES_SIZE];

	fprintf(out, "\t\t%s -> %s", text_bytes(was, &diff->form, row->before.bytes),
		text_bytes(is, &diff->form, row->after.bytes));
	if (row->name) {
		fprintf(out, " %s ", diff_group_name(diff->by));
		text_print_inert(out, row->name);
	} else {
		fputs(" in ", out);
		text_print_inert(out, row->comm);
		fputs(" by ", out);
		text_label_write(out, function ? function : "[not known]");
	}
	fputc('\n', out);
}

static void bursts_write(FILE *out, const struct diff *diff)
{
	size_t count = 0;

	for (size_t i = 0; i < diff->rows.count; i++)
		count += diff_is_burst(&diff->rows.items[i]);
	if (!count)
		return;
	fprintf(out, "\t%zu more only come and go; when the snapshots were taken they held\n",
		count);
	count = 0;
	for (size_t i = 0; i < diff->rows.count; i++) {
		if (diff_is_burst(&diff->rows.items[i]) && (!diff->top || count++ < diff->top))
			burst_write(out, diff, &diff->rows.items[i]);
	}
}

static void states_write(FILE *out, const struct diff *diff)
{
	size_t counts[DIFF_STATE_MAX_] = {0};

	for (size_t i = 0; i < diff->rows.count; i++)
		counts[diff->rows.items[i].state]++;
	for (enum diff_state state = 0; state < DIFF_STATE_MAX_; state++)
		fprintf(out, "%s%zu %s", state ? ", " : "", counts[state], diff_state_name(state));
	fprintf(out, " by %s\n", diff_group_name(diff->by));
}

/*
 * Returns whether to show a row: the greatest growth comes first, the greatest shrinking last,
 * unchanged rows in between.
 */
static bool is_shown(const struct diff *diff, size_t i, size_t changed)
{
	if (diff->rows.items[i].state == DIFF_SAME)
		return false;
	return !diff->top || changed < diff->top;
}

static void dead_row_write(FILE *out, const struct diff *diff, const struct diff_dead *row)
{
	const struct text_style *style = &text_styles[diff->form.colour];
	const struct frame *start =
		row->dead->start.list.count ? row->dead->start.list.items : NULL;
	bool more = row->state == DIFF_NEW || row->state == DIFF_GROWN;
	char change[TEXT_BYTES_SIZE];

	fprintf(out, "\t%s%+" PRId64 " dead threads%s  %s", more ? style->red : style->green,
		(int64_t)(row->after.count - row->before.count), style->plain,
		diff_state_name(row->state));
	if (row->before.count && row->after.count)
		fprintf(out, " (%" PRIu64 " -> %" PRIu64 ")", row->before.count, row->after.count);
	fprintf(out, ", %s of stacks, in ",
		text_change(change, &diff->form, (int64_t)(row->after.bytes - row->before.bytes)));
	text_print_inert(out, row->comm);
	fputs(", that ran ", out);
	text_label_write(out, start && start->function ? start->function : "[not known]");
	fputs(", created by\n", out);
	text_frames_write(out, &diff->form, &row->dead->stack);
}

static void dead_write(FILE *out, const struct diff *diff)
{
	size_t changed = 0;

	if (!diff->dead.count)
		return;
	fprintf(out,
		"%+" PRId64 " dead threads (%" PRIu64 " -> %" PRIu64 "): ended, never joined\n",
		(int64_t)(diff->dead_after.count - diff->dead_before.count),
		diff->dead_before.count, diff->dead_after.count);
	for (size_t i = 0; i < diff->dead.count; i++) {
		if (diff->dead.items[i].state == DIFF_SAME)
			continue;
		if (!diff->top || changed++ < diff->top)
			dead_row_write(out, diff, &diff->dead.items[i]);
	}
	if (diff->top && changed > diff->top)
		fprintf(out, "\t\xe2\x80\xa6 and %zu more that changed\n", changed - diff->top);
}

int text_diff_write(FILE *stream, const void *data)
{
	const struct diff *diff = data;
	struct text_page page;
	FILE *out = text_page_begin(&page, stream, &diff->form);
	size_t changed = 0, shown = 0;

	heading_write(out, diff);
	states_write(out, diff);
	for (size_t i = 0; i < diff->rows.count; i++) {
		if (is_shown(diff, i, changed)) {
			row_write(out, diff, &diff->rows.items[i]);
			shown++;
		}
		changed += diff->rows.items[i].state != DIFF_SAME;
	}
	if (shown < changed)
		fprintf(out, "\t\xe2\x80\xa6 and %zu more that changed\n", changed - shown);
	bursts_write(out, diff);
	dead_write(out, diff);
	text_split_changes_write(out, &diff->memory, diff->top);
	fputc('\n', out);
	return text_page_end(&page);
}
