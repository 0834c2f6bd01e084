/* SPDX-License-Identifier: GPL-2.0-or-later */
/* leakmon as driven by the benchmark. LEAKMON_PROGRAM (build/leakmon) chooses the program. */
#ifndef LEAKMON_BENCH_MONITOR_H
#define LEAKMON_BENCH_MONITOR_H

#include <jansson.h>

#include "child.h"

#define MONITOR_OPTIONS 4

const char *monitor_program(void);

/* Starts leakmon on a process and waits until it is attached. It reports in JSON, at `interval`
 * seconds. `options` ends with NULL and may be NULL. */
int monitor_start(struct child **monitor, pid_t pid, const char *const *options,
		  const char *interval, struct why *why);
/* SIGTERM, and its end. Its last report stays in monitor->out. */
int monitor_stop(struct child *monitor);
/* Requests a report. `line` is valid until the next call; *ms is the time until the report. */
int monitor_snapshot(struct child *monitor, double *ms, char **line);

/* The peak of resident memory so far, in MB (10^6 bytes). */
int monitor_peak_rss(const struct child *monitor, double *mb);

/* A report may be 100 MB long: only its ledger is parsed. NULL: no ledger. The caller drops it. */
json_t *report_ledger(const char *line);
/* Call stacks in a report. */
size_t report_sites(const char *line);

#endif
