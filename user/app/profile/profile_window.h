/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One window of one process: probes are set, births counted, outstanding blocks read, probes taken
 * out again by a thread of their own. What the target may be asked for, and what it costs, is for
 * profile_run.c to decide.
 */
#ifndef LEAKMON_PROFILE_PROFILE_WINDOW_H
#define LEAKMON_PROFILE_PROFILE_WINDOW_H

#include "app/monitor/session.h"
#include "base/urgency.h"
#include "trace/collect/window.h"
#include "trace/probe/async_detach.h"
#include "trace/probe/probe_cost.h"

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
	/* CLOCK_MONOTONIC */
	uint64_t open_ns, births_from_ns, births_to_ns, read_ns;
	uint64_t next_ns; /* when the stage ends */
	uint64_t grace_ns, length_ns;
	double allowance_s; /* what it may cost before births end */
	double bound_s;	    /* and before its probes go at once */
	const struct bpf_side *bpf;
	clockid_t clock; /* CPU time of the process */
	double trap_ns, cpu_s;
	double used_s;	 /* CPU time of the process until births ended */
	double attach_s; /* what setting the probes has */
	struct window_counts before, after;
	struct outstanding_list blocks;
	struct lm_hits hits_before;
	struct async_detach *detach;
	struct urgency urgency; /* of this thread before the window */
};

/* 0 or -ENOMEM. */
int profile_window_init(struct profile_window_run *window);
void profile_window_free(struct profile_window_run *window);

/* The cost limit of a window for the process, in CPU time, and how that is counted. */
struct window_bounds {
	double length_s, allowance_s, bound_s;
	double attach_share; /* of the CPU time of attach and detach, what it costs the process */
	double trap_ns;
	clockid_t clock; /* CPU time of the process */
};

/*
 * Looks again whether the process may be probed, and sets the probes. 0, or -errno: none is set
 * then, and what it cost stands in attach_s. Probes go by themselves at the bound, and late.
 */
int profile_window_open(struct profile_window_run *window, struct session *session, pid_t pid,
			const struct window_bounds *bounds);

/*
 * The parts of it: sets the probes, and notes where the costs of hits begin; then hands them to the
 * thread that closes them at the deadline (CLOCK_MONOTONIC; 0: now), or when the guard (NULL: none)
 * has nothing left. After an error of the first one, the second is to be called all the same.
 */
int profile_window_set_probes(struct profile_window_run *window, struct session *session, pid_t pid,
			      clockid_t clock, double trap_ns);
int profile_window_hand_over(struct profile_window_run *window, struct session *session, pid_t pid,
			     uint64_t deadline_ns, const struct detach_guard *guard);

/* From here on births count; and from there on no more. 0 or -errno. */
int profile_window_begin_births(struct profile_window_run *window, struct session *session);
int profile_window_end_births(struct profile_window_run *window, struct session *session);

/*
 * Reads which blocks are outstanding, and lets the probes go. 0; -ECANCELED: the window shows
 * nothing (the process was replaced, or was gone, or the probes went too soon); -errno.
 */
int profile_window_read(struct profile_window_run *window, struct session *session);

/* Lets the probes go as they are: the window does not count. */
void profile_window_give_up(struct profile_window_run *window);

/* Whether the last probe is out; then the stage is WINDOW_CLOSED. */
bool profile_window_is_detached(struct profile_window_run *window);

/* Time for which its probes were in, and for which births counted until they went. */
double profile_window_open_s(const struct profile_window_run *window);
double profile_window_births_s(const struct profile_window_run *window);

/* The cost of its hits to the process so far. No more than it has used: time in our programs is
 * counted by the clock, also while a thread waits for a CPU there. */
double profile_window_hits_s(const struct profile_window_run *window);

#endif
