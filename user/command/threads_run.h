/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `leakmon threads`: from the probes to a named report. */
#ifndef LEAKMON_COMMAND_THREADS_RUN_H
#define LEAKMON_COMMAND_THREADS_RUN_H

#include "cli/options.h"
#include "collect/events.h"
#include "probe/target.h"
#include "symbol/symbolizer.h"
#include "threads/thread_report.h"
#include "threads/thread_target.h"
#include "unwind/unwind_store.h"
#include "worker/worker.h"

struct threads_run {
	const struct options *options;
	FILE *out;
	struct trial trial;
	struct bpf_side bpf;
	struct worker *worker;
	struct symbolizer *symbolizer;
	struct unwind_store *unwind;
	struct events *events;
	struct file_cache *libraries;
	VEC(struct thread_target) targets;
	uint64_t sequence;
};

/* Opens the output, loads, attaches. 0, or -errno after an error message. */
int threads_run_open(struct threads_run *run, const struct options *options);
void threads_run_close(struct threads_run *run);

/* Takes a census, names it and writes it. 0, or -errno after an error message. */
int threads_run_report(struct threads_run *run, bool last);

#endif
