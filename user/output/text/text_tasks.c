// SPDX-License-Identifier: GPL-2.0-or-later
/* Goroutines and virtual threads in `leakmon threads`: by wait location and creator. */
#include <inttypes.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "base/units.h"
#include "output/text/text.h"

#define GROUPS 20 /* besides growing ones */
#define NS_PER_S 1e9

static void seconds_write(FILE *out, uint64_t ns)
{
	char text[16];

	fputs(units_time(text, (double)ns / NS_PER_S), out);
}

/* Writes "main.worker worker.go:31". */
static void place_write(FILE *out, const struct frame *frame)
{
	if (!frame || !frame->function) {
		fputs("an unknown place", out);
		return;
	}
	text_label_write(out, frame->function);
	if (!frame->file || !frame->line)
		return;
	fputc(' ', out);
	text_print_inert(out, text_path_base(frame->file));
	fprintf(out, ":%" PRIu32, frame->line);
}

static void waits_write(FILE *out, const struct task_group *group)
{
	if (!group->waits_known)
		return;
	fputs("\t\twaiting for at least ", out);
	seconds_write(out, group->shortest_ns);
	if (group->longest_ns - group->shortest_ns > 1000000000) {
		fputs(" to ", out);
		seconds_write(out, group->longest_ns);
	}
	if (group->waits_known < group->count)
		fprintf(out, "; %" PRIu64 " only since the last garbage collection",
			group->count - group->waits_known);
	fputc('\n', out);
}

static void growth_write(FILE *out, const struct text_form *form, const struct task_group *group)
{
	const struct task_growth *growth = &group->growth;
	const struct text_style *style = &text_styles[form->colour];
	bool leaks = growth->verdict == TREND_LEAKING;

	if (!growth->readings || (!growth->come && !growth->gone &&
				  (!growth->only_counts || growth->first_count == group->count)))
		return;
	fprintf(out, "\t\t%s%+" PRId64 " in ", leaks ? style->red : "",
		(int64_t)(group->count - growth->first_count));
	seconds_write(out, growth->span_ns);
	if (growth->only_counts) {
		fprintf(out, " (%" PRIu64 " -> %" PRIu64 ")%s\n", growth->first_count, group->count,
			leaks ? style->plain : "");
		return;
	}
	if (growth->gone)
		fprintf(out, ": %" PRIu64 " came, %" PRIu64 " left", growth->come, growth->gone);
	else
		fputs(": none has ended", out);
	fprintf(out, "; %s%s\n", trend_verdict_name(growth->verdict), leaks ? style->plain : "");
}

/* Writes a group; its stack begins at the program's own call. */
static void group_write(FILE *out, const struct text_form *form, const struct task_kind *kind,
			const struct task_group *group)
{
	const struct frame *place = kind->place(&group->stack);
	struct frames own;
	size_t skipped;

	fprintf(out, "\t%" PRIu64 " %s [", group->count,
		group->count == 1 ? kind->one : kind->many);
	text_print_inert(out, group->state);
	fputc(']', out);
	if (group->stack.list.count) {
		fputs(" at ", out);
		place_write(out, place);
	}
	if (group->creator.list.count) {
		fputs(", created by ", out);
		place_write(out, kind->place(&group->creator));
	}
	fputc('\n', out);
	waits_write(out, group);
	growth_write(out, form, group);
	own = group->stack;
	skipped = place ? (size_t)(place - own.list.items) : 0;
	own.list.items += skipped;
	own.list.count -= skipped;
	if (!form->verbose)
		return;
	if (kind->has_offsets)
		text_frames_write(out, form, &own);
	for (size_t i = 0; !kind->has_offsets && i < own.list.count; i++) {
		fputs("\t\t", out);
		place_write(out, &own.list.items[i]);
		fputc('\n', out);
	}
}

void text_goroutine_growth_write(FILE *out, const struct task_group *group)
{
	fprintf(out, "%" PRIu64 " goroutine%s (%+" PRId64 " in ", group->count,
		group->count == 1 ? "" : "s", (int64_t)(group->count - group->growth.first_count));
	seconds_write(out, group->growth.span_ns);
	fputs(") in ", out);
	text_print_inert(out, group->state);
	fputs(" at ", out);
	place_write(out, goroutine_place(&group->stack));
	if (group->creator.list.count) {
		fputs(", created by ", out);
		place_write(out, goroutine_place(&group->creator));
	}
	if (group->growth.gone)
		fprintf(out, ": %" PRIu64 " of them ended", group->growth.gone);
	else
		fputs(": none has ended", out);
}

/* Returns whether a group grows; between two processes, only the counts can be compared. */
static bool grows(const struct task_group *group)
{
	return trend_is_suspect(group->growth.verdict) ||
	       (group->growth.only_counts && group->count > group->growth.first_count);
}

/* Returns the number of present groups; a comparison also lists groups that are gone. */
static size_t present(const struct task_report *report)
{
	size_t count = report->left_groups;

	for (size_t i = 0; i < report->groups.count; i++)
		count += report->groups.items[i].count > 0;
	return count;
}

static void head_write(FILE *out, const struct task_kind *kind, const struct task_report *report)
{
	char bytes[16];

	fprintf(out, "\t%" PRIu64 " %s in %zu groups (%s ", report->count, kind->many,
		present(report), kind->runtime);
	text_print_inert(out, report->version);
	fputs("); ", out);
	if (report->system)
		fprintf(out, "%" PRIu64 " of the runtime's own; ", report->system);
	fprintf(out, "their stacks: %s\n", units_bytes(bytes, (double)report->stack_bytes, ""));
	if (report->ended && kind == &task_virtual_threads)
		fprintf(out, "\tbesides: %" PRIu64 " that have ended and are not freed yet\n",
			report->ended);
	if (report->moved)
		fprintf(out,
			"\tinexact: a garbage collection moved %s while they were read; some may "
			"be missing\n",
			kind->many);
	if (report->unread)
		fprintf(out, "\tinexact: %" PRIu64 " %s could not be read\n", report->unread,
			kind->many);
	if (report->left_groups)
		fprintf(out, "\tnot in the recording: %" PRIu64 " %s in %" PRIu64 " small groups\n",
			report->left_count, kind->many, report->left_groups);
}

void text_tasks_write(FILE *out, const struct text_form *form, const struct task_kind *kind,
		      const struct task_report *report)
{
	size_t left = 0;

	if (report->why) {
		fprintf(out, "\t%s: not known: %s", kind->many, report->why);
		if (report->version[0]) {
			fprintf(out, " (%s ", kind->runtime);
			text_print_inert(out, report->version);
			fputc(')', out);
		}
		fputc('\n', out);
		return;
	}
	head_write(out, kind, report);
	for (size_t i = 0; i < report->groups.count; i++) {
		if (grows(&report->groups.items[i]))
			group_write(out, form, kind, &report->groups.items[i]);
	}
	for (size_t i = 0; i < report->groups.count; i++) {
		if (grows(&report->groups.items[i]))
			continue;
		if (i < GROUPS)
			group_write(out, form, kind, &report->groups.items[i]);
		left += i >= GROUPS;
	}
	if (left)
		fprintf(out, "\tand %zu smaller groups: --format json has them\n", left);
}
