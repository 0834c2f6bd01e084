// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/triage/goroutine_watch.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "heap/runtime/runtime.h"

#define PAUSE_S 10.0
/*
 * CPU seconds expected for a first look; later ones are expected to cost as much as the one before.
 */
#define FIRST_LOOK_S 0.03
/* Smaller growth is normal variation of load. */
#define GROWN_MIN 10

struct goroutine_watch {
	bool is_other; /* not a Go program */
	double looked_s, cost_s;
	struct task_history history;
	struct task_report report; /* the latest */
};

void goroutine_watch_free(struct goroutine_watch *watch)
{
	if (!watch)
		return;
	task_history_free(&watch->history);
	task_report_free(&watch->report);
	free(watch);
}

static void read_now(struct goroutine_watch *watch, pid_t pid)
{
	_cleanup_(maps_free) struct maps maps = {0};
	struct task_report report = {0};
	const struct program_reader *program;

	if (maps_read(pid, MAPS_ALL, &maps))
		return;
	program = runtime_program(&maps);
	watch->is_other = !program;
	if (!program)
		return;
	if (program->tasks(&maps, &report) || report.why ||
	    task_history_add(&watch->history, &report)) {
		task_report_free(&report);
		return;
	}
	task_report_free(&watch->report);
	watch->report = report;
}

static bool is_due(const struct triage *triage, const struct goroutine_watch *watch)
{
	double expected_s = watch->looked_s ? watch->cost_s : FIRST_LOOK_S;

	return !watch->is_other && triage_spare_s(triage) >= expected_s &&
	       (!watch->looked_s || triage_now(triage) - watch->looked_s >= PAUSE_S);
}

void goroutine_watch_look(struct triage *triage, struct member *member, struct triage_entry *entry)
{
	struct goroutine_watch *watch = member->goroutines;

	if (!watch)
		watch = member->goroutines = calloc(1, sizeof(*watch));
	if (watch && is_due(triage, watch)) {
		double before_s = triage_cpu_s();

		read_now(watch, member->reading.pid);
		watch->cost_s = triage_cpu_s() - before_s;
		watch->looked_s = triage_now(triage);
		triage->escalation_cpu_s += watch->cost_s;
	}
	if (watch)
		entry->goroutines = task_report_growing(&watch->report, GROWN_MIN);
}
