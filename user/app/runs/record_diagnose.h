/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * record --diagnose: when a process begins to leak, or its memory limit comes near, `leakmon
 * diagnose` of it runs beside the recording, which gets the answer.
 *
 * One at a time, and of a process at most once an hour for each of the two reasons. Leaks wait
 * until ten minutes after the last one; a limit does not wait.
 */
#ifndef LEAKMON_RUNS_RECORD_DIAGNOSE_H
#define LEAKMON_RUNS_RECORD_DIAGNOSE_H

#include "base/vec.h"
#include "report/profile_report.h"
#include "app/monitor/report_push.h"
#include "report/report.h"
#include "app/runs/diagnose_child.h"
#include "report/store/recorder.h"

#define RECORD_DIAGNOSE_AGAIN_S 3600
#define RECORD_DIAGNOSE_GAP_S 600

struct record_diagnose {
	const char *path; /* of the recording; NULL: nothing is diagnosed */
	struct recorder_options keep;
	const struct push_options
		*push_options;	  /* borrowed; --webhook and --otlp get answers, too */
	struct report_push *push; /* NULL: not yet, or nothing is sent */
	struct diagnose_child child;
	char comm[16]; /* of what it is about; untrusted */
	double last_s; /* the latest start; 0: none */
	/* What was asked for, and when. */
	VEC(struct diagnose_asked {
		uint64_t key;
		double at_s;
	})
	asked;
};

/* Takes an answer that has come, and starts what a report calls for. It never waits, and says what
 * fails. */
void record_diagnose_report(struct record_diagnose *diagnose, const struct report *report);
void record_diagnose_profile(struct record_diagnose *diagnose, const struct profile_report *report);

/* The answer of one that runs, as far as it is. Frees everything; returns how many documents did
 * not reach their server. */
uint64_t record_diagnose_finish(struct record_diagnose *diagnose);

/* Whether it is time for a process, which `key` stands for with the reason; then it is
 * remembered. Exposed for the tests. */
bool record_diagnose_is_due(struct record_diagnose *diagnose, uint64_t key, const char *reason,
			    double now_s);

#endif
