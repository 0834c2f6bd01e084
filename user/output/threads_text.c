// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "output/finish.h"
#include "output/formats.h"
#include "output/text_parts.h"
#include "output/threads_holders.h"
#include "threads/thread_report.h"

#define NS_PER_S UINT64_C(1000000000)

static void bytes_write(FILE *out, uint64_t bytes)
{
	if (bytes >= 10ull << 20)
		fprintf(out, "%" PRIu64 " MiB", bytes >> 20);
	else
		fprintf(out, "%" PRIu64 " KiB", bytes >> 10);
}

static void when_write(FILE *out, const char *label, uint64_t now_ns, uint64_t then_ns)
{
	uint64_t ns;

	if (!then_ns) {
		fprintf(out, "%s before the attach", label);
		return;
	}
	ns = now_ns - (then_ns < now_ns ? then_ns : now_ns);
	fprintf(out, "%s %" PRIu64 ".%" PRIu64 " s ago", label, ns / NS_PER_S,
		ns / (NS_PER_S / 10) % 10);
}

static void start_write(FILE *out, const struct thread_group *group)
{
	const struct frame *frame = group->start.list.count ? &group->start.list.items[0] : NULL;

	if (!frame || !frame->function) {
		fprintf(out, "0x%" PRIx64, group->start_routine);
		return;
	}
	text_print_inert(out, frame->function);
	if (frame->file) {
		fputc(' ', out);
		text_print_inert(out, frame->file);
		if (frame->line)
			fprintf(out, ":%" PRIu32, frame->line);
	}
}

static void heap_write(FILE *out, const struct thread_report *report, uint64_t bytes,
		       uint64_t count)
{
	if (report->heap)
		fprintf(out, "; heap: %" PRIu64 " bytes in %" PRIu64 " blocks", bytes, count);
}

static void dead_write(FILE *out, const struct thread_report *report,
		       const struct dead_thread *dead)
{
	char name[sizeof(dead->thread.name) + 1] = "";

	memcpy(name, dead->thread.name, sizeof(dead->thread.name));
	fprintf(out, "\t\ttid %" PRIu32 " pthread_t 0x%" PRIx64 " ", dead->thread.tid,
		(uint64_t)dead->thread.handle);
	text_print_inert(out, name);
	when_write(out, " born", report->now_ns, dead->thread.born_ns);
	when_write(out, " ended", report->now_ns, dead->thread.died_ns);
	fputs(" resident ", out);
	bytes_write(out, dead->resident_bytes);
	heap_write(out, report, dead->heap_bytes, dead->heap_count);
	fputc('\n', out);
}

static void group_write(FILE *out, const struct thread_report *report,
			const struct thread_census *census, const struct thread_group *group)
{
	struct site site = {.addresses = (uint64_t *)group->addresses,
			    .depth = group->depth,
			    .end = group->end};
	struct report_site stack = {.site = &site};

	stack.frames = group->stack;
	fprintf(out, "\t%zu dead thread%s that ran ", group->count, group->count == 1 ? "" : "s");
	start_write(out, group);
	fputs("\n\t\t", out);
	if (group->newest_died_ns) {
		when_write(out, "oldest ended", report->now_ns, group->oldest_died_ns);
		when_write(out, ", newest", report->now_ns, group->newest_died_ns);
	} else {
		fputs("ended before the attach", out);
	}
	fputs("; stacks: ", out);
	bytes_write(out, group->stack_bytes);
	fputs(" mapped, ", out);
	bytes_write(out, group->resident_bytes);
	fputs(" resident", out);
	heap_write(out, report, group->heap_bytes, group->heap_count);
	fputs("; created by\n", out);
	if (group->before_attach)
		fputs("\t\t[not known: before the attach]\n", out);
	else if (group->depth)
		output_text_stack_write(out, report->colour, &stack);
	else
		fputs("\t\t[not known]\n", out);
	threads_holders_text(out, census, group);
	for (size_t i = 0; report->show_threads && i < group->count; i++)
		dead_write(out, report, &census->dead.items[group->first + i]);
}

static void losses_write(FILE *out, const struct lm_thread_books *books)
{
	if (books->reaped_unseen)
		fprintf(out, "\tinexact: %" PRIu64 " threads were reaped unseen\n",
			(uint64_t)books->reaped_unseen);
	if (books->dropped)
		fprintf(out, "\tinexact: %" PRIu64 " threads are not counted: no room\n",
			(uint64_t)books->dropped);
	if (books->untracked_ends)
		fprintf(out,
			"\tcannot tell: %" PRIu64 " threads whose creation was not seen have "
			"ended, joined or not\n",
			(uint64_t)books->untracked_ends);
}

static void process_write(FILE *out, const struct thread_report *report,
			  const struct thread_census *census)
{
	fprintf(out, "process %" PRIu32 " ", census->pid);
	text_print_inert(out, census->comm);
	fprintf(out,
		": %" PRIu64 " alive, %zu dead and not joined; since the attach %" PRIu64
		" created, %" PRIu64 " joined, %" PRIu64 " detached\n",
		census->alive, census->dead.count, (uint64_t)census->books.created,
		(uint64_t)census->books.joined, (uint64_t)census->books.detached);
	if (census->why)
		fprintf(out, "\tcannot tell: %s\n", census->why);
	if (census->why_before)
		fprintf(out, "\tcannot tell which threads there were before the attach: %s\n",
			census->why_before);
	for (size_t i = 0; i < census->groups.count; i++)
		group_write(out, report, census, &census->groups.items[i]);
	losses_write(out, &census->books);
}

static void everywhere_write(FILE *out, const struct thread_report *report)
{
	size_t dead = 0, untold = 0;

	for (size_t i = 0; i < report->processes.count; i++) {
		dead += report->processes.items[i].dead.count > 0;
		untold += report->processes.items[i].why != NULL;
	}
	fprintf(out, "%zu of %zu processes have dead threads", dead, report->processes.count);
	if (untold)
		fprintf(out, "; of %zu it cannot be told", untold);
	fputc('\n', out);
}

int output_text_census_write(FILE *out, const struct thread_report *report)
{
	struct tm local = {0};
	char clock[16];

	localtime_r(&report->time.tv_sec, &local);
	strftime(clock, sizeof(clock), "%H:%M:%S", &local);
	fprintf(out, "[%s] Dead threads: ended, never joined\n", clock);
	for (size_t i = 0; i < report->processes.count; i++) {
		const struct thread_census *census = &report->processes.items[i];

		if (!report->everywhere || census->dead.count)
			process_write(out, report, census);
	}
	if (report->everywhere)
		everywhere_write(out, report);
	fputc('\n', out);
	return output_finish(out);
}
