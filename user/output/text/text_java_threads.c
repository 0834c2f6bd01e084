// SPDX-License-Identifier: GPL-2.0-or-later
/* Java threads in `leakmon threads`: by name, group, state and location. */
#include <inttypes.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "output/text/text.h"

#define GROUPS 20
#define FRAMES 8 /* of each; -v: all */
#define GONE_LOCALS 5

/* Writes "shop.Cart.add Cart.java:31". */
static void frame_write(FILE *out, const struct frame *frame)
{
	if (!frame->function) {
		fputs(frame->why ? frame->why : "a method that cannot be read", out);
		return;
	}
	text_function_write(out, frame);
}

static void group_write(FILE *out, const struct text_form *form,
			const struct java_thread_group *group)
{
	const struct frame *place = java_thread_place(&group->stack);
	size_t count = group->stack.list.count,
	       shown = form->verbose ? count : MIN(count, (size_t)FRAMES);

	fprintf(out, "\t%" PRIu64 " thread%s ", group->count, group->count == 1 ? "" : "s");
	text_label_write(out, group->name);
	fprintf(out, " [%s%s]", group->state, group->daemon ? ", daemon" : "");
	if (group->of[0]) {
		fputs(" of group ", out);
		text_label_write(out, group->of);
	}
	if (place) {
		fputs(", at ", out);
		frame_write(out, place);
	}
	fputc('\n', out);
	for (size_t i = 0; i < shown; i++) {
		fputs("\t\t", out);
		frame_write(out, &group->stack.list.items[i]);
		fputc('\n', out);
	}
	if (count > shown)
		fprintf(out, "\t\t… %zu more frames (-v)\n", count - shown);
}

static void gone_write(FILE *out, const struct java_gone_local *local)
{
	fprintf(out, "\t\t%" PRIu64 " of class ", local->count);
	text_label_write(out, local->class);
	if (local->is_virtual) {
		fputs(", of virtual threads\n", out);
		return;
	}
	fputs(", of thread ", out);
	text_label_write(out, local->thread);
	fputc('\n', out);
}

static void all_gone_write(FILE *out, const struct text_form *form,
			   const struct java_thread_report *report)
{
	size_t shown =
		form->verbose ? report->gone.count : MIN(report->gone.count, (size_t)GONE_LOCALS);
	uint64_t others = report->gone_count;

	if (!report->gone.count)
		return;
	for (size_t i = 0; i < report->gone.count; i++)
		others -= report->gone.items[i].count;
	fprintf(out,
		"\t%" PRIu64
		" values of ThreadLocals that are gone: without remove(), they live as "
		"long as their thread\n",
		report->gone_count);
	for (size_t i = 0; i < shown; i++)
		gone_write(out, &report->gone.items[i]);
	if (report->gone.count > shown)
		fprintf(out, "\t\tand %zu more classes and threads (-v)\n",
			report->gone.count - shown);
	if (others)
		fprintf(out,
			"\t\tand %" PRIu64 " more of classes and threads that are not listed\n",
			others);
}

void text_java_threads_write(FILE *out, const struct text_form *form,
			     const struct java_thread_report *report)
{
	if (report->why) {
		fprintf(out, "\tJava threads: not known: %s%s%s%s\n",
			report->version[0] ? "JVM " : "", report->version,
			report->version[0] ? ": " : "", report->why);
		return;
	}
	fprintf(out, "\t%" PRIu64 " Java threads in %zu groups (JVM ", report->count,
		report->groups.count);
	text_print_inert(out, report->version);
	fprintf(out, "), %" PRIu64 " of them daemons\n", report->daemons);
	for (size_t i = 0; i < report->groups.count && (i < GROUPS || form->verbose); i++)
		group_write(out, form, &report->groups.items[i]);
	if (report->groups.count > GROUPS && !form->verbose)
		fprintf(out, "\tand %zu smaller groups (-v)\n", report->groups.count - GROUPS);
	all_gone_write(out, form, report);
}
