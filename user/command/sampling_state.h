/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What sampling keeps, for its parts. Internal to sampling*.c. */
#ifndef LEAKMON_COMMAND_SAMPLING_STATE_H
#define LEAKMON_COMMAND_SAMPLING_STATE_H

#include "collect/events.h"
#include "command/sampling.h"
#include "probe/fault_events.h"
#include "probe/suspect_loader.h"
#include "proc/maps.h"
#include "symbol/symbolizer.h"
#include "triage/file_kinds.h"
#include "triage/samples.h"
#include "unwind/unwind_store.h"
#include "worker/worker.h"

/* Suspects that are sampled at once: the first ones of the ranking. */
#define SAMPLING_SUSPECTS 5

struct ring_buffer;

/* What is there of a suspect at one moment. */
struct sampled_count {
	double value;	/* of the quantity that it grows by; NAN: not to be had */
	double orphans; /* stacks of threads beyond those that live; NAN: nor of use for its kind */
};

struct sampled {
	pid_t pid;
	uint64_t start_ticks;
	enum quantity kind;
	double begin_s;
	struct sampled_count before; /* when it began */
	unsigned probes;	     /* LM_SAMPLE_*; 0: none, /proc tells */
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

/* The one that is sampled with this pid, or NULL. */
struct sampled *sampling_find(struct sampling *sampling, pid_t pid);

/*
 * The programs and their stages, unless they are loaded. 0 or -errno: then sampling->refusal says
 * why, and it is not tried again.
 */
int sampling_load(struct sampling *sampling);
void sampling_unload(struct sampling *sampling);

/* The mappings of `pid` have changed. Needs the programs. */
void sampling_refresh(struct sampling *sampling, pid_t pid);

/* Begins with what `member` grows by. What hinders it is in the result. NULL: out of memory. */
struct sampled *sampled_new(struct sampling *sampling, const struct member *member,
			    enum quantity kind);
void sampled_free(struct sampling *sampling, struct sampled *sampled);

/* One that waits for the budget begins anew when there is enough; one that used it up waits. */
void sampled_resume_or_pause(struct sampling *sampling, struct sampled *sampled,
			     const struct member *member);

/* Lets the kernel pass over more faults, or fewer, before a program runs. */
void sampled_adapt_period(struct sampling *sampling, struct sampled *sampled);

/*
 * Counts it. Where the kind is looked at by the mappings, they are read, once, and left in *maps,
 * for maps_free(): 0 or -errno, and nothing there. *count is filled in any case.
 */
int sampled_count(const struct sampled *sampled, const struct member *member,
		  struct sampled_count *count, struct maps *maps);

/* What the samples of one suspect say now, into its result. 0 or -errno. */
int sampled_examine(struct sampling *sampling, struct sampled *sampled,
		    const struct member *member);

#endif
