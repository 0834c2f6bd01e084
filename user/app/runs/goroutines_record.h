/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Goroutines in `leakmon record`: beside the snapshots of a Go program with malloc (cgo), or alone
 * for one without, which needs no probes.
 */
#ifndef LEAKMON_RUNS_GOROUTINES_RECORD_H
#define LEAKMON_RUNS_GOROUTINES_RECORD_H

#include "app/runs/goroutines_run.h"
#include "app/runs/record_run.h"
#include "report/report.h"
#include "report/store/goroutine_runs.h"

/* Zero-initialise all but the first two. */
struct goroutines_record {
	const char *path; /* of the recording */
	struct recorder_options keep;
	struct goroutine_recorder *recorder; /* NULL until there are some */
	struct task_histories histories;
	uint64_t due_ns; /* earliest time of the next reading, on the monotonic clock */
};

/*
 * Adds the goroutines of the Go programs in a report, if due or `always`. Write errors are logged.
 * Returns 0 or -ENOMEM.
 */
int goroutines_record_report(struct goroutines_record *record, const struct report *report,
			     bool always);
void goroutines_record_close(struct goroutines_record *record);

/* Runs `record` for such programs without probes: go_programs_only(). Returns the exit code. */
int goroutines_record_run(const struct record_options *options);

#endif
