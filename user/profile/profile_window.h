/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One window of one process: probes are set, births counted, outstanding blocks read, probes taken
 * out again by a thread of their own. What the target may be asked for, and what it costs, is for
 * profile_run.c to decide.
 */
#ifndef LEAKMON_PROFILE_PROFILE_WINDOW_H
#define LEAKMON_PROFILE_PROFILE_WINDOW_H

#include "collect/window.h"
#include "monitor/session.h"
#include "probe/async_detach.h"
#include "probe/probe_cost.h"

enum window_stage {
	WINDOW_CLOSED,
	WINDOW_SETTLING, /* the process runs slower than before: at first, it shows where it was */
	WINDOW_BIRTHS,	 /* what is born counts */
	WINDOW_GRACE,	 /* what was born is filled in, or freed at once */
	WINDOW_DETACHING,
};

struct profile_window_run {
	enum window_stage stage;
	pid_t pid;
	uint64_t births_from_ns, births_to_ns, read_ns; /* CLOCK_MONOTONIC */
	uint64_t next_ns;				/* when the stage ends */
	uint64_t grace_ns, length_ns;
	double allowance_s; /* what it may cost */
	double attach_s;    /* what setting the probes has */
	struct window_counts before, after;
	struct outstanding_list blocks;
	struct lm_hits hits_before;
	struct async_detach *detach;
};

/* 0 or -ENOMEM. */
int profile_window_init(struct profile_window_run *window);
void profile_window_free(struct profile_window_run *window);

/*
 * Looks again whether the process may be probed, and sets the probes. 0, or -errno: none is set
 * then, and what it cost stands in attach_s.
 */
int profile_window_open(struct profile_window_run *window, struct session *session, pid_t pid,
			double length_s, double allowance_s);

/* From here on births count; and from there on no more. 0 or -errno. */
int profile_window_begin_births(struct profile_window_run *window, struct session *session);
int profile_window_end_births(struct profile_window_run *window, struct session *session);

/*
 * Reads which blocks are outstanding, and lets the probes go. 0; -ECANCELED: the window tells
 * nothing (the process was replaced, or was gone, or the probes went too soon); -errno.
 */
int profile_window_read(struct profile_window_run *window, struct session *session);

/* Lets the probes go as they are: the window tells nothing. */
void profile_window_give_up(struct profile_window_run *window);

/* Whether the last probe is out; then the stage is WINDOW_CLOSED. */
bool profile_window_is_detached(struct profile_window_run *window);

/* What its hits have cost the process so far. */
double profile_window_hits_s(const struct profile_window_run *window, const struct bpf_side *bpf,
			     double trap_ns);

#endif
