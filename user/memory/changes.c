// SPDX-License-Identifier: GPL-2.0-or-later
#include "memory/changes.h"

#include "memory/conclusion.h"

static const struct memory_split *latest(const struct memory_series *series)
{
	return &series->splits.items[series->splits.count - 1];
}

void memory_history_conclude(struct memory_history *history)
{
	for (size_t i = 0; i < history->list.count; i++) {
		struct memory_series *series = &history->list.items[i];

		series->has_conclusion = series->splits.count > 1;
		if (series->has_conclusion)
			memory_conclude(&series->splits.items[0], latest(series),
					&series->conclusion);
	}
}

static int add_side(const struct report *report, bool same_run, bool later,
		    struct memory_changes *changes)
{
	int error = 0;

	for (size_t i = 0; i < report->processes.count && !error; i++) {
		const struct snapshot_process *process = report->processes.items[i].process;
		const struct memory_series *series = memory_series_of(report, process);

		if (series && !process->exited)
			error = memory_changes_add(changes, series->comm,
						   same_run ? series->pid : 0, latest(series),
						   later);
	}
	return error;
}

/* Of one that is on both sides. */
static void conclude_change(const struct diff *diff, const struct report_process *process,
			    struct memory_changes *changes)
{
	const struct memory_series *before = memory_series_of(diff->before, process->process);
	const struct memory_series *after = memory_series_of(diff->after, process->process);

	for (size_t i = 0; before && after && i < changes->list.count; i++) {
		struct memory_change *change = &changes->list.items[i];

		if (change->pid != after->pid || !change->processes_before || !change->processes)
			continue;
		change->has_conclusion = true;
		memory_conclude(latest(before), latest(after), &change->conclusion);
	}
}

int memory_changes_build(const struct diff *diff, struct memory_changes *changes)
{
	const struct report *after = diff->after;
	int error = add_side(diff->before, diff->same_run, false, changes);

	if (!error)
		error = add_side(after, diff->same_run, true, changes);
	for (size_t i = 0; !error && diff->same_run && i < after->processes.count; i++)
		conclude_change(diff, &after->processes.items[i], changes);
	memory_changes_sort(changes);
	return error;
}
