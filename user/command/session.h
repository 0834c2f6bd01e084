/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One run of the monitor: everything that is opened for it, and the making of a report. */
#ifndef LEAKMON_COMMAND_SESSION_H
#define LEAKMON_COMMAND_SESSION_H

#include <stdio.h>

#include "cli/options.h"
#include "collect/collect.h"
#include "output/output.h"
#include "probe/launch.h"
#include "probe/loader.h"
#include "probe/target.h"
#include "symbol/symbolizer.h"
#include "worker/worker.h"
#include "unwind/unwind_store.h"

struct session {
	const struct options *options;
	const struct output_format *format;
	FILE *out;
	struct target_config target_config;
	struct bpf_side bpf;
	VEC(struct target) targets;
	struct launch launch; /* pid -1: nothing was launched */
	struct collect_options collect_options;
	struct collector *collector;
	struct worker *worker;
	struct symbolizer *symbolizer;
	struct unwind_store *unwind;
	uint64_t outstanding_bytes; /* of the latest report, for --fail-over */
};

/* Opens the output, tries the kernel, loads, attaches. 0, or -errno after an error message. */
int session_open(struct session *session, const struct options *options);

/* Detaches, ends what was launched and never ran, and closes everything. */
void session_close(struct session *session);

/*
 * Takes a snapshot, names it and writes it; the last report of a run waits longer for line numbers.
 * 0, or -errno after an error message.
 */
int session_report(struct session *session, bool last);

/* Probes what a target has mapped meanwhile (after an exec). */
int session_attach_again(struct session *session, pid_t pid);

/* Reads a target's mappings again: for the stack walk, and for names. */
void session_refresh(struct session *session, pid_t pid);

/* Follows the loader of the launched program, which stands stopped after an exec. */
int session_follow(struct session *session);

#endif
