// SPDX-License-Identifier: GPL-2.0-or-later
/* `leakmon threads`: dead threads by who created them, as text and as JSON. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/text.h"
#include "output/formats.h"
#include "output/output.h"
#include "output/report_json.h"
#include "output/report_text.h"
#include "output/retain_format.h"
#include "threads/thread_census.h"

#define NS_PER_S UINT64_C(1000000000)
#define NS_PER_MS UINT64_C(1000000)

/* Who holds the pthread_t. */

static const char *why_not(int error)
{
	if (error == -ESRCH)
		return "the process has ended";
	if (error == -EPERM || error == -EACCES)
		return "its memory cannot be read without CAP_SYS_PTRACE";
	return strerror(-error);
}

/* Where in the root or block: offsets in a stack or a register say nothing. */
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

	retain_root_write(out, root);
	/* The last step leads to the thread itself. */
	for (size_t i = 0; i + 1 < path->steps.count; i++)
		retain_step_write(out, result, &path->steps.items[i]);
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
		fprintf(out, "\t\tcannot tell who holds the pthread_t: %s\n",
			why_not(census->holding->err));
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

/* As text. */

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
	output_text_place_write(out, &group->start, group->start_routine);
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
	holders_write(out, census, group);
	for (size_t i = 0; report->show_threads && i < group->count; i++)
		dead_write(out, report, &census->dead.items[group->first + i]);
}

static void losses_write(FILE *out, const struct lm_thread_ledger *ledger)
{
	if (ledger->reaped_unseen)
		fprintf(out, "\tinexact: %" PRIu64 " threads were reaped unseen\n",
			(uint64_t)ledger->reaped_unseen);
	if (ledger->dropped)
		fprintf(out, "\tinexact: %" PRIu64 " threads are not counted: no room\n",
			(uint64_t)ledger->dropped);
	if (ledger->untracked_ends)
		fprintf(out,
			"\tcannot tell: %" PRIu64 " threads whose creation was not seen have "
			"ended, joined or not\n",
			(uint64_t)ledger->untracked_ends);
}

static void process_write(FILE *out, const struct thread_report *report,
			  const struct thread_census *census)
{
	fprintf(out, "process %" PRIu32 " ", census->pid);
	text_print_inert(out, census->comm);
	fprintf(out,
		": %" PRIu64 " alive, %zu dead and not joined; since the attach %" PRIu64
		" created, %" PRIu64 " joined, %" PRIu64 " detached\n",
		census->alive, census->dead.count, (uint64_t)census->ledger.created,
		(uint64_t)census->ledger.joined, (uint64_t)census->ledger.detached);
	if (census->why)
		fprintf(out, "\tcannot tell: %s\n", census->why);
	if (census->why_before)
		fprintf(out, "\tcannot tell which threads there were before the attach: %s\n",
			census->why_before);
	for (size_t i = 0; i < census->groups.count; i++)
		group_write(out, report, census, &census->groups.items[i]);
	losses_write(out, &census->ledger);
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
		fprintf(out, "; cannot tell for %zu", untold);
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

/* As JSON. */

static void holder_json(struct json_writer *json, const struct retain_result *result,
			const struct thread_holder *holder)
{
	const struct retained_path *path =
		holder->path == RESULT_NONE ? NULL : &result->paths.items[holder->path];

	json_open(json, NULL, '{');
	json_put_number(json, "count", holder->count);
	json_put_string(json, "verdict", verdict_name(holder->verdict));
	if (path) {
		json_put_number(json, "first_offset", holder->first);
		json_put_number(json, "last_offset", holder->last);
		retain_json_way(json, result, path, path->steps.count - 1);
	}
	json_close(json, '}');
}

static void holders_json(struct json_writer *json, const struct thread_census *census,
			 const struct thread_group *group)
{
	if (!census->holding)
		return;
	json_put_string(json, "holders_unknown_why",
			census->holding->err ? why_not(census->holding->err) : NULL);
	json_put_number(json, "holders_unknown",
			census->holding->err ? group->count : group->holders.unknown);
	json_open(json, "holders", '[');
	for (size_t i = 0; !census->holding->err && i < group->holders.list.count; i++)
		holder_json(json, &census->holding->result, &group->holders.list.items[i]);
	json_close(json, ']');
}

static void age_json(struct json_writer *json, const char *key, uint64_t now_ns, uint64_t then_ns)
{
	if (then_ns)
		json_put_number(json, key,
				(now_ns - (then_ns < now_ns ? then_ns : now_ns)) / NS_PER_MS);
	else
		json_put_null(json, key);
}

static void dead_json(struct json_writer *json, const struct thread_report *report,
		      const struct dead_thread *dead)
{
	char name[sizeof(dead->thread.name) + 1] = "";

	memcpy(name, dead->thread.name, sizeof(dead->thread.name));
	json_open(json, NULL, '{');
	json_put_number(json, "tid", dead->thread.tid);
	json_put_number(json, "pthread_t", dead->thread.handle);
	json_put_string(json, "name", dead->thread.name[0] ? name : NULL);
	age_json(json, "born_ms", report->now_ns, dead->thread.born_ns);
	age_json(json, "ended_ms", report->now_ns, dead->thread.died_ns);
	json_put_bool(json, "before_attach", dead->thread.flags & LM_THREAD_BEFORE_ATTACH);
	json_put_number(json, "stack_bytes", dead->stack_end - dead->stack_start);
	json_put_number(json, "resident_bytes", dead->resident_bytes);
	json_put_known(json, "heap_bytes", report->heap, dead->heap_bytes);
	json_put_known(json, "heap_count", report->heap, dead->heap_count);
	json_close(json, '}');
}

static void group_json(struct json_writer *json, const struct thread_report *report,
		       const struct thread_census *census, const struct thread_group *group)
{
	json_open(json, NULL, '{');
	json_put_number(json, "count", group->count);
	json_put_bool(json, "before_attach", group->before_attach);
	age_json(json, "oldest_ms", report->now_ns, group->oldest_died_ns);
	age_json(json, "newest_ms", report->now_ns, group->newest_died_ns);
	json_put_number(json, "stack_bytes", group->stack_bytes);
	json_put_number(json, "resident_bytes", group->resident_bytes);
	json_put_known(json, "heap_bytes", report->heap, group->heap_bytes);
	json_put_known(json, "heap_count", report->heap, group->heap_count);
	json_open(json, "start_routine", '{');
	output_json_stack_write(json, &group->start_routine, 1, &group->start);
	json_close(json, '}');
	output_json_stack_write(json, group->addresses, group->depth, &group->stack);
	holders_json(json, census, group);
	if (report->show_threads) {
		json_open(json, "threads", '[');
		for (size_t i = 0; i < group->count; i++)
			dead_json(json, report, &census->dead.items[group->first + i]);
		json_close(json, ']');
	}
	json_close(json, '}');
}

static void census_json(struct json_writer *json, const struct thread_report *report,
			const struct thread_census *census)
{
	const struct lm_thread_ledger *ledger = &census->ledger;

	json_open(json, NULL, '{');
	json_put_number(json, "pid", census->pid);
	json_put_string(json, "comm", census->comm);
	json_open(json, "threads", '{');
	json_put_number(json, "alive", census->alive);
	json_put_number(json, "dead", census->dead.count);
	json_put_number(json, "dead_before_attach", census->dead_before);
	json_put_number(json, "dead_stack_bytes", census->stack_bytes);
	json_put_number(json, "dead_resident_bytes", census->resident_bytes);
	json_put_known(json, "dead_heap_bytes", report->heap, census->heap_bytes);
	json_put_known(json, "dead_heap_count", report->heap, census->heap_count);
	json_put_number(json, "created", ledger->created);
	json_put_number(json, "ended", ledger->ended);
	json_put_number(json, "joined", ledger->joined);
	json_put_number(json, "detached", ledger->detached);
	json_put_number(json, "failed", ledger->failed);
	json_put_number(json, "reaped_unseen", ledger->reaped_unseen);
	json_put_number(json, "dropped", ledger->dropped);
	json_put_number(json, "untracked_joins", ledger->untracked_joins);
	json_put_number(json, "untracked_ends", ledger->untracked_ends);
	json_put_string(json, "cannot_tell", census->why);
	json_put_string(json, "cannot_tell_before_attach", census->why_before);
	json_open(json, "groups", '[');
	for (size_t i = 0; i < census->groups.count; i++)
		group_json(json, report, census, &census->groups.items[i]);
	json_close(json, ']');
	json_close(json, '}');
	json_close(json, '}');
}

int output_json_census_write(FILE *out, const struct thread_report *report)
{
	struct json_writer json = {.out = out};

	json_open(&json, NULL, '{');
	json_put_number(&json, "schema", 1);
	output_json_time(&json, "time", &report->time);
	json_put_number(&json, "sequence", report->sequence);
	json_open(&json, "processes", '[');
	for (size_t i = 0; i < report->processes.count; i++)
		census_json(&json, report, &report->processes.items[i]);
	json_close(&json, ']');
	json_close(&json, '}');
	fputc('\n', out);
	return output_finish(out);
}
