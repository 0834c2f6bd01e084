// SPDX-License-Identifier: GPL-2.0-or-later
/* `leakmon threads`: dead threads by creator. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "report/thread_report.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "output/text/text.h"
#include "output/output.h"
#include "process/symbol/site_label.h"

#define NS_PER_S UINT64_C(1000000000)
#define NS_PER_MS UINT64_C(1000000)

/* -------- holders of the pthread_t */

/* Writes the offset in the root or block; offsets in a stack or a register are not meaningful. */
static void offsets_write(FILE *out, const struct thread_holder *holder,
			  const struct retained_path *path, const struct retained_root *root)
{
	if (path->steps.count == 1 && root->kind != ROOT_GLOBAL)
		return;
	fprintf(out, "%s+0x%" PRIx64, path->steps.count == 1 ? " " : " → ", holder->first);
	if (holder->last != holder->first)
		fprintf(out, " to +0x%" PRIx64, holder->last);
}

static void path_write(FILE *out, const struct retain_result *result,
		       const struct thread_holder *holder)
{
	const struct retained_path *path = &result->paths.items[holder->path];
	const struct retained_root *root = &result->roots.items[path->root];

	text_retain_root_write(out, root);
	/* The last step leads to the thread itself. */
	for (size_t i = 0; i + 1 < path->steps.count; i++)
		text_retain_step_write(out, result, &path->steps.items[i]);
	offsets_write(out, holder, path, root);
}

static void holder_write(FILE *out, const struct retain_result *result,
			 const struct thread_group *group, const struct thread_holder *holder)
{
	fprintf(out, "\t\t%zu of %zu: ", holder->count, group->count);
	if (holder->verdict == VERDICT_LOST && result->settled)
		fputs("nobody has the pthread_t any more: they can never be joined", out);
	else if (holder->verdict == VERDICT_LOST || holder->path == RESULT_NONE)
		fputs("not found; two scans of the running process did not settle it", out);
	else if (holder->verdict == VERDICT_UNTRACKED)
		fputs("perhaps nobody: the pthread_t was found only in ", out);
	else
		fputs("the pthread_t is in ", out);
	if (holder->path != RESULT_NONE)
		path_write(out, result, holder);
	fputc('\n', out);
}

static void holders_write(FILE *out, const struct thread_census *census,
			  const struct thread_group *group)
{
	if (!census->holding)
		return;
	if (census->holding->err) {
		fprintf(out, "\t\tthe holders of the pthread_t are unknown: %s\n",
			thread_holding_why(census->holding));
		return;
	}
	for (size_t i = 0; i < group->holders.list.count; i++)
		holder_write(out, &census->holding->result, group, &group->holders.list.items[i]);
	if (group->holders.unknown)
		fprintf(out,
			"\t\t%zu of %zu: unknown: their stacks are in the heap, or they have "
			"just been joined\n",
			group->holders.unknown, group->count);
}

/* Writes ended threads of a managed language, with the holders of their objects. */

static void ended_write(FILE *out, const struct thread_report *report,
			const struct retain_result *result, const struct retained_path *path)
{
	const struct retained_class *class = &result->classes.items[path->class];
	uint64_t held = class->verdicts[VERDICT_HELD].blocks;

	fprintf(out, "\t%" PRIu64 " managed thread%s ended, with %s held:\n", held,
		held == 1 ? " has" : "s have", held == 1 ? "its object" : "their objects");
	text_retain_path_write(out, result, path);
	if (path->sharing < path->sampled)
		text_retain_referrers_write(out, &report->form, result, path);
}

static void all_ended_write(FILE *out, const struct thread_report *report,
			    const struct thread_census *census)
{
	const struct thread_holding *holding = census->holding;

	if (!holding)
		return;
	if (holding->err && !census->groups.count)
		fprintf(out, "\tended managed threads are unknown: %s\n",
			thread_holding_why(holding));
	for (size_t i = 0; i < holding->result.runtimes.count; i++) {
		const struct retained_runtime *runtime = &holding->result.runtimes.items[i];

		if (runtime->why)
			fprintf(out, "\tinexact: objects of the %s: %s\n", runtime->name,
				runtime->why);
	}
	for (size_t i = holding->ended; i < holding->result.paths.count; i++) {
		const struct retained_path *path = &holding->result.paths.items[i];

		if (path->also)
			text_retain_path_write(out, &holding->result, path);
		else
			ended_write(out, report, &holding->result, path);
	}
}

/* Returns the number of held objects; each class has one path without `also`. */
static uint64_t ended_count(const struct thread_holding *holding)
{
	uint64_t count = 0;

	for (size_t i = holding->ended; i < holding->result.paths.count; i++) {
		const struct retained_path *path = &holding->result.paths.items[i];
		const struct retained_class *class = &holding->result.classes.items[path->class];

		count += path->also ? 0 : class->verdicts[VERDICT_HELD].blocks;
	}
	return count;
}

/* Writes managed threads into the first line, where "0 dead" native ones would mislead. */
static void managed_write(FILE *out, const struct thread_census *census)
{
	if (census->holding && !census->holding->err && census->managed)
		fprintf(out, ", %" PRIu64 " ended managed threads held",
			ended_count(census->holding));
	else
		for (size_t i = 0; i < census->runtimes.count; i++)
			text_runtime_head_write(out, &census->runtimes.items[i]);
}

static void hint_write(FILE *out, const struct thread_census *census)
{
	if (census->managed && !census->holding)
		fprintf(out,
			"\tended threads of the %s whose objects are still held: --holders counts "
			"them and says by what\n",
			census->managed);
}

static void bytes_write(FILE *out, const struct thread_report *report, uint64_t bytes)
{
	char text[TEXT_BYTES_SIZE];

	fputs(text_bytes(text, &report->form, bytes), out);
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

static void heap_write(FILE *out, const struct thread_report *report, uint64_t bytes,
		       uint64_t count)
{
	char text[TEXT_BYTES_SIZE];

	if (report->heap)
		fprintf(out, "; heap: %s in %" PRIu64 " blocks",
			text_bytes(text, &report->form, bytes), count);
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
	bytes_write(out, report, dead->resident_bytes);
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
	text_place_write(out, &group->start, group->start_routine);
	fputs("\n\t\t", out);
	if (group->newest_died_ns) {
		when_write(out, "oldest ended", report->now_ns, group->oldest_died_ns);
		when_write(out, ", newest", report->now_ns, group->newest_died_ns);
	} else {
		fputs("ended before the attach", out);
	}
	fputs("; stacks: ", out);
	bytes_write(out, report, group->stack_bytes);
	fputs(" mapped, ", out);
	bytes_write(out, report, group->resident_bytes);
	fputs(" resident", out);
	heap_write(out, report, group->heap_bytes, group->heap_count);
	fputs("; created by\n", out);
	if (group->before_attach)
		fputs("\t\t[not known: before the attach]\n", out);
	else if (group->depth)
		text_stack_write(out, &report->form, &stack);
	else
		fputs("\t\t[not known]\n", out);
	holders_write(out, census, group);
	for (size_t i = 0; report->show_threads && i < group->count; i++)
		dead_write(out, report, &census->dead.items[group->first + i]);
}

/* Live threads: a line for each group, and one for each of its wait locations. */

#define LIVE_SHOWN 10
#define WAITS_SHOWN 2

/* Writes "pool_grow server.c:88 ← main": the program's first own frame, and its caller. */
static void label_write(FILE *out, const struct frames *frames)
{
	_cleanup_free_ char *text = NULL;
	size_t size;
	FILE *raw = open_memstream(&text, &size);

	if (!raw)
		return;
	text_code_print(raw, frames, LABEL_SHORT);
	if (!fclose(raw))
		text_print_inert(out, text);
}

static void wait_write(FILE *out, const struct live_wait *wait)
{
	const struct frame *first = wait->stack.list.count ? wait->stack.list.items : NULL;

	fprintf(out, "\t\t%zu ", wait->count);
	if (!wait->depth) {
		fputs("ran\n", out);
		return;
	}
	fputs("in ", out);
	text_print_inert(out, first && first->function ? first->function : "an unknown function");
	if (first && site_label_frame(&wait->stack) != first) {
		fputs(" ← ", out);
		label_write(out, &wait->stack);
	}
	fputc('\n', out);
}

static void live_group_write(FILE *out, const struct thread_report *report,
			     const struct live_group *group)
{
	size_t shown = report->form.verbose ? group->waits.count
					    : MIN(group->waits.count, (size_t)WAITS_SHOWN);

	fprintf(out, "\t%zu live", group->count);
	if (group->first_count >= 0 && (int64_t)group->count != group->first_count)
		fprintf(out, " (%+" PRId64 " in %" PRIu64 " s)",
			(int64_t)group->count - group->first_count, group->since_ns / NS_PER_S);
	if (group->main) {
		fputs(": the main thread\n", out);
	} else {
		fputs(": run ", out);
		if (group->start_routine)
			text_place_write(out, &group->start, group->start_routine);
		else
			fputs("[not known]", out);
		fputs(", created ", out);
		if (group->depth)
			fputs("by ", out), label_write(out, &group->stack);
		else
			fputs(group->before_attach ? "before the attach" : "by [not known]", out);
		fputc('\n', out);
	}
	for (size_t i = 0; i < shown; i++)
		wait_write(out, &group->waits.items[i]);
	if (shown < group->waits.count)
		fprintf(out, "\t\t… and in %zu more places\n", group->waits.count - shown);
}

static void live_write(FILE *out, const struct thread_report *report,
		       const struct thread_census *census)
{
	size_t count = census->live.count,
	       shown = report->form.verbose ? count : MIN(count, (size_t)LIVE_SHOWN);

	for (size_t i = 0; i < shown; i++)
		live_group_write(out, report, &census->live.items[i]);
	if (shown < count)
		fprintf(out, "\t… and %zu more groups of live threads\n", count - shown);
}

static void losses_write(FILE *out, const struct lm_thread_ledger *ledger)
{
	if (ledger->reaped_unseen)
		fprintf(out, "\tinexact: %" PRIu64 " threads were reaped unseen\n",
			(uint64_t)ledger->reaped_unseen);
	if (ledger->dropped)
		fprintf(out,
			"\tinexact: up to %" PRIu64 " threads are not counted: no room, or the "
			"kernel skipped leakmon's program\n",
			(uint64_t)ledger->dropped);
	if (ledger->untracked_ends)
		fprintf(out,
			"\tunknown: %" PRIu64 " threads with an unseen creation have "
			"ended, joined or not\n",
			(uint64_t)ledger->untracked_ends);
}

static void native_write(FILE *out, const struct thread_report *report,
			 const struct thread_census *census)
{
	fprintf(out, "process %" PRIu32 " ", census->pid);
	text_print_inert(out, census->comm);
	if (census->no_library) {
		fputc('\n', out);
		return;
	}
	fprintf(out, ": %" PRIu64 " alive, %zu dead and not joined", census->alive,
		census->dead.count);
	managed_write(out, census);
	fprintf(out,
		"; since the attach %" PRIu64 " created, %" PRIu64 " joined, %" PRIu64
		" detached\n",
		(uint64_t)census->ledger.created, (uint64_t)census->ledger.joined,
		(uint64_t)census->ledger.detached);
	hint_write(out, census);
	if (census->why)
		fprintf(out, "\tunknown: %s\n", census->why);
	if (census->why_before)
		fprintf(out, "\tthreads from before the attach are unknown: %s\n",
			census->why_before);
	for (size_t i = 0; i < census->groups.count; i++)
		group_write(out, report, census, &census->groups.items[i]);
	all_ended_write(out, report, census);
	live_write(out, report, census);
	losses_write(out, &census->ledger);
}

static void process_write(FILE *out, const struct thread_report *report,
			  const struct thread_census *census)
{
	native_write(out, report, census);
	if (census->goroutines)
		text_tasks_write(out, &report->form, &task_goroutines, census->goroutines);
	for (size_t i = 0; i < census->runtimes.count; i++)
		text_runtime_write(out, &report->form, &census->runtimes.items[i]);
	if (census->virtual_threads)
		text_tasks_write(out, &report->form, &task_virtual_threads,
				 census->virtual_threads);
}

static bool has_ended(const struct thread_census *census)
{
	return census->holding && census->holding->ended < census->holding->result.paths.count;
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
		fprintf(out, "; unknown for %zu", untold);
	fputc('\n', out);
}

/* Returns whether any process has native threads of its own. */
static bool is_native(const struct thread_report *report)
{
	for (size_t i = 0; i < report->processes.count; i++) {
		if (!report->processes.items[i].no_library)
			return true;
	}
	return !report->processes.count;
}

int text_threads_write(FILE *stream, const void *data)
{
	const struct thread_report *report = data;
	struct text_page page;
	FILE *out = text_page_begin(&page, stream, &report->form);
	char clock[TEXT_TIME_SIZE];

	text_clock(clock, report->time.tv_sec);
	fprintf(out, "[%s] %s\n", clock,
		is_native(report) ? "Threads: dead ones (ended, never joined) first"
				  : "Goroutines");
	if (report->since) {
		fputs("since ", out);
		text_print_inert(out, report->since);
		fputc('\n', out);
	}
	for (size_t i = 0; i < report->processes.count; i++) {
		const struct thread_census *census = &report->processes.items[i];

		if (!report->everywhere || census->dead.count || has_ended(census))
			process_write(out, report, census);
	}
	if (report->everywhere)
		everywhere_write(out, report);
	fputc('\n', out);
	return text_page_end(&page);
}
