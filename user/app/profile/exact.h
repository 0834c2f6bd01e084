/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Exact tracking of one process: its probes stay in for as long as all of its allocations and frees
 * together cost it less than its promise, a share of one core. The promise is a token bucket that
 * fills by the clock: a burst that empties it takes the probes out within milliseconds, and the
 * process is profiled in windows from then on, with later attempts, further and further apart.
 * Tracking is cut into windows that follow each other without a gap, so that all figures of a
 * profile are made of it as well.
 */
#ifndef LEAKMON_PROFILE_EXACT_H
#define LEAKMON_PROFILE_EXACT_H

#include "app/profile/profile_window.h"

enum exact_end {
	EXACT_NEVER,	/* not tried yet, or not ended */
	EXACT_TOO_DEAR, /* its events cost more than promised */
	EXACT_NO_ROOM,	/* the live set was full: allocations were dropped */
	EXACT_REPLACED, /* the process replaced itself by another program */
	EXACT_FAILED,	/* the probes could not be set, or the maps not be read */
	EXACT_END_MAX_
};

/* Zero-initialise, with `promised`: a share of one core, as others share it by now. */
struct exact_tracking {
	_Atomic double promised;
	struct profile_window_run window; /* the part since the last cut; its probes stay in */
	bool open;
	bool thinned;	    /* blocks that nobody follows have left the live set since */
	enum exact_end end; /* of the latest attempt */
	unsigned tries;
	double retry_s; /* not before this time of the run */
	/* The guard's: CPU time that the process may lose now, and what has been charged. */
	double credit_s, charged_s;
	uint64_t charged_ns;
	double accounted_s;    /* cost that the last cut has handed out */
	double spent_s;	       /* of all attempts, what the cuts and ends have handed out */
	uint64_t hits_begin;   /* before the attach */
	uint64_t events_begin; /* allocations and frees before the attach */
	double cut_s;	       /* CPU time of leakmon for the latest cut */
	double opened_s;       /* time of the run at which it began */
};

/* Takes the probes out, if any are in. */
void exact_free(struct exact_tracking *exact);

/* Whether to try (again) at `now_s`; nothing of the process is probed. */
bool exact_is_due(const struct exact_tracking *exact, double now_s);

/*
 * Whether a process that costs `hits_per_s` seconds of CPU time a second while it is tracked, as
 * windows have measured, may be tracked exactly: at half of the promise, for rates vary.
 */
bool exact_is_cheap(const struct exact_tracking *exact, double hits_per_s);

/* What the process may lose to exact tracking by now, if it has been followed for `watched_s`. */
double exact_saved_s(const struct exact_tracking *exact, double watched_s);

/* Sets the probes. 0, or -errno: none is set. `clock`: CPU time of the process. `saved_s`: the most
 * that a burst may cost it; what it earns while the probes are in comes on top. */
int exact_open(struct exact_tracking *exact, struct session *session, pid_t pid, clockid_t clock,
	       double trap_ns, double saved_s, double now_s);

/* Whether the guard has taken the probes out; exact_close() is to follow. */
bool exact_has_overrun(struct exact_tracking *exact);

/* Whether the next cut is worth its cost, of which leakmon may spend this share of a core. */
bool exact_cut_is_due(const struct exact_tracking *exact, double cpu_share);

/* A cut: counts now, outstanding blocks after the grace (exact->window.next_ns). What was born
 * between the last cut and this one stands in exact->window, as of a window. 0 or -errno: -ESRCH,
 * the process has ended; -ENOSPC, -ESTALE: see enum exact_end. */
int exact_cut_begin(struct exact_tracking *exact, struct session *session);
int exact_cut_read(struct exact_tracking *exact, struct session *session);
/* The window after that begins where this one ended. `cpu_s`: leakmon's CPU time for the cut. */
void exact_cut_finish(struct exact_tracking *exact, double cpu_s);

/* Lets the probes go. The next attempt comes after a pause that doubles each time. */
void exact_close(struct exact_tracking *exact, enum exact_end end, double now_s);

/* Whether the last probe is out. */
bool exact_is_detached(struct exact_tracking *exact);

/* CPU time that the process has lost since the last call. */
double exact_take_cost_s(struct exact_tracking *exact);

/* Allocator calls, and returns from them, per second since the attach. */
double exact_hits_per_s(const struct exact_tracking *exact);

/* Allocations and frees per second from the attach to the latest cut; 0: there was none yet. */
double exact_events_per_s(const struct exact_tracking *exact);

#endif
