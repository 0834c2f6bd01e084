// SPDX-License-Identifier: GPL-2.0-or-later
/* The threads of one process, in a few lines: `leakmon threads` has the whole stacks. */
#include <inttypes.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "base/units.h"
#include "output/text_parts.h"

/* Of those that created dead threads. */
#define TOP_CREATORS 3

static void place_write(FILE *out, const struct frames *frames, uint64_t address)
{
	const struct frame *frame = frames->list.count ? &frames->list.items[0] : NULL;

	if (!frame || !frame->function) {
		fprintf(out, "0x%" PRIx64, address);
		return;
	}
	text_print_inert(out, frame->function);
	if (!frame->file)
		return;
	fputc(' ', out);
	text_print_inert(out, frame->file);
	if (frame->line)
		fprintf(out, ":%" PRIu32, frame->line);
}

static void creator_write(FILE *out, const struct report_dead *dead)
{
	const struct dead_group *group = dead->group;

	fprintf(out, "\t%" PRIu64 " dead: created by ", group->count);
	if (group->depth)
		place_write(out, &dead->stack, LM_FRAME_ADDRESS(group->addresses[0]));
	else
		fputs("an unknown stack", out);
	if (group->start_routine) {
		fputs(", ran ", out);
		place_write(out, &dead->start, group->start_routine);
	}
	if (group->heap_count)
		fprintf(out, "; %" PRIu64 " bytes in %" PRIu64 " blocks are theirs",
			group->heap_bytes, group->heap_count);
	fputc('\n', out);
}

void output_text_threads_write(FILE *out, const struct report_process *ranked)
{
	const struct thread_figures *threads = &ranked->process->threads;
	char mapped[16], resident[16];
	uint64_t shown = 0;

	if (threads->why[0]) {
		fprintf(out,
			"threads: %" PRIu64 " alive; cannot tell which are dead: ", threads->alive);
		text_print_inert(out, threads->why);
		fputc('\n', out);
	}
	if (!threads->followed)
		return;
	fprintf(out, "threads: %" PRIu64 " alive, %" PRIu64 " dead and not joined", threads->alive,
		threads->dead);
	if (threads->dead)
		fprintf(out, " (stacks: %s mapped, %s resident)",
			units_bytes(mapped, (double)threads->dead_stack_bytes, ""),
			units_bytes(resident, (double)threads->dead_resident_bytes, ""));
	if (!threads->exact)
		fputs(" (inexact)", out);
	if (threads->untold)
		fprintf(out, "; %" PRIu64 " from before the attach have ended, joined or not",
			threads->untold);
	fputc('\n', out);
	for (size_t i = 0; i < MIN(ranked->dead.count, TOP_CREATORS); i++) {
		creator_write(out, &ranked->dead.items[i]);
		shown += ranked->dead.items[i].group->count;
	}
	if (ranked->dead.count > TOP_CREATORS)
		fprintf(out, "\t… and %" PRIu64 " dead of %zu more creators\n",
			threads->dead - shown, ranked->dead.count - TOP_CREATORS);
}
