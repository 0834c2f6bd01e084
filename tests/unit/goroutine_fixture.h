/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Goroutines and a heap profile of a Go program, to record. */
#ifndef LEAKMON_TESTS_GOROUTINE_FIXTURE_H
#define LEAKMON_TESTS_GOROUTINE_FIXTURE_H

#include "report/store/goroutine_runs.h"
#include "report/store/retain_runs.h"
#include "report/task_report.h"
#include "unit/store_fixture.h"

#define GOROUTINES_PID 71
#define GOROUTINES_START 4711

static inline void fixture_frames(struct frames *frames, uint32_t index)
{
	for (uint32_t depth = 1; depth < 4; depth++)
		*(struct frame *)vec_push(&frames->list) = run_frame(index, depth);
}

/* `workers` wait, of which none has ended since the first reading; `handlers` come and go; `small`
 * groups of one. */
static inline void goroutines_make(struct task_report *report, uint64_t workers, uint64_t handlers,
				   uint64_t small)
{
	*report = (struct task_report){.version = "1.24.4",
				       .count = workers + handlers + small,
				       .system = 5,
				       .ended = 2,
				       .unread = 1,
				       .time_ns = 99 * SECOND,
				       .stack_bytes = 1 << 20};
	for (uint64_t i = 0; i < 2 + small; i++) {
		struct task_group *group = vec_push(&report->groups);

		group->id = 100 + i;
		group->state = i ? "select" : "chan receive";
		group->count = i > 1 ? 1 : i ? handlers : workers;
		fixture_frames(&group->stack, (uint32_t)i);
		group->growth = (struct task_growth){.readings = 4,
						     .span_ns = 20 * SECOND,
						     .first_count = 1,
						     .come = group->count - 1,
						     .verdict = TREND_STEADY};
	}
	fixture_frames(&report->groups.items[0].creator, 9);
	report->groups.items[0].waits_known = workers;
	report->groups.items[0].longest_ns = 70 * SECOND;
	report->groups.items[0].shortest_ns = 3 * SECOND;
	report->groups.items[0].growth.verdict = TREND_LEAKING;
	report->groups.items[1].growth.come += 10;
	report->groups.items[1].growth.gone = 10;
}

static inline void goroutines_append(struct goroutine_recorder *recorder,
				     struct task_report *report, time_t after_s)
{
	struct task_reading reading = {.time = {.tv_sec = 1795179600 + after_s},
				       .pid = GOROUTINES_PID,
				       .start_ticks = GOROUTINES_START,
				       .comm = "server",
				       .report = *report};

	assert_int_equal(goroutine_recorder_append(recorder, &reading), 0);
	task_report_free(report);
}

static inline void heap_profile_make(struct retain_result *result, uint64_t objects)
{
	struct heap_profile *profile = calloc(1, sizeof(*profile));
	struct heap_profile_site *site;

	*result = (struct retain_result){.pid = GOROUTINES_PID,
					 .comm = "server",
					 .profile_only = true,
					 .settled = true,
					 .time = {.tv_sec = 1795179600},
					 .heap_profile = profile};
	*profile = (struct heap_profile){.source = "Go",
					 .version = "1.24.4",
					 .rate = 512 << 10,
					 .collected = true,
					 .collections = 12,
					 .collected_ns = SECOND,
					 .time_ns = objects * SECOND};
	site = vec_push(&profile->sites);
	*site = (struct heap_profile_site){.id = 77,
					   .size = 64 << 10,
					   .allocated = {objects + 3, (objects + 3) << 16},
					   .freed = {3, 3 << 16}};
	fixture_frames(&site->frames, 2);
	heap_profile_estimate(profile);
}

#endif
