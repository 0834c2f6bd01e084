/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A profile to write: two processes, one with a name that would harm a terminal. */
#ifndef LEAKMON_TESTS_PROFILE_REPORT_FIXTURE_H
#define LEAKMON_TESTS_PROFILE_REPORT_FIXTURE_H

#include <math.h>

#include "report/profile_report.h"

#define HOSTILE "e\033[31m\"\\\n;"

static inline void add_site(struct profile_report_process *process, const char *function,
			    double growth, double low, enum profile_verdict verdict)
{
	struct profile_report_site *site = vec_push(&process->sites);
	struct frame *frame;

	assert_non_null(site);
	site->id = (process->pid == 7 ? 0x1234 : 0x2234) + process->sites.count;
	site->judgement = (struct site_judgement){
		.verdict = verdict,
		.why = "its blocks stay",
		.births_per_s = {growth / 100, growth / 200, INFINITY},
		.birth_bytes_per_s = growth,
		.growth_blocks_per_s = {growth / 100, low / 100, growth / 50},
		.growth_bytes_per_s = {growth, low, growth * 2},
		.most_bytes_per_s = growth * 3,
		.ready_s = verdict == PROFILE_TOO_EARLY ? 90 : 0,
		.survival = {{1, {0.5, 0.25, 0.75}, {1, 0.5, 1}, 8}},
		.points = 1,
	};
	frame = vec_push(&site->frames.list);
	assert_non_null(frame);
	*frame = (struct frame){.address = 0x401000, .function = function, .module = "/bin/shop"};
}

static inline void profile_report_fill(struct profile_report *report)
{
	struct profile_report_process *process = vec_push(&report->processes);

	assert_non_null(process);
	*process = (struct profile_report_process){.pid = 7,
						   .comm = HOSTILE,
						   .memory_bytes = 1048576,
						   .memory_growth_per_s = 1000,
						   .has_memory_growth = true,
						   .explained = 0.5,
						   .spent = 0.008,
						   .samples = 3};
	process->judgement = (struct process_judgement){
		.windows = 4, .tracked_s = 0.2, .net_blocks_per_s = {5, -INFINITY, INFINITY}};
	add_site(process, "unsure", 900, 0, PROFILE_TOO_EARLY);
	add_site(process, "sure", 500, 300, PROFILE_LEAKING);
	add_site(process, "less", 400, 0, PROFILE_RETAINED);
	process = vec_push(&report->processes);
	assert_non_null(process);
	*process = (struct profile_report_process){.pid = 8,
						   .comm = "other",
						   .exited = true,
						   .oom_killed = true,
						   .memory_bytes = -1,
						   .explained = -1};
	add_site(process, "surest", 600, 500, PROFILE_LEAKING);
	report->limit = 0.01;
	report->spent = 0.008;
	report->sequence = 1;
}

#endif
