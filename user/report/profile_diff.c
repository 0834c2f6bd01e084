// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/profile_diff.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const struct profile_report_site *profile_change_site(const struct profile_change *change)
{
	return change->after ? change->after : change->before;
}

const struct profile_report_process *profile_change_process(const struct profile_change *change)
{
	return change->after ? change->process_after : change->process_before;
}

static bool is_same_process(const struct profile_report_process *a,
			    const struct profile_report_process *b, bool by_pid)
{
	return !strcmp(a->comm, b->comm) && (!by_pid || a->pid == b->pid);
}

/* Returns the change that has such a call stack before, and none after yet. */
static struct profile_change *find(struct profile_diff *diff,
				   const struct profile_report_process *process,
				   const struct profile_report_site *site, bool by_pid)
{
	for (size_t i = 0; i < diff->changes.count; i++) {
		struct profile_change *change = &diff->changes.items[i];

		/* A nonempty vector has items, which the analyzer does not know. */
		/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference) */
		if (change->before && !change->after && change->before->id == site->id &&
		    is_same_process(change->process_before, process, by_pid))
			return change;
	}
	return NULL;
}

static int add_before(struct profile_diff *diff, const struct profile_report_process *process,
		      const struct profile_report_site *site)
{
	struct profile_change *change = vec_push(&diff->changes);

	if (!change)
		return -ENOMEM;
	change->process_before = process;
	change->before = site;
	return 0;
}

static int add_after(struct profile_diff *diff, const struct profile_report_process *process,
		     const struct profile_report_site *site)
{
	struct profile_change *change = find(diff, process, site, true);

	if (!change)
		change = find(diff, process, site, false);
	if (!change)
		change = vec_push(&diff->changes);
	if (!change)
		return -ENOMEM;
	change->process_after = process;
	change->after = site;
	return 0;
}

static int add_all(struct profile_diff *diff, const struct profile_report *report,
		   int (*add)(struct profile_diff *, const struct profile_report_process *,
			      const struct profile_report_site *))
{
	int error = 0;

	for (size_t i = 0; i < report->processes.count; i++) {
		const struct profile_report_process *process = &report->processes.items[i];

		for (size_t j = 0; j < process->sites.count && !error; j++)
			error = add(diff, process, &process->sites.items[j]);
	}
	return error;
}

static void judge(struct profile_change *change)
{
	static const struct interval none = {0};
	const struct interval *before =
		change->before ? &change->before->judgement.growth_bytes_per_s : &none;
	const struct interval *after =
		change->after ? &change->after->judgement.growth_bytes_per_s : &none;

	change->bytes_per_s = after->estimate - before->estimate;
	change->sure = after->low > before->high || before->low > after->high;
}

static int by_change(const void *left, const void *right)
{
	const struct profile_change *a = left, *b = right;

	if (a->sure != b->sure && (a->bytes_per_s > 0) == (b->bytes_per_s > 0))
		return (a->sure ? -1 : 1) * (a->bytes_per_s > 0 ? 1 : -1);
	return (a->bytes_per_s < b->bytes_per_s) - (a->bytes_per_s > b->bytes_per_s);
}

int profile_diff_build(struct profile_diff *diff, const struct profile_report *before,
		       const struct profile_report *after)
{
	int error = add_all(diff, before, add_before);

	diff->before = before;
	diff->after = after;
	if (!error)
		error = add_all(diff, after, add_after);
	for (size_t i = 0; i < diff->changes.count; i++)
		judge(&diff->changes.items[i]);
	if (diff->changes.count)
		qsort(diff->changes.items, diff->changes.count, sizeof(*diff->changes.items),
		      by_change);
	return error;
}

void profile_diff_free(struct profile_diff *diff)
{
	vec_free(&diff->changes);
}
