// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/threads_holders.h"

#include <errno.h>
#include <inttypes.h>

#include "output/retain.h"

static const char *why_not(int err)
{
	if (err == -ESRCH)
		return "the process has ended";
	if (err == -EPERM || err == -EACCES)
		return "its memory must not be read (CAP_SYS_PTRACE)";
	return strerror(-err);
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
		fputs("perhaps nobody, for only this has the pthread_t: ", out);
	else
		fputs("the pthread_t is in ", out);
	if (holder->path != RESULT_NONE)
		path_write(out, result, holder);
	fputc('\n', out);
}

void threads_holders_text(FILE *out, const struct thread_census *census,
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
			"\t\t%zu of %zu: not known, for their stacks are in the heap, or they "
			"were joined just now\n",
			group->holders.unknown, group->count);
}

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

void threads_holders_json(struct json_writer *json, const struct thread_census *census,
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
