/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * record --diagnose: when a process begins to leak, or comes near its memory limit, runs `leakmon
 * diagnose` for it beside the recording, and records the answer.
 *
 * Runs one at a time, and for each process at most once an hour for each of the two reasons. A leak
 * waits until ten minutes after the latest run; a limit does not wait.
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
	const char *path; /* of the recording; NULL: diagnose nothing */
	struct recorder_options keep;
	const struct push_options
		*push_options;	  /* borrowed; --webhook and --otlp get answers, too */
	struct report_push *push; /* NULL: not yet opened, or nothing to push */
	struct diagnose_child child;
	char comm[16]; /* of the diagnosed process; untrusted */
	double last_s; /* time of the latest start; 0: none */
	/* Requests so far, with their times. */
	VEC(struct diagnose_asked {
		uint64_t key;
		double at_s;
	})
	asked;
};

/*
 * Take an available answer, and start a run if the report warrants one. They never wait, and log
 * failures.
 */
void record_diagnose_report(struct record_diagnose *diagnose, const struct report *report);
void record_diagnose_profile(struct record_diagnose *diagnose, const struct profile_report *report);

/*
 * Takes the answer of a running child so far, and frees everything. Returns the number of documents
 * that did not reach their server.
 */
uint64_t record_diagnose_finish(struct record_diagnose *diagnose);

/*
 * Returns whether a run is due for `key`, which identifies process and reason, and if so remembers
 * it. Exposed for the tests.
 */
bool record_diagnose_is_due(struct record_diagnose *diagnose, uint64_t key, const char *reason,
			    double now_s);

#endif
