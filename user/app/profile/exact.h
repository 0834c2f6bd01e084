/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Exact tracking of one process: its probes stay attached as long as all of its allocations and
 * frees together cost less than its promise, a share of one core. The promise is a token bucket
 * that fills by the clock: a burst that empties it gets the probes removed within milliseconds. The
 * process is then profiled in windows, with later attempts at growing intervals. Tracking is cut
 * into consecutive windows without gaps, so that all figures of a profile also derive from it.
 */
#ifndef LEAKMON_PROFILE_EXACT_H
#define LEAKMON_PROFILE_EXACT_H

#include "app/profile/profile_window.h"

enum exact_end {
	EXACT_NEVER,	/* not tried yet, or not ended */
	EXACT_TOO_DEAR, /* its events cost more than promised */
	EXACT_NO_ROOM,	/* the map of live blocks was full: allocations were dropped */
	EXACT_REPLACED, /* the process executed another program */
	EXACT_FAILED,	/* the probes could not be set, or the maps could not be read */
	EXACT_END_MAX_
};

/*
 * Zero-initialise all but `promised`: a share of one core, as currently divided among the
 * processes.
 */
struct exact_tracking {
	_Atomic double promised;
	/* the part since the last cut; its probes stay attached */
	struct profile_window_run window;
	bool open;
	bool thinned;	    /* blocks that are not followed have left the live set since */
	enum exact_end end; /* of the latest attempt */
	unsigned tries;
	double retry_s; /* time of the run before which it is not retried */
	/* State of the guard: CPU time that the process may lose now, and the time charged so
	 * far. */
	double credit_s, charged_s;
	uint64_t charged_ns;
	double accounted_s;    /* cost reported by the latest cut */
	double spent_s;	       /* cost reported by the cuts and ends of all attempts */
	uint64_t hits_begin;   /* before the attach */
	uint64_t events_begin; /* allocations and frees before the attach */
	double cut_s;	       /* CPU time of leakmon for the latest cut */
	double opened_s;       /* time of the run when it was opened */
};

/* Removes the probes, if attached. */
void exact_free(struct exact_tracking *exact);

/* Returns whether to try (again) at `now_s`, with no probe of the process attached. */
bool exact_is_due(const struct exact_tracking *exact, double now_s);

/*
 * Returns whether a process may be tracked exactly that loses `hits_per_s` seconds of CPU time per
 * second when tracked, as measured in windows: at half of the promise, because rates vary.
 */
bool exact_is_cheap(const struct exact_tracking *exact, double hits_per_s);

/*
 * Returns how much the process may lose to exact tracking by now, in seconds of CPU time, having
 * been followed for `watched_s`.
 */
double exact_saved_s(const struct exact_tracking *exact, double watched_s);

/*
 * Sets the probes. Returns 0; or -errno: none is set. `clock`: CPU time of the process. `saved_s`:
 * the most that a burst may cost it; time earned while the probes are attached is added.
 */
int exact_open(struct exact_tracking *exact, struct session *session, pid_t pid, clockid_t clock,
	       double trap_ns, double saved_s, double now_s);

/* Returns whether the guard has removed the probes; call exact_close() then. */
bool exact_has_overrun(struct exact_tracking *exact);

/*
 * Returns whether the next cut is due, given its cost and the share of a core that leakmon may
 * spend on cuts.
 */
bool exact_cut_is_due(const struct exact_tracking *exact, double cpu_share);

/*
 * Make a cut: exact_cut_begin() reads the counts now, exact_cut_read() the outstanding blocks after
 * the grace (exact->window.next_ns). exact->window then holds the births since the last cut, like a
 * window. Both return 0 or -errno: -ESRCH, the process has ended; -ENOSPC, -ESTALE: see enum
 * exact_end.
 */
int exact_cut_begin(struct exact_tracking *exact, struct session *session);
int exact_cut_read(struct exact_tracking *exact, struct session *session);
/* Begins the next window where this one ended. `cpu_s`: leakmon's CPU time for the cut. */
void exact_cut_finish(struct exact_tracking *exact, double cpu_s);

/* Detaches the probes asynchronously. The pause before the next attempt doubles each time. */
void exact_close(struct exact_tracking *exact, enum exact_end end, double now_s);

/* Returns whether the last probe is detached. */
bool exact_is_detached(struct exact_tracking *exact);

/* Returns the CPU time that the process has lost since the last call. */
double exact_take_cost_s(struct exact_tracking *exact);

/* Returns allocator calls, and returns from them, per second since the attach. */
double exact_hits_per_s(const struct exact_tracking *exact);

/* Returns allocations and frees per second from the attach to the latest cut; 0: no cut yet. */
double exact_events_per_s(const struct exact_tracking *exact);

#endif
