/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One window of one process: sets the probes, counts births, reads outstanding blocks, and has a
 * separate thread detach the probes. profile_run.c decides how much it may cost the target.
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
	/* discarded: the process runs slower than before, so early counts reflect its old
	 * position */
	WINDOW_SETTLING,
	WINDOW_BIRTHS, /* births count */
	WINDOW_GRACE,  /* new blocks are filled in, or freed at once */
	WINDOW_DETACHING,
};

struct profile_window_run {
	enum window_stage stage;
	pid_t pid;
	/* CLOCK_MONOTONIC */
	uint64_t open_ns, births_from_ns, births_to_ns, read_ns;
	uint64_t next_ns; /* end of the stage */
	uint64_t grace_ns, length_ns;
	double allowance_s; /* cost at which births end early */
	double bound_s;	    /* cost at which the probes are detached at once */
	const struct bpf_side *bpf;
	clockid_t clock; /* CPU time of the process */
	double trap_ns, cpu_s;
	double used_s;	 /* CPU time of the process until births ended */
	double attach_s; /* CPU time of setting and closing the probes */
	struct window_counts before, after;
	struct outstanding_list blocks;
	struct lm_hits hits_before;
	struct async_detach *detach;
	struct urgency urgency; /* of this thread before the window */
};

/* Zeroes the window and starts its thread. Returns 0 or -ENOMEM. */
int profile_window_init(struct profile_window_run *window);
void profile_window_free(struct profile_window_run *window);

/* The cost limits of a window, in CPU time of the process, and how to count the cost. */
struct window_bounds {
	double length_s, allowance_s, bound_s;
	double attach_share; /* the part of attach and detach time that the process loses */
	double trap_ns;
	clockid_t clock; /* CPU time of the process */
};

/*
 * Checks again whether the process may be probed, and sets the probes. Returns 0; or -errno: none
 * is set, and attach_s has the cost. The probes are detached automatically at the bound, and when
 * the window is late.
 */
int profile_window_open(struct profile_window_run *window, struct session *session, pid_t pid,
			const struct window_bounds *bounds);

/*
 * The two steps of profile_window_open(): the first sets the probes, and records the counters of
 * hits; the second hands them to the thread that closes them at the deadline (CLOCK_MONOTONIC; 0:
 * now), or when the guard (NULL: none) has nothing left. Call the second even after an error of the
 * first. Both return 0 or -errno.
 */
int profile_window_set_probes(struct profile_window_run *window, struct session *session, pid_t pid,
			      clockid_t clock, double trap_ns);
int profile_window_hand_over(struct profile_window_run *window, struct session *session, pid_t pid,
			     uint64_t deadline_ns, const struct detach_guard *guard);

/* Begin and end the time in which births count. Both return 0 or -errno. */
int profile_window_begin_births(struct profile_window_run *window, struct session *session);
int profile_window_end_births(struct profile_window_run *window, struct session *session);

/*
 * Reads the outstanding blocks, and detaches the probes. Returns 0; -ECANCELED: the window is
 * worthless (the process was replaced or gone, or the probes were detached too early); or -errno.
 */
int profile_window_read(struct profile_window_run *window, struct session *session);

/* Detaches the probes without a reading: the window does not count. */
void profile_window_give_up(struct profile_window_run *window);

/* Returns whether the last probe is detached; the stage is then WINDOW_CLOSED. */
bool profile_window_is_detached(struct profile_window_run *window);

/* Return the seconds for which the window's probes were attached, and in which births counted. */
double profile_window_open_s(const struct profile_window_run *window);
double profile_window_births_s(const struct profile_window_run *window);

/*
 * Returns the cost of its hits to the process so far, in seconds; at most the time that it has
 * used: the clock in our programs also runs while a thread waits for a CPU there.
 */
double profile_window_hits_s(const struct profile_window_run *window);

#endif
