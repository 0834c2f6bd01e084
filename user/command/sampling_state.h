/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What sampling keeps, for its parts. Internal to sampling*.c. */
#ifndef LEAKMON_COMMAND_SAMPLING_STATE_H
#define LEAKMON_COMMAND_SAMPLING_STATE_H

#include "collect/events.h"
#include "command/sampling.h"
#include "probe/fault_events.h"
#include "probe/suspect_loader.h"
#include "symbol/symbolizer.h"
#include "triage/file_kinds.h"
#include "triage/samples.h"
#include "unwind/unwind_store.h"
#include "worker/worker.h"

/* Suspects that are sampled at once: the first ones of the ranking. */
#define SAMPLING_SUSPECTS 5

struct ring_buffer;

struct sampled {
	pid_t pid;
	uint64_t start_ticks;
	enum quantity kind;
	double begin_s, value_begin;
	double orphans_begin; /* stacks of threads beyond those that live; NAN: not known */
	struct fault_events faults;
	bool followed; /* probes are in */
	struct samples samples;
	uint64_t lost_before; /* samples_lost when it began */
	struct file_kinds files_before;
	double files_read_s;
	unsigned unsuspected; /* reports in a row */
	struct triage_samples result;
};

struct sampling {
	const struct options *options;
	struct triage *triage;
	struct sampled *list[SAMPLING_SUSPECTS]; /* NULL: free */
	/* Loaded for as long as somebody is followed. */
	bool loaded;
	const char *refusal; /* why nobody can be, once it was tried */
	struct suspect_side side;
	struct ring_buffer *ring;
	struct events *events;
	struct worker *worker;
	struct symbolizer *symbolizer;
	struct unwind_store *unwind;
};

/* Stacks of threads of `member` beyond those that live; NAN: not to be had. */
double sampled_orphans(const struct member *member);

/* What the samples of one suspect say now, into its result. 0 or -errno. */
int sampled_examine(struct sampling *sampling, struct sampled *sampled,
		    const struct member *member);

#endif
